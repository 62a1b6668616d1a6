"""The contributions of columns to a prediction of trees, by XGBoost's TreeSHAP."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from pipeline import trace
from pipeline.backends.xgboost import handover
from pipeline.data import frames
from pipeline.errors import Reason, Unsupported
from pipeline.typing import Estimator, Table

CELLS = 1 << 24
"""Of what XGBoost returns for a block of rows: 64 MiB."""


def explain(native: Estimator, X: Table, sums: csr_matrix) -> np.ndarray:
    """Return the contributions to the margin of a fitted estimator of XGBoost.

    Parameters
    ----------
    native : estimator
    X : frame or matrix, shape (n_rows, n_columns)
    sums : csr_matrix of shape (n_columns, n_groups)
        Ones where a column of X belongs to a group; others, which are constant, to the base value.

    Returns
    -------
    numpy.ndarray of float64, shape (n_rows, n_outputs, n_groups + 1)
        The sums of each group, then the base value.

    Raises
    ------
    Unsupported
        XGBoost has none for these trees.
    """
    if getattr(native, "multi_strategy", None) == "multi_output_tree":
        why = "XGBoost explains no trees of several targets"
        raise Unsupported(
            Reason(type(native).__name__, why, "use 'one_output_per_tree'", "multi_strategy")
        )
    booster, iterations = native.get_booster(), _trees_used(native)
    width = sums.shape[0] + 1
    parts: list[np.ndarray] = []
    loose = 1 - np.asarray(sums.sum(axis=1)).ravel()
    outputs = 1
    start = 0
    n_rows = int(X.shape[0])
    while start < n_rows or not parts:
        stop = start + max(1, CELLS // (width * outputs))
        made = booster.predict(
            handover.make_matrix(native, _between(X, start, stop)),
            pred_contribs=True,
            iteration_range=iterations,
            strict_shape=True,
        )
        if frames.device_of(X) == "cuda":
            trace.record_transfer(to_host=made.nbytes, answer=True)
        outputs = made.shape[1]
        of_columns = made[:, :, :-1].astype("float64")
        summed = (of_columns.reshape(-1, width - 1) @ sums).reshape(len(made), outputs, -1)
        base = made[:, :, -1] + of_columns @ loose
        parts.append(np.concatenate([summed, base[:, :, None]], axis=2))
        start = stop
    return np.concatenate(parts)


def _trees_used(native: Estimator) -> tuple[int, int]:
    """Return the range of iterations by which an estimator predicts; (0, 0) is all of them."""
    best = getattr(native, "best_iteration", None)
    return (0, 0) if best is None or native.booster == "gblinear" else (0, best + 1)


def _between(X: Table, start: int, stop: int) -> Any:
    if start == 0 and stop >= X.shape[0]:
        return X
    if hasattr(X, "iloc"):
        return X.iloc[start:stop]
    return X.tocsr()[start:stop] if frames.is_sparse(X) else X[start:stop]
