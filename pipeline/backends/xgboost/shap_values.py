"""The contributions of columns to a prediction of trees, by XGBoost's TreeSHAP."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from pipeline import trace
from pipeline.backends.xgboost import handover
from pipeline.errors import Reason, Unsupported
from pipeline.table import frames
from pipeline.typing import Estimator, Table

CELLS = 1 << 24
"""Of what XGBoost returns for a block of rows: 64 MiB."""


def explain(native: Estimator, X: Table, sums: csr_matrix) -> np.ndarray:
    """Return the contributions to the margin of a fitted estimator of XGBoost.

    `sums` has ones where a column of X belongs to a group, shape (n_columns, n_groups); other
    columns are constant and belong to the base value. Return the sums of each group, then
    the base value: float64 of shape (n_rows, n_outputs, n_groups + 1).
    """
    if getattr(native, "multi_strategy", None) == "multi_output_tree":
        why = "XGBoost cannot explain trees of several targets"
        raise Unsupported(
            Reason(type(native).__name__, why, "use 'one_output_per_tree'", "multi_strategy")
        )
    best = getattr(native, "best_iteration", None)
    used = (0, 0) if best is None or native.booster == "gblinear" else (0, best + 1)
    width, outputs, start = sums.shape[0] + 1, 1, 0
    loose = 1 - np.asarray(sums.sum(axis=1)).ravel()
    parts: list[np.ndarray] = []
    while start < X.shape[0] or not parts:
        stop = start + max(1, CELLS // (width * outputs))
        made = native.get_booster().predict(
            handover.make_matrix(native, frames.at(X, slice(start, stop))),
            pred_contribs=True,
            iteration_range=used,
            strict_shape=True,
        )
        if frames.device_of(X) == "cuda":
            trace.record_transfer(to_host=made.nbytes, what="answer")
        outputs = made.shape[1]
        of_columns = made[:, :, :-1].astype("float64")
        summed = (of_columns.reshape(-1, width - 1) @ sums).reshape(len(made), outputs, -1)
        base = made[:, :, -1] + of_columns @ loose
        parts.append(np.concatenate([summed, base[:, :, None]], axis=2))
        start = stop
    return np.concatenate(parts)
