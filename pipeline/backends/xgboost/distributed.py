"""XGBoost on the partitions of a table: trained by all workers together, with `xgboost.dask`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pipeline.backends import incremental
from pipeline.backends.xgboost import checkpoints, handover, training
from pipeline.distributed.cluster import Cluster, active
from pipeline.distributed.retry import watch
from pipeline.optional import load
from pipeline.table import encode, frames, output, partitioned
from pipeline.typing import Array, Estimator, Names, Params, Table

if TYPE_CHECKING:
    from xgboost import Booster, XGBModel

ESTIMATORS = {"XGBClassifier", "XGBRegressor", "XGBRFClassifier", "XGBRFRegressor"}
"""Classes of XGBoost that can learn from partitions."""


def trains_distributed(estimator: Estimator, params: Params) -> bool:
    """Return whether an estimator with these parameters of `fit` can train on partitions."""
    given = {name for name, value in params.items() if value is not None}
    return (
        type(estimator).__name__ in ESTIMATORS
        and estimator.booster != "gblinear"
        and given <= incremental.SUPPORTED_PARAMS
    )


def train_on_workers(
    estimator: XGBModel, X: Table, y: np.ndarray, sample_weight: Array = None
) -> Booster:
    """Return the booster that the workers of the active cluster train together.

    Partitions stay in order and go to the workers in equal shares, so that the same partitions on
    as many workers give the same model. Text columns become categories, the same ones in every
    partition. If a worker is lost, so are its rows, and the others cannot go on: `WorkerLost`.
    """
    cluster = active()
    assert cluster is not None
    X = share_categories(X) if hasattr(X, "columns") else X
    digest = partial(checkpoints.hash_rows, X, y, sample_weight)
    given = {"sample_weight": sample_weight}
    with checkpoints.continue_training(estimator, given, digest) as more:
        ready = partial(_ready, device=estimator.device)
        workers, rows = place_rows(cluster, X, [y, sample_weight], ready)
        params = training.find_params(estimator, y)
        settings = load("xgboost.get_config")()
        work = partial(_train, cluster, estimator, params, rows, settings, more)
        return watch(cluster, work, workers)


def _ready(part: Table, device: str) -> Any:
    return handover.prepare(frames.to_device(output.own_rows(part), device))


async def _train(
    cluster: Cluster,
    estimator: XGBModel,
    params: Params,
    rows: list[Any],
    settings: Params,
    more: Params,
) -> Booster:
    client, (X, y, weight) = cluster.client, rows
    rows.clear()  # They are held as long as this trains.
    if estimator.device == "cuda":
        await client.run(training.use_memory_pool, "cuda")
    options: dict[str, Any] = {
        "weight": weight,
        "missing": estimator.missing,
        "enable_categorical": estimator.enable_categorical,
        "feature_types": estimator.feature_types,
    }
    if estimator.feature_weights is not None:
        weights = np.asarray(estimator.feature_weights)
        options["feature_weights"] = load("dask.array.from_array")(weights)
    bins = estimator.tree_method in (None, "auto", "hist")
    if bins:
        options["max_bin"] = estimator.max_bin
    make = load(f"xgboost.dask.Dask{'Quantile' if bins else ''}DMatrix")
    matrix = await make(client, X, y, **options)
    # Longer than the scheduler takes to miss a worker, whose message is the better one.
    timeout = 2 * int(cluster.options.timeout) + 1
    collective = load("xgboost.collective.Config")(
        retry=1, timeout=timeout, tracker_timeout=timeout
    )
    with load("xgboost.config_context")(**settings):  # Which the workers have as well.
        training_ = load("xgboost.dask.train")(
            client,
            params,
            matrix,
            coll_cfg=collective,
            **training.options(estimator),
            **more,
        )
    booster: Booster = (await training_)["booster"]
    return booster


def place_rows(
    cluster: Cluster, X: Table, arrays: Sequence[Array], own: Callable[[Any], Any] = output.own_rows
) -> tuple[set[str], list[Any]]:
    """Put the parts of a table and of host arrays on workers, in order and in equal shares.

    `own` is what a worker applies to a part. Return the addresses of the workers that have rows;
    and the table, and a Dask array for each array.
    """
    sizes = partitioned.lengths(X)
    parts = [part for part, n in zip(partitioned.partitions_of(X), sizes, strict=True) if n]
    sizes = [n for n in sizes if n]
    pieces = [partitioned.cut(array, sizes) for array in arrays]
    workers = list(cluster.workers())
    shares = np.array_split(np.arange(len(parts)), len(workers))
    where = [worker for worker, share in zip(workers, shares, strict=True) for _ in share]
    # A worker that has gone must not be waited for.
    make, elsewhere = load("dask.delayed")(own, pure=False), {"allow_other_workers": True}
    held = [
        cluster.client.compute(make(part), workers=[worker], **elsewhere)
        for part, worker in zip(parts, where, strict=True)
    ]
    if hasattr(X, "columns"):
        table = load("dask.dataframe.from_delayed")(held, meta=X._meta, verify_meta=False)
    else:
        table = _join(held, [(n, X.shape[1]) for n in sizes], X)
    columns: list[Any] = []
    for array, cuts in zip(arrays, pieces, strict=True):
        sent = [
            cluster.client.scatter(cut, workers=[worker], hash=False)
            for cut, worker in zip(cuts, where, strict=True)
            if cut is not None
        ]
        columns.append(_join(sent, [(n,) for n in sizes], array) if sent else None)
    return {*where}, [table, *columns]


def _join(parts: Sequence[Any], shapes: Sequence[tuple[int, ...]], like: Array) -> Any:
    """Return a Dask array of blocks that workers hold."""
    make, delayed = load("dask.array.from_delayed"), load("dask.delayed")
    meta: Array = getattr(like, "_meta", like)
    pairs = zip(parts, shapes, strict=True)
    return load("dask.array.concatenate")(
        [make(delayed(part), shape, dtype=like.dtype, meta=meta[:0]) for part, shape in pairs]
    )


def share_categories(X: Table) -> Any:
    """Return a Dask frame whose text columns have the same categories in every partition."""
    meta = output.categorize(X._meta)
    names = [name for name, dtype in meta.dtypes.items() if str(dtype) == "category"]
    if not names:
        return X
    categories = partitioned.compute_each(_categories, X, names)
    kinds = {
        name: pd.CategoricalDtype(pd.Index(_union([part[name] for part in categories])))
        for name in names
    }
    return X.map_partitions(_as, kinds, meta=_as(X._meta, kinds))


def _categories(X: Table, names: Names) -> dict[Any, np.ndarray]:
    coded = output.categorize(X[names])
    return {name: encode.host_index(coded[name].cat.categories) for name in names}


def _union(categories: Sequence[np.ndarray]) -> np.ndarray:
    first = categories[0]
    if all(np.array_equal(each, first) for each in categories):
        return first
    return np.unique(np.concatenate(categories))


def _as(X: Table, kinds: dict[Any, pd.CategoricalDtype]) -> Any:
    return output.own_rows(X).astype(kinds)
