"""Trees that a training has grown so far, kept so that another attempt goes on from them."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import msgspec

from pipeline import records
from pipeline.errors import CheckpointDiffers, DataError
from pipeline.publish import locked, write_bytes

SCHEMA: Final = "pipeline.checkpoint/1"
EVERY = 10.0
"""Seconds of training between two checkpoints."""

RECORD = "checkpoint.json"


class Origin(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a training depends on."""

    seed: str
    spec: str
    data: str
    versions: str


class Kept(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``checkpoint.json``."""

    schema: Literal["pipeline.checkpoint/1"]
    origin: Origin
    rounds: int
    file: str
    sha256: str


@dataclass
class Checkpoints:
    """The latest trees of one training, in memory and, where there is a folder, on the disk.

    Parameters
    ----------
    folder : Path or None
    seed, spec, versions : str
        What a training must have in common with the one that goes on from it.

    Attributes
    ----------
    trees : bytes
        A booster as UBJSON; empty before the first checkpoint.
    rounds : int
        That it was boosted.
    remark : str
        What became of the training, where there is something to say.
    """

    folder: Path | None
    seed: str = ""
    spec: str = ""
    versions: str = ""
    trees: bytes = b""
    rounds: int = 0
    remark: str = ""
    _origin: Origin | None = None

    def begin(self, data: Callable[[], str]) -> None:
        """Take up what the folder holds; an attempt after the first has it in memory.

        Parameters
        ----------
        data : callable
            Returns what identifies the rows. It is called where there is a folder.

        Raises
        ------
        CheckpointDiffers
            The folder holds the trees of another training.
        DataError
            A file of the folder is damaged.
        """
        if self.folder is None or self._origin is not None:
            return
        self._origin = Origin(seed=self.seed, spec=self.spec, data=data(), versions=self.versions)
        path = self.folder / RECORD
        if not path.exists():
            return
        kept = records.load(path, Kept, schema=SCHEMA, command="fit")
        _check(self._origin, kept.origin, self.folder)
        self.trees, self.rounds = _verified(self.folder / kept.file, kept.sha256), kept.rounds

    def keep(self, trees: bytes, rounds: int) -> None:
        """Keep a booster in the place of the one before; the files are replaced one by one."""
        if rounds <= self.rounds:
            return
        self.trees, self.rounds = trees, rounds
        if self.folder is None or self._origin is None:
            return
        name, sha256 = f"trees-{rounds}.ubj", hashlib.sha256(trees).hexdigest()
        kept = Kept(
            schema=SCHEMA, origin=self._origin, rounds=rounds, file=name, sha256=sha256
        )  # fmt: skip
        write_bytes(self.folder / name, trees)
        write_bytes(self.folder / RECORD, msgspec.json.encode(kept))
        self._remove(but=name)

    def end(self) -> None:
        """Remove the files: there is nothing left to go on with."""
        if self.folder is not None:
            (self.folder / RECORD).unlink(missing_ok=True)
            self._remove(but="")

    def _remove(self, but: str) -> None:
        assert self.folder is not None
        for path in self.folder.glob("trees-*.ubj"):
            if path.name != but:
                path.unlink()


_active: ContextVar[Checkpoints | None] = ContextVar("checkpoints", default=None)


def active() -> Checkpoints | None:
    """Return those of the training that this code belongs to."""
    return _active.get()


@contextmanager
def keeping(kept: Checkpoints) -> Iterator[Checkpoints]:
    """Keep the trees that are trained inside; once all are there, the files are removed.

    Raises
    ------
    Busy
        Another training keeps its own in the same folder.
    """
    if kept.folder is not None:
        kept.folder.mkdir(parents=True, exist_ok=True)
    with locked(kept.folder) if kept.folder else nullcontext():
        token = _active.set(kept)
        try:
            yield kept
        finally:
            _active.reset(token)
        kept.end()


class Pace:
    """Tells when the next checkpoint is due.

    >>> Pace(0.0).due()
    True
    """

    def __init__(self, every: float) -> None:
        self.every, self.last = every, time.monotonic()

    def due(self) -> bool:
        """Return whether it is, and count the time anew if so."""
        now = time.monotonic()
        if now - self.last < self.every:
            return False
        self.last = now
        return True


def _check(now: Origin, then: Origin, folder: Path) -> None:
    for what in ("versions", "seed", "spec", "data"):
        if getattr(now, what) != getattr(then, what):
            told = {
                "versions": f"by {then.versions}, and this is {now.versions}",
                "seed": f"with {then.seed or 'no seed'}, and now it is {now.seed or 'none'}",
                "spec": "with another spec",
                "data": "on other rows, or rows in another order",
            }[what]
            raise CheckpointDiffers(
                f"{folder}: its trees were begun {told}; going on would mix two models: "
                "train with what it was, or remove the folder"
            )


def _verified(path: Path, sha256: str) -> bytes:
    try:
        trees = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}; remove its folder") from error
    if hashlib.sha256(trees).hexdigest() != sha256:
        raise DataError(f"{path}: is not what was written; remove its folder")
    return trees
