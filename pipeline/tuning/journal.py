"""The file of a study: Optuna's journal, of one writer, whole after a kill at any moment."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pipeline.errors import DataError, OutputError

_BEGINS = b'{"op_code":0,'
"""The first line creates the study."""
_MORE = "more"
"""What a line says that is written together with the next one; Optuna passes over it."""


class Journal:
    """What `JournalStorage` of Optuna reads and writes, in the place of `JournalFileBackend`.

    The lines are those of Optuna, which reads the file as its own. Lines that are written together
    are kept together: a file that ends within them, or within a line, counts up to where they
    begin, and goes on from there.

    Parameters
    ----------
    path : Path
        Only one process may have it open; `pipeline.system.atomic.locked` sees to that.

    Raises
    ------
    DataError
        The file is no journal of Optuna; it is left as it is.
    OSError
        It cannot be read or written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.logs, self._size = _parse(path)
        self._pending: list[dict[str, Any]] = []
        self._together = False
        self._file: int | None = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy holds, which can be read but writes no file."""
        return {**vars(self), "_file": None, "_pending": [], "_together": False}

    def read_logs(self, log_number_from: int) -> Iterator[dict[str, Any]]:
        """Yield the lines from a number on."""
        return iter(self.logs[log_number_from:])

    def append_logs(self, logs: Sequence[dict[str, Any]]) -> None:
        """Write lines, now or at the end of `together`.

        Raises
        ------
        OutputError
            The disk is full, or the search has ended.
        """
        if self._file is None:
            raise OutputError(f"{self.path}: the search has ended; fit again to go on with it")
        self.logs.extend(logs)
        self._pending.extend(logs)
        if not self._together:
            self._write(self._file)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Write all lines of the block at its end, so that a kill leaves all of them or none."""
        if self._together or self._file is None:
            yield
            return
        self._together = True
        try:
            yield
        except BaseException:
            self._pending.clear()
            raise
        finally:
            self._together = False
        self._write(self._file)

    def _write(self, file: int) -> None:
        if not self._pending:
            return
        said = [{**log, _MORE: True} for log in self._pending[:-1]] + self._pending[-1:]
        content = b"".join(json.dumps(log, separators=(",", ":")).encode() + b"\n" for log in said)
        try:
            if os.fstat(file).st_size != self._size:  # half of what another process wrote
                os.ftruncate(file, self._size)
            left = content
            while left:
                left = left[os.write(file, left) :]
            os.fsync(file)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(file, self._size)
            raise OutputError(
                f"{self.path}: {error.strerror}; trials that have ended are kept: make room, "
                "then fit again"
            ) from error
        self._size += len(content)
        self._pending.clear()

    def close(self) -> None:
        """Write what was left when the search was interrupted, and then no more."""
        if self._file is not None:
            with suppress(OutputError):
                self._write(self._file)
            os.close(self._file)
            self._file = None

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _parse(path: Path) -> tuple[list[dict[str, Any]], int]:
    """Return the lines of a file that count, and how many bytes they are."""
    content = path.read_bytes() if path.exists() else b""
    if not (content.startswith(_BEGINS) or _BEGINS.startswith(content)):
        raise _no_journal(path, 1)
    logs: list[dict[str, Any]] = []
    whole, size, end = 0, 0, 0
    lines = list(io.BytesIO(content))
    for number, line in enumerate(lines, 1):
        end += len(line)
        if not line.endswith(b"\n"):
            break
        try:
            log = json.loads(line)
            more = log.pop(_MORE, False)
        except (AttributeError, TypeError, ValueError) as error:
            if number == len(lines):  # written as the power failed
                break
            raise _no_journal(path, number) from error
        logs.append(log)
        if not more:
            whole, size = len(logs), end
    return logs[:whole], size


def _no_journal(path: Path, line: int) -> DataError:
    return DataError(f"{path}, line {line}: no journal of Optuna; name another file as storage")
