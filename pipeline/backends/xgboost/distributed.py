"""XGBoost on the partitions of a table: trained by all workers together."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from pipeline.backends import pool
from pipeline.backends.xgboost import checkpoints, tracker
from pipeline.data import frames, output, partitioned
from pipeline.data.target import classes
from pipeline.distributed.cluster import Cluster, active
from pipeline.distributed.retry import watched
from pipeline.errors import DataError
from pipeline.optional import load
from pipeline.typing import Array, Estimator, Names, Params, Table, Target

SPREAD = {
    name: f"xgboost.dask.Dask{name.replace('RF', '')}"
    for name in ("XGBClassifier", "XGBRegressor", "XGBRFClassifier", "XGBRFRegressor")
}
"""Class of XGBoost -> the one that trains on a cluster; a forest is a round of parallel trees."""

KNOWN = {"sample_weight"}
"""Parameters of `fit` that are cut as the rows are."""


def trains_distributed(estimator: Estimator, params: Params) -> bool:
    """Return whether an estimator with these parameters of `fit` can train on partitions."""
    given = {name for name, value in params.items() if value is not None}
    return type(estimator).__name__ in SPREAD and given <= KNOWN


def train(estimator: Estimator, X: Table, y: Target, sample_weight: Array = None) -> Any:
    """Return the booster that the workers of the active cluster train together.

    Partitions stay in order and go to the workers in equal shares, so that the same partitions
    on as many workers give the same model.

    Parameters
    ----------
    estimator : xgboost estimator
        Unfitted, with its device set.
    X : Dask frame or array
        Text columns become categories, the same ones in every partition.
    y, sample_weight : array of shape (n_rows,)
        On the host.

    Raises
    ------
    DataError
        `y` has another length than X.
    """
    cluster = active()
    assert cluster is not None
    X = categorized(X) if hasattr(X, "columns") else X
    rows = partitioned.lengths(X)
    for array in (y, sample_weight):
        partitioned.check_rows(array, sum(rows))
    placed = distribute(cluster, X, rows, [y, sample_weight])
    data = partial(checkpoints.fingerprint, X, y, sample_weight)
    kept = checkpoints.begun(estimator, {"sample_weight": sample_weight}, data)
    with (
        checkpoints.relayed(cluster, kept) as callback,
        checkpoints.continued(estimator, kept, callback) as more,
    ):
        spread, client = _spread(estimator, cluster)
        return watched(cluster, lambda: _fit(spread, client, placed, more)).get_booster()


def _spread(estimator: Estimator, cluster: Cluster) -> tuple[Any, tracker.Client]:
    """Return the estimator that trains on the cluster, and the client that it talks through."""
    # Longer than the scheduler takes to miss a worker, which is the better message.
    patience = 2 * int(cluster.options.timeout) + 1
    settings = load("xgboost.collective.Config")(retry=1, timeout=patience)
    params = estimator.get_params(deep=False) | {
        "n_estimators": estimator.get_num_boosting_rounds(),
        "num_parallel_tree": estimator.get_xgb_params()["num_parallel_tree"],
    }
    spread = load(SPREAD[type(estimator).__name__])(**params, coll_cfg=settings)
    client = tracker.Client(cluster.client, next(iter(cluster.workers())), patience)
    spread.client = client
    known = spread.get_xgb_params
    # XGBoost hands it on to the booster, which warns that it does not know it.
    spread.get_xgb_params = lambda: {k: v for k, v in known().items() if k != "coll_cfg"}
    return spread, client


async def _fit(spread: Any, client: tracker.Client, placed: Sequence[Any], more: Params) -> Any:
    X, y, sample_weight = placed
    pool.take(spread.device)
    try:
        return await spread.fit(X, y, sample_weight=sample_weight, **more)
    finally:
        await client.stop_trackers()


def check_labels(estimator: Estimator, y: Target) -> None:
    """Refuse labels that are not 0, 1, …, n - 1, which a cluster would find out too late.

    Raises
    ------
    DataError
        The estimator is a classifier, and these are not its labels.
    """
    if not hasattr(estimator, "predict_proba"):
        return
    found = classes(y)
    if not np.array_equal(found, np.arange(len(found))):
        raise DataError(
            f"{type(estimator).__name__} takes the classes 0, 1, …, n - 1 and y holds "
            f"{found.tolist()[:9]}; pass LabelEncoder().fit_transform(y)"
        )


def distribute(cluster: Cluster, X: Table, rows: Sequence[int], arrays: Sequence[Any]) -> list[Any]:
    """Return the table and the arrays with each part on the worker that will train on it."""
    kept = [(part, n) for part, n in zip(partitioned.parts_of(X), rows, strict=True) if n]
    edges = np.cumsum([0, *(n for _, n in kept)])
    workers = cluster.workers()
    shares = np.array_split(np.arange(len(kept)), len(workers))
    # A task of our own for each: it can be cancelled without what the user keeps.
    own = load("dask.delayed")(_own, pure=False)
    parts: list[Any] = []
    cut: list[list[Any]] = [[] for _ in arrays]
    for worker, share in zip(workers, shares, strict=True):
        # A worker that has gone must not be waited for; then the result is thrown away.
        parts += cluster.client.compute(
            [own(kept[i][0]) for i in share], workers=[worker], allow_other_workers=True
        )
        for array, pieces in zip(arrays, cut, strict=True):
            if array is not None and len(share):
                cuts = [array[edges[i] : edges[i + 1]] for i in share]
                pieces += cluster.client.scatter(cuts, workers=[worker], hash=False)
    sizes = [n for _, n in kept]
    columns = [_column(pieces, sizes, a) for pieces, a in zip(cut, arrays, strict=True)]
    return [_table(parts, sizes, X), *columns]


def _own(part: Any) -> Any:
    return output.with_own_nulls(part) if frames.is_frame(part) else part


def _table(parts: Sequence[Any], rows: Sequence[int], X: Table) -> Any:
    if hasattr(X, "columns"):
        return load("dask.dataframe.from_delayed")(list(parts), meta=X._meta)
    return _blocks(parts, [(n, X.shape[1]) for n in rows], X)


def _column(parts: Sequence[Any], rows: Sequence[int], array: Array) -> Any:
    return None if array is None else _blocks(parts, [(n,) for n in rows], array)


def _blocks(parts: Sequence[Any], shapes: Sequence[tuple[int, ...]], like: Any) -> Any:
    make = load("dask.array.from_delayed")
    delayed = load("dask.delayed")
    meta = getattr(like, "_meta", like)[:0]
    pairs = zip(parts, shapes, strict=True)
    return load("dask.array.concatenate")(
        [make(delayed(part), shape, dtype=like.dtype, meta=meta) for part, shape in pairs]
    )


def categorized(X: Table) -> Any:
    """Return a Dask frame whose text columns have the same categories in every partition."""
    meta = output.categorize(X._meta)
    names = [name for name, dtype in meta.dtypes.items() if str(dtype) == "category"]
    if not names:
        return X
    found = partitioned.each(_distinct, X, names)
    kinds = {name: pd.CategoricalDtype(_union([part[name] for part in found])) for name in names}
    return X.map_partitions(_as, kinds, meta=_as(X._meta, kinds))


def _distinct(X: Table, names: Names) -> dict[Any, Any]:
    coded = output.categorize(X[names])
    return {name: frames.host_index(coded[name].cat.categories) for name in names}


def _union(found: Sequence[Any]) -> pd.Index:
    first = found[0]
    if all(len(each) == len(first) and (each == first).all() for each in found):
        return pd.Index(first)
    return pd.Index(np.unique(np.concatenate(found)))


def _as(X: Table, kinds: dict[Any, Any]) -> Any:
    return X.astype(kinds)
