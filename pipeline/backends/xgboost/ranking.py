"""Rows of queries, as XGBoost's ranker wants them: those of a query together, in order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from pipeline.data import frames
from pipeline.errors import DataError
from pipeline.typing import Array, Estimator, Params, Table, Target

WEIGHTS = "a weight is one query's; sort the rows by query, so that it is clear whose"


def is_ranker(estimator: Estimator) -> bool:
    """Return whether an estimator is XGBoost's ranker."""
    return (
        type(estimator).__module__.startswith("xgboost.")
        and type(estimator).__name__ == "XGBRanker"
    )


def sort_queries(X: Table, y: Target, params: Params) -> tuple[Any, Any, dict[str, Any]]:
    """Return rows, relevance and parameters of `fit` with the rows sorted by query.

    Parameters
    ----------
    X : frame or matrix
    y : numpy.ndarray, shape (n_rows,)
    params : dict
        With ``qid``, the query of each row in any order, or ``group``, the rows of each query;
        ``eval_qid`` or ``eval_group`` with ``eval_set``.

    Raises
    ------
    DataError
        There are no queries, or not those of the rows.
    """
    given = {name for name in ("qid", "group") if params.get(name) is not None}
    if not given and not (frames.is_frame(X) and "qid" in X.columns):
        raise DataError("a ranker learns from queries; pass qid=, the query of each row, to fit")
    if len(given) == 2:
        raise DataError("both qid and group are given, which say the same; pass one")
    if "group" in given:
        _check_group(params["group"], X.shape[0])
    order = _find_order(params.get("qid"), X.shape[0])
    if order is not None:
        if params.get("sample_weight") is not None:
            raise DataError(f"sample_weight: {WEIGHTS}")
        X, y = _take_rows(X, order), y[order]
        params = params | {n: _take_rows(params[n], order) for n in ("qid", "base_margin")
                           if params.get(n) is not None}  # fmt: skip
    return X, y, _sort_eval_sets(params)


def take_in_order(X: Table, y: Target, qid: Any) -> tuple[Any, Any, Any]:
    """Return rows, relevance and queries, sorted by query."""
    order = _find_order(qid, X.shape[0])
    if order is not None:
        X, y, qid = _take_rows(X, order), _take_rows(y, order), _take_rows(qid, order)
    return X, y, qid if qid is None else np.asarray(frames.to_device(qid, "cpu"))


def _sort_eval_sets(params: Params) -> dict[str, Any]:
    """Sort the tables that are judged while it learns as those that it learns from."""
    sets, queries = params.get("eval_set"), params.get("eval_qid")
    if not sets or queries is None:
        return params
    if len(queries) != len(sets):
        raise DataError(f"eval_qid has {len(queries)} entries and eval_set {len(sets)}")
    sets_sorted, numbers = [], []
    for (X, y), qid in zip(sets, queries, strict=True):
        X, y, qid = take_in_order(X, y, qid)
        sets_sorted.append((X, y))
        numbers.append(qid)
    return params | {"eval_set": sets_sorted, "eval_qid": numbers}


def _find_order(qid: Any, n_rows: int) -> np.ndarray | None:
    """Return the order that sorts by query; None where it is sorted already."""
    if qid is None:
        return None
    numbers = np.asarray(frames.to_device(qid, "cpu"))
    if numbers.shape != (n_rows,):
        raise DataError(f"qid has the shape {numbers.shape} and X has {n_rows} rows")
    if missing := int(pd.isna(numbers).sum()):
        raise DataError(f"qid has {missing} missing values; drop these rows")
    whole = numbers.dtype.kind in "iu" or (numbers.dtype.kind == "f" and (numbers % 1 == 0).all())
    if not whole:
        raise DataError(f"qid holds {numbers.dtype}, not whole numbers; number the queries")
    return None if bool((np.diff(numbers) >= 0).all()) else np.argsort(numbers, kind="stable")


def _check_group(group: Array, n_rows: int) -> None:
    total = int(np.sum(np.asarray(frames.to_device(group, "cpu"))))
    if total != n_rows:
        raise DataError(f"group has {total} rows in all and X has {n_rows}")


def _take_rows(values: Array, order: np.ndarray) -> Any:
    if hasattr(values, "iloc"):
        return values.iloc[order]
    return (values if hasattr(values, "dtype") else np.asarray(values))[order]
