"""Publishing a folder of results: all of it, or nothing.

Results are written into a hidden folder beside the final one, flushed to disk, and exchanged
with it in one step. A killed run leaves the old results or the new ones; the next run removes
what it left behind.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from glob import escape
from pathlib import Path
from typing import IO

from pipeline.errors import OutputError, OutputLocked, PipelineError
from pipeline.system.libc import c_function

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

RECORDS = ("model.manifest.json", "record.json", "results.json", "tuning.json")
"""Files that make a folder known as results, which the next ones may replace."""
_AT_FDCWD = -100
_EXCHANGE = 2


@contextmanager
def publishing(folder: Path) -> Iterator[Path]:
    """Yield an empty folder that takes the place of `folder` when the block succeeds.

    A symbolic link stays, and what it points to is replaced. `OutputLocked` says that another
    process is publishing to the same name, `OutputError` that the folder cannot be written or holds
    something else than results.
    """
    with writing(folder):
        folder = folder.resolve()
        _check(folder)
        with locked(folder):
            prefix = f".{folder.name}.draft-"
            for left in folder.parent.glob(f"{escape(prefix)}*"):
                shutil.rmtree(left, ignore_errors=True)
            _recover(folder)
            draft = folder.parent / f"{prefix}{os.getpid()}"
            draft.mkdir()
            try:
                yield draft
                flush(*sorted(draft.rglob("*")), draft)
                _exchange(draft, folder)
                flush(folder.parent)
            finally:
                shutil.rmtree(draft, ignore_errors=True)
                _recover(folder)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Raise `OutputError`, with the name of the file, where the system does not let it be written.

    A pipe whose reader is gone is no fault of the output.
    """
    try:
        yield
    except (PipelineError, BrokenPipeError):
        raise
    except OSError as error:
        raise OutputError(f"{error.filename or path}: {error.strerror or error}") from error


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Be the only process that writes a file or into a folder, or raise `OutputLocked`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    name = path.parent / f".{path.name}.lock"
    with ExitStack() as stack:
        while True:
            lock = stack.enter_context(name.open("w"))
            try:
                _lock(lock)
            except (BlockingIOError, PermissionError) as error:
                raise OutputLocked(
                    f"{path}: another process is writing here; wait for it, or choose another path"
                ) from error
            if sys.platform == "win32":  # removes no open file: an empty one stays
                break
            # Whoever held the lock before may have removed the file since it was opened here.
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(lock.fileno()), name.stat()):
                    stack.callback(name.unlink, missing_ok=True)  # while the lock is still held
                    break
        yield


def _lock(file: IO[str]) -> None:
    """Lock a file until it is closed, however this process ends."""
    if sys.platform == "win32":
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
    else:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _check(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder}: is a file; remove it, or choose another folder")
    known = any((folder / name).is_file() for name in RECORDS)
    if folder.exists() and any(folder.iterdir()) and not known:
        raise OutputError(
            f"{folder}: contains files other than results, which would be lost; "
            "empty it, or choose another folder"
        )


def flush(*paths: Path) -> None:
    """Make sure that files and folders are on the disk."""
    for path in paths:
        if sys.platform == "win32" and path.is_dir():  # which opens no folder
            continue
        handle = os.open(path, os.O_RDWR if sys.platform == "win32" else os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _exchange(draft: Path, folder: Path) -> None:
    """Swap the two names; the old results go away with the draft."""
    if not folder.exists():
        draft.rename(folder)
        return
    renameat2 = c_function("renameat2")
    names = (os.fsencode(draft), os.fsencode(folder))
    if renameat2 and renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _EXCHANGE) == 0:
        return
    code = ctypes.get_errno() if renameat2 else errno.ENOSYS
    if code not in (errno.ENOSYS, errno.EINVAL):
        raise OSError(code, os.strerror(code), str(folder))
    # A file system without exchange: after a kill between the two renames, `_recover`
    # of the next run puts the old results back.
    folder.rename(folder.with_name(f".{folder.name}.old"))
    draft.rename(folder)


def _recover(folder: Path) -> None:
    """Give old results their name again, or remove them once the new ones have it."""
    old = folder.with_name(f".{folder.name}.old")
    if old.is_dir() and not folder.exists():
        old.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def write_text(path: Path, text: str) -> None:
    """Write a file as a whole, in UTF-8; `write_bytes` says how and what is raised."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file as a whole: it is written aside, made sure of, and then renamed.

    `OutputError` says that the folder is not writable, the disk full, or a file in the way.
    """
    aside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        aside.write_bytes(content)
        flush(aside)
        aside.replace(path)
    except OSError as error:
        with suppress(OSError):
            aside.unlink(missing_ok=True)
        reason = error.strerror or error
        raise OutputError(f"{path}: {reason}; choose another folder, or fix this one") from error


def sha256(data: bytes) -> str:
    """Return the SHA-256 of some bytes, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()
