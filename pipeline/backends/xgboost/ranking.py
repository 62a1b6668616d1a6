"""Rows of queries, as XGBoost's ranker wants them: those of a query together, in order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from pipeline.errors import DataError, final
from pipeline.table import frames
from pipeline.typing import Estimator, Params, Table, Target


def is_ranker(estimator: Estimator) -> bool:
    """Return whether an estimator is XGBoost's ranker."""
    kind = type(estimator)
    return kind.__module__.startswith("xgboost.") and kind.__name__ == "XGBRanker"


def sort_queries(X: Table, y: Target, params: Params) -> tuple[Any, Any, dict[str, Any]]:
    """Return rows, relevance and parameters of `fit` with the rows sorted by query.

    The parameters have ``qid``, the query of each row in any order, or ``group``, the rows of each
    query; a `DataError` otherwise.
    """
    given = {name for name in ("qid", "group") if params.get(name) is not None}
    if not given and not (frames.is_frame(X) and "qid" in X.columns):
        raise DataError("a ranker learns from queries; pass qid=, the query of each row, to fit")
    if len(given) == 2:
        raise DataError("qid and group are both given, but mean the same; pass one")
    order = _find_order(params.get("qid"), X.shape[0])
    if order is None:
        return X, y, params
    if params.get("sample_weight") is not None:
        why = "each weight is that of a query; sort the rows by query to assign them"
        raise final(DataError(f"sample_weight: {why}"))
    sorted_ = {
        name: _in_order(held if hasattr(held, "shape") else np.asarray(held), order)
        for name, held in params.items()
        if name in ("qid", "base_margin") and held is not None
    }
    return _in_order(X, order), y[order], {**params, **sorted_}


def _in_order(rows: Table, order: np.ndarray) -> Any:
    return frames.at(rows, frames.to_device(order, frames.device_of(rows)))


def _find_order(qid: Any, n_rows: int) -> np.ndarray | None:
    """Return the order that sorts by query; None where it is sorted already."""
    if qid is None:
        return None
    numbers = np.asarray(frames.to_device(qid, "cpu"))
    if numbers.shape != (n_rows,):
        raise DataError(
            f"qid has the shape {numbers.shape}, but X has {n_rows} rows; pass one query per row"
        )
    whole = numbers.dtype.kind in "iu" or (numbers.dtype.kind == "f" and (numbers % 1 == 0).all())
    if not whole:
        holds = f"{numbers.dtype}, {int(pd.isna(numbers).sum())} of them missing"
        raise final(DataError(f"qid holds {holds}, not integers; number the queries"))
    return None if bool((np.diff(numbers) >= 0).all()) else np.argsort(numbers, kind="stable")
