"""XGBoost on the partitions of a table: trained by all workers together.

Not by `xgboost.dask`: it keeps the tracker in the scheduler, and a worker's last trees from us.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pipeline.backends import pool
from pipeline.backends.incremental import Batch
from pipeline.backends.xgboost import checkpoints, handover, tracker, training
from pipeline.data import encode, output, partitioned
from pipeline.distributed.cluster import Cluster, active
from pipeline.distributed.retry import watch
from pipeline.optional import load
from pipeline.typing import Array, Estimator, Names, Params, Table

if TYPE_CHECKING:
    from distributed import Client, Future
    from xgboost import Booster, DMatrix, XGBModel

ESTIMATORS = {"XGBClassifier", "XGBRegressor", "XGBRFClassifier", "XGBRFRegressor"}
"""Classes of XGBoost that can learn from partitions."""

SUPPORTED_PARAMS = {"sample_weight"}
"""Parameters of `fit` that are cut as the rows are."""


@dataclass(frozen=True)
class WorkerRows:
    """What one worker trains on.

    Parameters
    ----------
    worker : str
        Its address.
    parts : list of distributed.Future
        Partitions that have rows, in order, in its memory.
    rows : list of int
        Of each.
    columns : list of list of distributed.Future
        Each array that goes with the table, cut as the partitions are; empty for None.
    """

    worker: str
    parts: list[Future]
    rows: list[int]
    columns: list[list[Future]]


def trains_distributed(estimator: Estimator, params: Params) -> bool:
    """Return whether an estimator with these parameters of `fit` can train on partitions."""
    given = {name for name, value in params.items() if value is not None}
    return (
        type(estimator).__name__ in ESTIMATORS
        and estimator.booster != "gblinear"
        and given <= SUPPORTED_PARAMS
    )


def train_on_workers(
    estimator: XGBModel, X: Table, y: np.ndarray, sample_weight: Array = None
) -> Booster:
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
    X = share_categories(X) if hasattr(X, "columns") else X
    shares = place_rows(cluster, X, [y, sample_weight])
    digest = partial(checkpoints.hash_rows, X, y, sample_weight)
    kept = checkpoints.begin(estimator, {"sample_weight": sample_weight}, digest)
    params = training.find_params(estimator, y)
    with checkpoints.continue_training(estimator, kept, checkpoints.hold) as more:
        work = partial(_train, cluster, estimator, params, shares, kept, more)
        return watch(cluster, work, {share.worker for share in shares})


async def _train(
    cluster: Cluster,
    estimator: XGBModel,
    params: Params,
    shares: Sequence[WorkerRows],
    kept: checkpoints.Checkpoints | None,
    more: Params,
) -> Booster:
    client = cluster.client
    workers = [share.worker for share in shares]
    # Longer than the scheduler takes to miss a worker, which is the better message.
    patience = 2 * int(cluster.options.timeout) + 1
    async with (
        load("distributed.MultiLock")(workers, client),  # Two trainings would wait for each other.
        checkpoints.collect(client, workers, kept),
        tracker.run_tracker(client, workers[0], len(workers), patience) as address,
    ):
        meeting = {**address, "dmlc_timeout": patience, "dmlc_retry": 1}
        futures = [
            client.submit(
                _train_share,
                estimator,
                params,
                meeting | {"dmlc_task_id": f"{number:06}"},
                each.parts,
                *each.columns,
                workers=[each.worker],
                pure=False,
                **more,
            )
            for number, each in enumerate(shares)
        ]
        boosters = await client.gather(futures, asynchronous=True)
    return next(booster for booster in boosters if booster is not None)


def _train_share(
    estimator: XGBModel,
    params: Params,
    meeting: dict[str, Any],
    parts: Sequence[Table],
    labels: Sequence[np.ndarray],
    weights: Sequence[np.ndarray],
    xgb_model: Booster | None = None,
) -> Booster | None:
    """Train with the other workers; of all of them, the first returns the booster."""
    pool.use_memory_pool(estimator.device)
    threads = params.get("nthread") or params.get("n_jobs")
    threads = threads or load("distributed.get_worker")().state.nthreads
    collective = load("xgboost.collective")
    with collective.CommunicatorContext(**meeting):
        matrix = _make_matrix(estimator, parts, labels, weights, threads)
        params = params | {"nthread": threads, "n_jobs": threads}
        booster = training.train_booster(estimator, params, matrix, xgb_model)
        return booster if collective.get_rank() == 0 else None


def _make_matrix(
    estimator: XGBModel,
    parts: Sequence[Table],
    labels: Sequence[np.ndarray],
    weights: Sequence[np.ndarray],
    threads: int,
) -> DMatrix:
    if estimator.tree_method in (None, "auto", "hist"):
        batches = [*map(_batch, parts, labels, weights or repeat(None))]
        matrix: DMatrix = load("xgboost.QuantileDMatrix")(
            training.iterate(batches, estimator),
            max_bin=estimator.max_bin,
            missing=estimator.missing,
            enable_categorical=estimator.enable_categorical,
            nthread=threads,
        )
        return matrix
    return handover.make_matrix(
        estimator,
        partitioned.concatenate(parts),
        label=np.concatenate(labels),
        weight=np.concatenate(weights) if weights else None,
        feature_weights=estimator.feature_weights,
        nthread=threads,
    )


def _batch(part: Table, y: np.ndarray, weight: np.ndarray | None) -> Batch:
    return Batch(lambda: part, y, weight)


def place_rows(cluster: Cluster, X: Table, arrays: Sequence[Array]) -> list[WorkerRows]:
    """Put each part of a table and of arrays on the worker that will train on it.

    Parameters
    ----------
    cluster : Cluster
    X : Dask frame or array
    arrays : sequence of array of shape (n_rows,) or None
        On the host.

    Returns
    -------
    list of WorkerRows
        Of the workers that have rows.

    Raises
    ------
    DataError
        An array has another length than X.
    """
    rows = partitioned.lengths(X)
    for array in arrays:
        partitioned.check_rows(array, sum(rows))
    kept = [(part, n) for part, n in zip(partitioned.partitions_of(X), rows, strict=True) if n]
    edges = np.cumsum([0, *(n for _, n in kept)])
    workers = cluster.workers()
    numbers = np.array_split(np.arange(len(kept)), len(workers))
    # A task of our own for each: it can be cancelled without what the user keeps.
    own = load("dask.delayed")(output.own_rows, pure=False)
    shares = []
    for worker, mine in zip(workers, numbers, strict=True):
        if not len(mine):
            continue
        # A worker that has gone must not be waited for; then the result is thrown away.
        parts = cluster.client.compute(
            [own(kept[i][0]) for i in mine], workers=[worker], allow_other_workers=True
        )
        cuts = [[] if a is None else [a[edges[i] : edges[i + 1]] for i in mine] for a in arrays]
        columns = [_send(cluster.client, worker, cut) for cut in cuts]
        shares.append(WorkerRows(worker, parts, [kept[i][1] for i in mine], columns))
    return shares


def _send(client: Client, worker: str, arrays: Sequence[np.ndarray]) -> list[Future]:
    futures: list[Future] = client.scatter(arrays, workers=[worker], hash=False) if arrays else []
    return futures


def join_rows(shares: Sequence[WorkerRows], X: Table, arrays: Sequence[Array]) -> list[Any]:
    """Return what workers share as one Dask table, and as one Dask array for each array."""
    sizes = [n for each in shares for n in each.rows]
    parts = [part for each in shares for part in each.parts]
    columns = [
        None
        if array is None
        else _blocks([p for each in shares for p in each.columns[i]], [(n,) for n in sizes], array)
        for i, array in enumerate(arrays)
    ]
    if hasattr(X, "columns"):
        return [load("dask.dataframe.from_delayed")(parts, meta=X._meta), *columns]
    return [_blocks(parts, [(n, X.shape[1]) for n in sizes], X), *columns]


def _blocks(parts: Sequence[Future], shapes: Sequence[tuple[int, ...]], like: Array) -> Any:
    make = load("dask.array.from_delayed")
    delayed = load("dask.delayed")
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
