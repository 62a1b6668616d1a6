"""XGBoost that goes on from the trees of an attempt before it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd

from pipeline import checkpoints, clusters, frames, gathering
from pipeline.checkpoints import Checkpoints, Pace
from pipeline.optional import load

SAMPLES = ("subsample", "colsample_bytree", "colsample_bylevel", "colsample_bynode")
KNOWN = {"sample_weight", "qid"}
"""Parameters of `fit` with which a training can be taken up."""

CHUNK = 2**17
"""Rows of a table whose bits are added up at once."""

ODD = np.uint64(0x9E3779B97F4A7C15)
"""Of places in a table; an odd factor loses no bit of what it multiplies."""


def begun(estimator: Any, params: dict[str, Any], data: Callable[[], str]) -> Checkpoints | None:
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
    kept = checkpoints.active()
    if kept is None or (kept.folder is None and clusters.active() is None):
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


def _rounds(estimator: Any) -> int:
    return int(estimator.get_num_boosting_rounds())


def _sampled(estimator: Any) -> str:
    """Return what is drawn at random anew in each training; empty if nothing is."""
    if getattr(estimator, "booster", None) == "dart":
        return "trees are dropped at random"
    drawn = [name for name in SAMPLES if getattr(estimator, name, None) not in (None, 1, 1.0)]
    return f"{' and '.join(drawn)} draw(s) at random" if drawn else ""


@contextmanager
def continued(
    estimator: Any, kept: Checkpoints | None, callback: Callable[[Checkpoints], Any]
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
    pace = Pace(checkpoints.EVERY)

    class Keeper(load("xgboost.callback.TrainingCallback")):  # type: ignore[misc]
        """Keeps the trees in this process."""

        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
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


def _parts(table: Any) -> Sequence[Any]:
    if table is None:
        return ["none"]
    if frames.is_partitioned(table):
        return gathering.each(_mixed, table)
    return [_mixed(table)]


def _mixed(table: Any) -> tuple[Any, ...]:
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


def _hashed(table: Any) -> Any:
    """Return a number for each row of a frame or an array of text."""
    if not frames.is_frame(table):
        return pd.util.hash_array(np.asarray(table, dtype=object))
    if frames.library(table) == "cudf":
        return table.hash_values().values
    return pd.util.hash_pandas_object(table, index=False).to_numpy()


def _bits(rows: Any, xp: Any) -> Any:
    rows = xp.ascontiguousarray(rows).reshape(len(rows), -1)
    whole = rows.astype("uint8") if rows.dtype.kind == "b" else rows
    return whole.view(f"uint{8 * whole.dtype.itemsize}").astype("uint64")
