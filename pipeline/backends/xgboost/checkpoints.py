"""The trees that a training has grown so far, saved by `TrainingCheckPoint` to continue from."""

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
from pipeline.errors import CheckpointDiffers, DataError
from pipeline.optional import load
from pipeline.system.atomic import locked, write_bytes
from pipeline.table import frames, partitioned
from pipeline.trace import setting
from pipeline.typing import Params, Table

if TYPE_CHECKING:
    from xgboost import XGBModel

INPUTS = "training.json"
"""What the training depends on, beside the trees."""

FILES = 20
"""About so many checkpoints are written while all trees are trained."""

RANDOM = ("subsample", "colsample_bytree", "colsample_bylevel", "colsample_bynode")
SUPPORTED_PARAMS = {"sample_weight", "qid"}
"""Parameters of `fit` with which a training can be resumed."""


@dataclass
class Checkpoints:
    """The folder with the trees of one training.

    `inputs` are what it must have in common with the one that it resumes, beside the rows. `remark`
    is a note on the training, if there is something to say.
    """

    folder: Path
    inputs: dict[str, str] = field(default_factory=dict)
    remark: str = ""

    def read(self, data: str) -> Any:
        """Return the booster of the latest complete trees of a training on the same data.

        `CheckpointDiffers` if they are of another training, `DataError` if they are something else.
        """
        path, now = self.folder / INPUTS, {**self.inputs, "data": data}
        try:
            then = dict(json.loads(path.read_text("utf-8"))) if path.exists() else {}
        except (OSError, ValueError, TypeError) as error:
            raise DataError(f"{path}: cannot be read ({error}); remove {path.parent}") from None
        if not then and self.files():
            raise DataError(f"{self.folder}: holds trees of another version; remove the folder")
        if changed := [what for what in now if then and now[what] != then.get(what)]:
            raise CheckpointDiffers(
                f"{self.folder}: its trees are of a training with other {' and '.join(changed)}; "
                "restore what has changed, or remove the folder"
            )
        write_bytes(path, json.dumps(now).encode())
        for file in reversed(self.files()):
            with suppress(DataError, ValueError):  # It was cut off as it was written.
                content = file.read_bytes()
                check_booster(content)
                return load("xgboost.Booster")(model_file=bytearray(content))
        return None

    def files(self) -> list[Path]:
        """Return the files with trees, those with the fewest first."""
        return sorted(self.folder.glob("trees_*.ubj"), key=lambda file: (len(file.name), file.name))


_active: ContextVar[Checkpoints | None] = ContextVar("checkpoints", default=None)


@contextmanager
def keeping(kept: Checkpoints) -> Iterator[Checkpoints]:
    """Keep the trees that are trained inside; once all are there, the files are removed.

    `OutputLocked` if another training keeps its own in the same folder.
    """
    with locked(kept.folder):
        kept.folder.mkdir(parents=True, exist_ok=True)
        with setting(_active, kept):
            yield kept
        for file in [*kept.files(), kept.folder / INPUTS]:  # there is nothing left to resume
            file.unlink(missing_ok=True)


@contextmanager
def continue_training(
    estimator: XGBModel, params: Params, hash_data: Callable[[], str]
) -> Iterator[dict[str, Any]]:
    """Yield further parameters of `fit`, while the estimator wants only the missing trees.

    On a cluster the first worker writes the files, so that all must see the folder.
    """
    kept = _active.get()
    if kept is None:
        yield {}
        return
    rounds = estimator.get_num_boosting_rounds()
    given = {name for name, value in params.items() if value is not None}
    whole = given <= SUPPORTED_PARAMS and not estimator.early_stopping_rounds
    if not whole or rounds < 2:
        lost = "there is only one round" if whole else "the results of eval_set would be lost"
        kept.remark = f"no checkpoints: {lost}"
        yield {}
        return
    trees = kept.read(hash_data())
    done = trees.num_boosted_rounds() if trees else 0
    if done:
        kept.remark = f"continued from tree {done} of {rounds}{_warn_of_random(estimator)}"
    users = {name: getattr(estimator, name) for name in ("n_estimators", "callbacks")}
    callback = load("xgboost.callback.TrainingCheckPoint")(
        kept.folder.resolve(), "trees", interval=max(1, rounds // FILES)
    )
    estimator.set_params(
        n_estimators=rounds - done, callbacks=[*(users["callbacks"] or []), callback]
    )
    try:
        yield {"xgb_model": trees} if trees else {}
    finally:
        estimator.set_params(**users)


def _warn_of_random(estimator: XGBModel) -> str:
    """Return a warning of what each training draws at random; empty if there is nothing."""
    names = [name for name in RANDOM if getattr(estimator, name) not in (None, 1, 1.0)]
    names += ["dart"] if estimator.booster == "dart" else []
    why = f"because of random numbers ({', '.join(names)})"
    return f"; {why}, the model differs from that of a training without a break" if names else ""


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
