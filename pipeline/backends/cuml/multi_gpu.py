"""cuML on the partitions of a table: one model, trained by all GPUs of a cluster together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from pipeline.backends.base import Model
from pipeline.backends.gpu_rules import CUML, MultiGpuClass, public_name
from pipeline.backends.xgboost import distributed
from pipeline.distributed.cluster import Cluster, active
from pipeline.distributed.retry import watch
from pipeline.optional import available, load
from pipeline.table import frames, partitioned
from pipeline.table.frames import is_finite
from pipeline.typing import Column, Estimator, ReadParams, Table, Target

NEEDS = ("raft_dask", "dask_cudf")
"""Packages without which cuml.dask cannot be imported."""

CALLS = ("fit", "fit_transform", "fit_predict")


def has_several_gpus() -> bool:
    """Return whether there is a cluster whose workers have a GPU each, and several of them."""
    cluster = active()
    return cluster is not None and count_gpus(cluster) > 1


def count_gpus(cluster: Cluster) -> int:
    """Return the number of workers, if each has a GPU that no other one has; else 0."""
    devices = cluster.client.sync(_devices, cluster)
    return len(devices) if len(set(devices.values())) == len(cluster.workers()) else 0


async def _devices(cluster: Cluster) -> dict[str, str]:
    # Of two workers on one GPU, NCCL would wait for ever; one that has none is left out.
    devices = cluster.client.run(_device, on_error="ignore")
    try:
        return await asyncio.wait_for(devices, cluster.options.timeout)
    except TimeoutError:
        return {}


def _device() -> str:
    runtime = load("cupy").cuda.runtime
    return str(runtime.getDeviceProperties(runtime.getDevice())["uuid"])


def find_unsupported_reasons(
    estimator: Estimator, taken: ReadParams, table: tuple[Any, Any], params: ReadParams
) -> list[str]:
    """Return why a fit cannot be shared by several GPUs.

    `taken` are parameters of cuML's class, `table` partitions and the target of all rows on the
    host, and `params` those of `fit`.
    """
    row = MULTI_GPU.get(public_name(estimator))
    if row is None:
        return [f"cuml.dask has no {type(estimator).__name__} that trains one model on all rows"]
    missing = [f"{package} is not installed" for package in NEEDS if not available(package)]
    unsupported = [
        f"{row.path} does not support {name}={value!r}"
        for name, value in taken.items()
        if name not in row.supported_params or not row.supported_params[name](value)
    ]
    given = [name for name, value in params.items() if value is not None]
    refused = [f"the fit of {row.path} does not support {name}" for name in given]
    return [*missing, *unsupported, *refused, *_of_table(row, taken, *table)]


def _of_table(row: MultiGpuClass, taken: ReadParams, X: Table, y: Target) -> Iterator[str]:
    if hasattr(X, "columns") or frames.is_sparse(X._meta) or X.dtype.kind != "f":
        yield f"{row.path} needs a dense matrix of floats"
    elif X.shape[1] < max(row.columns, taken.get("n_components") or 0):
        yield f"{row.path} does not support {X.shape[1]} column(s)"
    elif X.npartitions < 2:
        yield "X has only one partition"
    if not row.y:
        return
    if y is None or (np.ndim(y) == 2 and np.shape(y)[1] > 1):
        yield f"{row.path} supports one target"
    elif row.y != "values" and len(np.unique(y)) < 2:
        yield f"{row.path} needs two classes"


def train_on_gpus(estimator: Estimator, taken: ReadParams, X: Table, y: Target) -> Any:
    """Return cuML's model of all rows that the workers of the active cluster train together.

    None if there are missing values. The estimator is one without `find_unsupported_reasons`.
    """
    cluster = active()
    assert cluster is not None
    row = MULTI_GPU[public_name(estimator)]
    classes, target = _target(row, X.dtype, y)
    workers, (table, column) = distributed.place_rows(cluster, X, [target])
    if any(partitioned.compute_each(has_missing, table)):
        return None
    given = (table,) if column is None else (table, _upload(column, table))

    def fit() -> Any:  # on workers, as of forests already the constructor
        return load(row.path)(client=cluster.client, **taken).fit(*given)

    trained = watch(cluster, lambda: asyncio.to_thread(fit), workers)
    model = trained.get_combined_model()
    if classes is not None:
        model.classes_ = classes
    for name in row.lacks:
        setattr(model, name, LACKING[name](model, trained, table))
    return model


def _target(row: MultiGpuClass, dtype: np.dtype[Any], y: Target) -> tuple[Any, Any]:
    """Return the classes and what stands for y; classes of text have no place on a GPU."""
    if not row.y:
        return None, None
    y = np.ravel(y)
    if row.y == "values":
        return None, y.astype(dtype)
    classes, codes = np.unique(y, return_inverse=True)
    return classes, codes.astype("int32" if row.y == "codes" else dtype)


def _upload(column: Column, table: Table) -> Any:
    device = frames.device_of(table)
    meta = frames.xp(table._meta).empty(0, column.dtype)
    return column.map_blocks(frames.to_device, device, dtype=column.dtype, meta=meta)


def transform_partitions(model: Model, X: Table) -> Any:
    """Return partitions transformed by a fitted model, as partitions on their device."""
    row = frames.xp(X._meta).zeros((1, X.shape[1]), X.dtype)
    (width,) = model.call("transform", row).shape[1:]
    meta = X._meta[:0, :0]
    transform, chunks = partial(model.call, "transform"), (X.chunks[0], (width,))
    return X.map_blocks(transform, dtype=X.dtype, chunks=chunks, meta=meta)


def has_missing(X: Table) -> bool:
    """Return whether a matrix of the host or of a GPU has missing values."""
    xp = frames.xp(X)
    values = X.data if frames.is_sparse(X) else X
    return not is_finite(values, xp) and bool(xp.isnan(values).any())


def _label(model: Estimator, trained: Estimator, X: Table) -> Any:
    labels = partitioned.concatenate(partitioned.compute_each(_labelled, X, model))
    return frames.to_device(labels, frames.device_of(X))


def _labelled(X: Table, model: Estimator) -> Any:
    return frames.to_device(model.predict(X), "cpu")


LACKING: Mapping[str, Callable[[Estimator, Estimator, Table], Any]] = {
    "inertia_": lambda model, trained, X: float(trained.inertia_),
    "labels_": _label,
    "n_iter_": lambda model, trained, X: None,  # a closed form takes no steps
    "n_samples_": lambda model, trained, X: X.shape[0],
}
"""What a combined model lacks -> from it, the fitted estimator of cuml.dask and the partitions."""

MULTI_GPU = {
    name: replace(row.multi_gpu, path=row.twin.replace("cuml", "cuml.dask", 1))
    for name, row in CUML.items()
    if row.multi_gpu
}
"""Name of the estimator -> how a class of cuml.dask stands in, in the order of the names."""
