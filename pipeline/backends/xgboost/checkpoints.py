"""Trees that a training has grown so far, saved by `TrainingCheckPoint` to go on from."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import joblib

from pipeline.backends.xgboost.structure import check_booster
from pipeline.data import frames, partitioned
from pipeline.errors import CheckpointDiffers, DataError
from pipeline.optional import load
from pipeline.system.atomic import locked, write_bytes
from pipeline.typing import Params, Table

if TYPE_CHECKING:
    from xgboost import Booster, XGBModel

INPUTS = "training.json"
"""What the training depends on, beside the trees."""

FILES = 20
"""About so many checkpoints are written while all trees are trained."""

RANDOM = ("subsample", "colsample_bytree", "colsample_bylevel", "colsample_bynode")
SUPPORTED_PARAMS = {"sample_weight", "qid"}
"""Parameters of `fit` with which a training can be resumed."""

_REASONS = {
    "versions": "by {then}, and this is {now}",
    "seed": "with {then}, and now it is {now}",
    "estimator": "with another estimator",
    "data": "on other rows, or rows in another order",
}


@dataclass
class Checkpoints:
    """The folder with the trees of one training.

    Parameters
    ----------
    folder : Path
    inputs : dict of str to str
        What a training must have in common with the one that it resumes: "seed", "estimator",
        "versions".

    Attributes
    ----------
    remark : str
        What became of the training, where there is something to say.
    rounds : int
        That the booster which it goes on from was boosted.
    """

    folder: Path
    inputs: dict[str, str] = field(default_factory=dict)
    remark: str = ""
    rounds: int = 0
    trees: Booster | None = None

    def read(self, data: str) -> None:
        """Read the latest trees that are whole, of a training on the same data.

        Raises
        ------
        CheckpointDiffers
            The folder holds the trees of another training.
        DataError
            The folder holds something else.
        """
        path, now = self.folder / INPUTS, {**self.inputs, "data": data}
        if path.exists():
            try:
                then = dict(json.loads(path.read_text("utf-8")))
            except (OSError, ValueError, TypeError) as error:
                raise DataError(f"{path}: cannot be read ({error}); remove {path.parent}") from None
            _check(now, then, self.folder)
        elif self._files() or (self.folder / "checkpoint").exists():
            raise DataError(f"{self.folder}: holds trees of another version; remove it")
        write_bytes(path, json.dumps(now).encode())
        for file in reversed(self._files()):
            with suppress(DataError, ValueError):  # It was cut off as it was written.
                content = file.read_bytes()
                check_booster(content)
                self.trees = load("xgboost.Booster")(model_file=bytearray(content))
                self.rounds = self.trees.num_boosted_rounds()
                return

    def _files(self) -> list[Path]:
        """Return the files with trees, those with the fewest first."""
        return sorted(self.folder.glob("trees_*.ubj"), key=lambda file: (len(file.name), file.name))

    def end(self) -> None:
        """Remove the files: there is nothing left to resume."""
        for file in [*self._files(), self.folder / INPUTS]:
            file.unlink(missing_ok=True)


def _check(now: dict[str, str], then: dict[str, str], folder: Path) -> None:
    for what, reason in _REASONS.items():
        if now[what] != then.get(what):
            told = reason.format(then=then.get(what) or "no seed", now=now[what] or "none")
            raise CheckpointDiffers(
                f"{folder}: its trees were begun {told}; going on would mix two models: train with "
                "what it was, or remove the folder"
            )


_active: ContextVar[Checkpoints | None] = ContextVar("checkpoints", default=None)


@contextmanager
def keeping(kept: Checkpoints) -> Iterator[Checkpoints]:
    """Keep the trees that are trained inside; once all are there, the files are removed.

    Raises
    ------
    OutputLocked
        Another training keeps its own in the same folder.
    """
    with locked(kept.folder):
        kept.folder.mkdir(parents=True, exist_ok=True)
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
    if kept is None:
        return None
    given = {name for name, value in params.items() if value is not None}
    rounds = estimator.get_num_boosting_rounds()
    if not given <= SUPPORTED_PARAMS or estimator.early_stopping_rounds:
        kept.remark = "no checkpoints: what eval_set has judged so far would be lost"
    elif rounds < 2:
        kept.remark = "no checkpoints: it learns in one round"
    else:
        kept.read(hash_data())
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
def continue_training(estimator: XGBModel, kept: Checkpoints | None) -> Iterator[dict[str, Any]]:
    """Yield further parameters of `fit`, while the estimator wants only the missing trees.

    On a cluster the first worker writes the files, so that all must see the folder.
    """
    if kept is None:
        yield {}
        return
    users = {name: getattr(estimator, name) for name in ("n_estimators", "callbacks")}
    rounds = estimator.get_num_boosting_rounds()
    callback = load("xgboost.callback.TrainingCheckPoint")(
        kept.folder.resolve(), "trees", interval=max(1, rounds // FILES)
    )
    estimator.set_params(
        n_estimators=rounds - kept.rounds, callbacks=[*(users["callbacks"] or []), callback]
    )
    try:
        yield {"xgb_model": kept.trees} if kept.trees is not None else {}
    finally:
        estimator.set_params(**users)


def hash_rows(*tables: Any) -> str:
    """Return what changes when a value of a table or an array does, or the order of the rows.

    Each is of the host or a device, or partitioned, or None.
    """
    digests: list[Any] = []
    for table in tables:
        parted = table is not None and frames.is_partitioned(table)
        digests += partitioned.compute_each(_digest, table) if parted else [_digest(table)]
    return str(joblib.hash(digests))


def _digest(table: Table) -> str | None:
    return None if table is None else joblib.hash(frames.to_device(table, "cpu"), coerce_mmap=True)
