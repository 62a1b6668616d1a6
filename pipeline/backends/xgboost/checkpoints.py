"""Trees that a training has grown so far, kept so that another attempt goes on from them.

A callback of our own keeps them: `xgboost.callback.TrainingCheckPoint` counts trees and not
seconds, writes in place, on the worker's machine, and removes nothing.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec
import numpy as np
import pandas as pd

from pipeline.data import frames, partitioned
from pipeline.distributed import cluster
from pipeline.errors import CheckpointDiffers, DataError
from pipeline.optional import load
from pipeline.system.atomic import locked, sha256, write_bytes
from pipeline.typing import Params, Table

if TYPE_CHECKING:
    from distributed import Client
    from xgboost import Booster, XGBModel
    from xgboost.callback import TrainingCallback

SCHEMA: Final = "pipeline.checkpoint/2"
FILE = "checkpoint"

EVERY = 10.0
"""Seconds of training between two checkpoints."""

ANSWER = 3.0
"""Seconds in which a worker says what it holds, if it is there."""

RANDOM = ("subsample", "colsample_bytree", "colsample_bylevel", "colsample_bynode")
SUPPORTED_PARAMS = {"sample_weight", "qid"}
"""Parameters of `fit` with which a training can be resumed."""

CHUNK = 2**17
"""Rows of a table that are brought to the host and hashed at once."""


class TrainingInputs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a training depends on."""

    seed: str
    estimator: str
    data: str
    versions: str


class Header(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The first line of the file; what follows are the trees."""

    schema: Literal["pipeline.checkpoint/2"]
    inputs: TrainingInputs
    rounds: int
    sha256: str


@dataclass
class Checkpoints:
    """The latest trees of one training, in memory and, where there is a folder, on the disk.

    Parameters
    ----------
    folder : Path or None
    seed, estimator, versions : str
        What a training must have in common with the one that it resumes.

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
    _inputs: TrainingInputs | None = None

    def read(self, hash_data: Callable[[], str]) -> None:
        """Read what the folder holds; an attempt after the first has it in memory.

        Raises
        ------
        CheckpointDiffers
            The folder holds the trees of another training.
        DataError
            The file is damaged.
        """
        if self.folder is None or self._inputs is not None:
            return
        self._inputs = TrainingInputs(
            seed=self.seed, estimator=self.estimator, data=hash_data(), versions=self.versions
        )
        if (path := self.folder / FILE).exists():
            header, trees = _parse(path)
            _check(self._inputs, header.inputs, self.folder)
            self.trees, self.rounds = trees, header.rounds

    def keep(self, trees: bytes, rounds: int) -> None:
        """Keep a booster in the place of the one before."""
        if rounds <= self.rounds:
            return
        self.trees, self.rounds = trees, rounds
        if self.folder is None or self._inputs is None:
            return
        header = Header(schema=SCHEMA, inputs=self._inputs, rounds=rounds, sha256=sha256(trees))
        write_bytes(self.folder / FILE, msgspec.json.encode(header) + b"\n" + trees)

    def end(self) -> None:
        """Remove the file: there is nothing left to resume."""
        if self.folder is not None:
            (self.folder / FILE).unlink(missing_ok=True)


def _parse(path: Path) -> tuple[Header, bytes]:
    try:
        line, _, trees = path.read_bytes().partition(b"\n")
        header = msgspec.json.decode(line, type=Header)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}; remove it") from error
    except msgspec.DecodeError as error:
        raise DataError(f"{path}: is not a {SCHEMA} file: {error}; remove it") from error
    if sha256(trees) != header.sha256:
        raise DataError(f"{path}: is not what was written; remove it")
    return header, trees


def _check(now: TrainingInputs, then: TrainingInputs, folder: Path) -> None:
    reasons = {
        "versions": f"by {then.versions}, and this is {now.versions}",
        "seed": f"with {then.seed or 'no seed'}, and now it is {now.seed or 'none'}",
        "estimator": "with another estimator",
        "data": "on other rows, or rows in another order",
    }
    for what, reason in reasons.items():
        if getattr(now, what) != getattr(then, what):
            raise CheckpointDiffers(
                f"{folder}: its trees were begun {reason}; going on would mix two models: "
                "train with what it was, or remove the folder"
            )


_active: ContextVar[Checkpoints | None] = ContextVar("checkpoints", default=None)


