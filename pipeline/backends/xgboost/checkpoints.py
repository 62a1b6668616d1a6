"""Trees that a training has grown so far, kept so that another attempt goes on from them.

XGBoost that goes on from the trees of an attempt before it.

Checkpoints of a training on a cluster: a worker leaves its trees with the scheduler.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final, Literal
from uuid import uuid4

import msgspec
import numpy as np
import pandas as pd

from pipeline import records
from pipeline.data import frames, partitioned
from pipeline.distributed import cluster
from pipeline.distributed.cluster import Cluster
from pipeline.errors import CheckpointDiffers, DataError
from pipeline.optional import load
from pipeline.system.atomic import locked, write_bytes
from pipeline.typing import Array, Estimator, Params, Table

SCHEMA: Final = "pipeline.checkpoint/1"
EVERY = 10.0
"""Seconds of training between two checkpoints."""

RECORD = "checkpoint.json"


class Origin(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a training depends on."""

    seed: str
    estimator: str
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
    seed, estimator, versions : str
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
    estimator: str = ""
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
        self._origin = Origin(
            seed=self.seed, estimator=self.estimator, data=data(), versions=self.versions
        )
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
    OutputLocked
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
    for what in ("versions", "seed", "estimator", "data"):
        if getattr(now, what) != getattr(then, what):
            told = {
                "versions": f"by {then.versions}, and this is {now.versions}",
                "seed": f"with {then.seed or 'no seed'}, and now it is {now.seed or 'none'}",
                "estimator": "with another estimator",
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


SAMPLES = ("subsample", "colsample_bytree", "colsample_bylevel", "colsample_bynode")
KNOWN = {"sample_weight", "qid"}
"""Parameters of `fit` with which a training can be taken up."""

CHUNK = 2**17
"""Rows of a table whose bits are added up at once."""

ODD = np.uint64(0x9E3779B97F4A7C15)
"""Of places in a table; an odd factor loses no bit of what it multiplies."""


def begun(estimator: Estimator, params: Params, data: Callable[[], str]) -> Checkpoints | None:
    """Return the checkpoints of this training; None where there are none to keep.

    Parameters
    ----------
    estimator : xgboost estimator
        As the user wants it.
    params : dict
        Of `fit`.
    data : callable
        Returns what identifies the rows.

    Raises
    ------
    CheckpointDiffers
        There are trees of another training.
    """
    kept = active()
    if kept is None or (kept.folder is None and cluster.active() is None):
        return None
    given = {name for name, value in params.items() if value is not None}
    if not given <= KNOWN or estimator.early_stopping_rounds:
        kept.remark = "no checkpoints: what eval_set has judged so far would be lost"
        return None
    if _rounds(estimator) < 2:
        kept.remark = "no checkpoints: it learns in one round"
        return None
    kept.begin(data)
    if kept.rounds:
        kept.remark = f"went on from tree {kept.rounds} of {_rounds(estimator)}"
        if sampled := _sampled(estimator):
            kept.remark += f"; {sampled}, so the model is not that of a training without a break"
    return kept


def _rounds(estimator: Estimator) -> int:
    return int(estimator.get_num_boosting_rounds())


def _sampled(estimator: Estimator) -> str:
    """Return what is drawn at random anew in each training; empty if nothing is."""
    if getattr(estimator, "booster", None) == "dart":
        return "trees are dropped at random"
    drawn = [name for name in SAMPLES if getattr(estimator, name, None) not in (None, 1, 1.0)]
    return f"{' and '.join(drawn)} draw(s) at random" if drawn else ""


@contextmanager
def continued(
    estimator: Estimator, kept: Checkpoints | None, callback: Callable[[Checkpoints], Any]
) -> Iterator[dict[str, Any]]:
    """Yield what `fit` is told besides, while the estimator wants only the trees that lack."""
    if kept is None:
        yield {}
        return
    users = {name: getattr(estimator, name) for name in ("n_estimators", "callbacks")}
    estimator.set_params(callbacks=[*(users["callbacks"] or []), callback(kept)])
    if kept.rounds:
        estimator.set_params(n_estimators=_rounds(estimator) - kept.rounds)
    try:
        yield {"xgb_model": booster(kept)} if kept.rounds else {}
    finally:
        estimator.set_params(**users)


def booster(kept: Checkpoints) -> Any:
    """Return the trees that there are, None before the first."""
    return load("xgboost.Booster")(model_file=bytearray(kept.trees)) if kept.rounds else None


def keeper(kept: Checkpoints) -> Any:
    """Return a callback of XGBoost that keeps the trees now and then."""
    pace = Pace(EVERY)

    class Keeper(load("xgboost.callback.TrainingCallback")):  # type: ignore[misc]
        """Keeps the trees in this process."""

        def after_iteration(self, model: Estimator, epoch: int, evals_log: Any) -> bool:
            if pace.due():
                kept.keep(bytes(model.save_raw("ubj")), model.num_boosted_rounds())
            return False

    return Keeper()


def fingerprint(*tables: Any) -> str:
    """Return what changes when a value of a table or an array does, or the order of the rows.

    Parameters
    ----------
    *tables : frame, array, Dask frame or array, or None

    Returns
    -------
    str
        In hexadecimal digits. It tells changes by accident, not by intent.
    """
    found = [each for table in tables for each in _parts(table)]
    return hashlib.sha256(repr(found).encode()).hexdigest()


def _parts(table: Table) -> Sequence[Any]:
    if table is None:
        return ["none"]
    if frames.is_partitioned(table):
        return partitioned.each(_mixed, table)
    return [_mixed(table)]


def _mixed(table: Table) -> tuple[Any, ...]:
    """Return the shape and the sum of the values' bits, each times a number of its place."""
    xp = frames.array_module(frames.device_of(table))
    rows = _hashed(table) if frames.is_frame(table) or table.dtype.kind not in "biuf" else table
    total = 0
    for start in range(0, len(rows), CHUNK):
        bits = _bits(rows[start : start + CHUNK], xp)
        places = xp.arange(start * bits.shape[1] + 1, (start + len(bits)) * bits.shape[1] + 1)
        factors = (places.astype("uint64") * 2 + 1) * ODD
        total = (total + int((bits.ravel() * factors).sum(dtype="uint64"))) % 2**64
    return (*table.shape, total)


def _hashed(table: Table) -> Any:
    """Return a number for each row of a frame or an array of text."""
    if not frames.is_frame(table):
        return pd.util.hash_array(np.asarray(table, dtype=object))
    if frames.library(table) == "cudf":
        return table.hash_values().values
    return pd.util.hash_pandas_object(table, index=False).to_numpy()


def _bits(rows: Table, xp: ModuleType) -> Any:
    rows = xp.ascontiguousarray(rows).reshape(len(rows), -1)
    whole = rows.astype("uint8") if rows.dtype.kind == "b" else rows
    return whole.view(f"uint{8 * whole.dtype.itemsize}").astype("uint64")


ANSWER = 5.0
"""Seconds within which a scheduler says what it holds, if there is one left to say it."""


@contextmanager
def relayed(cluster: Cluster, kept: Checkpoints | None) -> Iterator[Callable[[Checkpoints], Any]]:
    """Yield what makes the callback of the workers; what they leave is taken, now and at the end.

    The scheduler holds the latest trees only, so a training of many checkpoints does not fill it.
    """
    name, over = f"trees-{uuid4().hex}", threading.Event()
    variable = load("distributed.Variable")(name, client=cluster.client)
    taker = threading.Thread(target=_take_now_and_then, args=(variable, kept, over), daemon=True)
    if kept is not None:
        taker.start()
    try:
        yield lambda _: _sender(name, EVERY)
    finally:
        over.set()
        if kept is not None:
            taker.join()
            _take(variable, kept)
        with suppress(Exception):  # The scheduler may be gone, and the variable with it.
            variable.delete()


def _take_now_and_then(variable: Array, kept: Checkpoints, over: threading.Event) -> None:
    while not over.wait(EVERY or 1):
        _take(variable, kept)


def _take(variable: Array, kept: Checkpoints) -> None:
    with suppress(Exception):  # There are no trees yet, or nobody to ask.
        rounds, trees = variable.get(timeout=ANSWER if kept.rounds else 1)
        kept.keep(trees, rounds)


def _sender(name: str, every: float) -> Any:
    class Sender(load("xgboost.callback.TrainingCallback")):  # type: ignore[misc]
        """Leaves the trees of the first worker with the scheduler, now and then."""

        def before_training(self, model: Estimator) -> Any:
            self.pace = Pace(every)
            return model

        def after_iteration(self, model: Estimator, epoch: int, evals_log: Any) -> bool:
            if load("xgboost.collective.get_rank")() == 0 and self.pace.due():
                variable = load("distributed.Variable")(
                    name, client=load("distributed.get_client")()
                )
                variable.set((model.num_boosted_rounds(), bytes(model.save_raw("ubj"))))
            return False

    return Sender()