@contextmanager
def keeping(kept: Checkpoints) -> Iterator[Checkpoints]:
    """Keep the trees that are trained inside; once all are there, the file is removed.

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


def begin(estimator: XGBModel, params: Params, hash_data: Callable[[], str]) -> Checkpoints | None:
    """Return the checkpoints of a training with these parameters of `fit`, if there are any.

    Raises
    ------
    CheckpointDiffers
        There are trees of another training.
    """
    kept = _active.get()
    if kept is None or (kept.folder is None and cluster.active() is None):
        return None
    given = {name for name, value in params.items() if value is not None}
    rounds = estimator.get_num_boosting_rounds()
    if not given <= SUPPORTED_PARAMS or estimator.early_stopping_rounds:
        kept.remark = "no checkpoints: what eval_set has judged so far would be lost"
    elif rounds < 2:
        kept.remark = "no checkpoints: it learns in one round"
    else:
        kept.read(hash_data)
        if kept.rounds:
            kept.remark = f"went on from tree {kept.rounds} of {rounds}{_warn_of_random(estimator)}"
        return kept
    return None


def _warn_of_random(estimator: XGBModel) -> str:
    """Return what is drawn at random anew in each training; empty if nothing is."""
    names = [name for name in RANDOM if getattr(estimator, name) not in (None, 1, 1.0)]
    why = f"{' and '.join(names)} draw(s) at random" if names else ""
    why = "trees are dropped at random" if estimator.booster == "dart" else why
    return f"; {why}, so the model is not that of a training without a break" if why else ""


@contextmanager
def continue_training(
    estimator: XGBModel,
    kept: Checkpoints | None,
    take: Callable[[bytes, int], None] | None = None,
) -> Iterator[dict[str, Any]]:
    """Yield further parameters of `fit`, while the estimator wants only the missing trees.

    Where it trains, `take` is given the trees and their rounds now and then; by default `kept`
    keeps them.
    """
    if kept is None:
        yield {}
        return
    users = {name: getattr(estimator, name) for name in ("n_estimators", "callbacks")}
    left = estimator.get_num_boosting_rounds() - kept.rounds
    callback = _make_callback(take or kept.keep, EVERY)
    estimator.set_params(n_estimators=left, callbacks=[*(users["callbacks"] or []), callback])
    try:
        trees = bytearray(kept.trees)
        yield {"xgb_model": load("xgboost.Booster")(model_file=trees)} if kept.rounds else {}
    finally:
        estimator.set_params(**users)


def _make_callback(take: Callable[[bytes, int], None], every: float) -> TrainingCallback:
    class TakeTrees(load("xgboost.callback.TrainingCallback")):  # type: ignore[misc]
        def before_training(self, model: Booster) -> Booster:
            self.last = time.monotonic()
            return model

        def after_iteration(self, model: Booster, epoch: int, evals_log: Any) -> bool:
            if time.monotonic() - self.last >= every:
                take(bytes(model.save_raw("ubj")), model.num_boosted_rounds())
                self.last = time.monotonic()
            return False

    callback: TrainingCallback = TakeTrees()
    return callback


_held: tuple[bytes, int] = b"", 0
"""The latest trees of the training that this worker takes part in."""


def hold(trees: bytes, rounds: int) -> None:
    """Hold the trees in this worker until they are collected."""
    global _held
    _held = trees, rounds


def _hand_over() -> tuple[bytes, int]:
    return _held


@asynccontextmanager
async def collect(
    client: Client, workers: Sequence[str], kept: Checkpoints | None
) -> AsyncIterator[None]:
    """Collect what the workers `hold`: now and then, and when a training fails."""
    if kept is None:
        yield
        return

    async def collect_regularly() -> None:
        while True:
            await asyncio.sleep(EVERY or 1)
            await _collect(client, workers, kept)

    await client.run(hold, b"", 0, workers=list(workers))
    collecting = asyncio.create_task(collect_regularly())
    try:
        yield
    except BaseException:
        await _collect(client, workers, kept)
        raise
    finally:
        collecting.cancel()


async def _collect(client: Client, workers: Sequence[str], kept: Checkpoints) -> None:
    for worker in workers:  # All train the same trees, so that one of them is asked.
        with suppress(OSError, RuntimeError, TimeoutError):  # It has gone, or is frozen.
            trees, rounds = await asyncio.wait_for(_ask(client, worker), ANSWER)
            await asyncio.to_thread(kept.keep, trees, rounds)
            return


async def _ask(client: Client, worker: str) -> tuple[bytes, int]:
    known = (await client.scheduler.identity(n_workers=-1))["workers"]
    if worker not in known:
        raise OSError(f"{worker} has gone")
    answers: dict[str, tuple[bytes, int]] = await client.run(_hand_over, workers=[worker])
    return answers[worker]


def hash_rows(*tables: Any) -> str:
    """Return what changes when a value of a table or an array does, or the order of the rows.

    Each is of the host or a device, or partitioned, or None. It shows changes by accident, not
    by intent.
    """
    digests: list[Any] = []
    for table in tables:
        parted = table is not None and frames.is_partitioned(table)
        digests += partitioned.compute_each(_digest, table) if parted else [_digest(table)]
    return sha256(repr(digests).encode())


def _digest(table: Table) -> tuple[Any, ...] | None:
    """Return the shape of a table, and a hash of its values in their order."""
    if table is None:
        return None
    digest = hashlib.sha256()
    for array in _arrays(table):
        for start in range(0, array.shape[0], CHUNK):
            rows = frames.to_device(array[start : start + CHUNK], "cpu")
            digest.update(np.ascontiguousarray(rows).data)
    return (*table.shape, digest.hexdigest())


def _arrays(table: Table) -> tuple[Any, ...]:
    """Return what holds the values of a table: numbers, or a number for each row."""
    if frames.is_sparse(table):
        return table.data, table.indices, table.indptr
    if not frames.is_frame(table):
        numbers = table.dtype.kind in "biuf"
        return (table if numbers else pd.util.hash_array(np.asarray(table, dtype=object)),)
    if frames.library(table) == "cudf":
        return (table.hash_values().values,)
    return (pd.util.hash_pandas_object(table, index=False).to_numpy(),)
