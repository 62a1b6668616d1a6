"""cuML on the partitions of a table: one model, trained by all GPUs of a cluster together."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from pipeline import frames, gathering
from pipeline.clusters import Cluster, active
from pipeline.faults import watched
from pipeline.optional import available, load
from pipeline.rules import least_squares, spread
from pipeline.rules.cuml_spread import SPREAD, Learnt, Spread
from pipeline.rules.model import Model
from pipeline.rules.tables import CUML, public_name
from pipeline.values import is_finite

NEEDS = ("raft_dask", "dask_cudf")
"""Packages without which cuml.dask cannot be imported."""

CALLS = ("fit", "fit_transform", "fit_predict")


def path_of(spec: Any) -> str:
    """Return the dotted name of the class of cuml.dask for an estimator that has one."""
    return SPREAD[public_name(spec)].path


def several_gpus() -> bool:
    """Return whether there is a cluster whose workers have a GPU each, and several of them."""
    cluster = active()
    return cluster is not None and gpus(cluster) > 1


def gpus(cluster: Cluster) -> int:
    """Return the number of workers, if each has a GPU that no other one has; else 0."""
    found = cluster.client.sync(_devices, cluster)
    return len(found) if len(set(found.values())) == len(cluster.workers()) else 0


async def _devices(cluster: Cluster) -> dict[str, str]:
    # Of two workers on one GPU, NCCL would wait for ever; one that has none is left out.
    asked = cluster.client.run(_device, on_error="ignore")
    try:
        return await asyncio.wait_for(asked, cluster.options.timeout)
    except TimeoutError:
        return {}


def _device() -> str:
    runtime = frames.array_module("cuda").cuda.runtime
    return str(runtime.getDeviceProperties(runtime.getDevice())["uuid"])


def obstacles(
    spec: Any, taken: Mapping[str, Any], table: tuple[Any, Any], params: Mapping[str, Any]
) -> list[str]:
    """Return why a fit cannot be shared by several GPUs.

    Parameters
    ----------
    spec : estimator
        Of scikit-learn.
    taken : mapping
        Parameters of cuML's class.
    table : tuple of X and y
        Partitions, and the target of all rows on the host.
    params : mapping
        Parameters of `fit`.
    """
    found = SPREAD.get(public_name(spec))
    if found is None:
        return [f"cuml.dask has no {type(spec).__name__} that makes one model of all rows"]
    missing = [f"{package} is not installed" for package in NEEDS if not available(package)]
    return [
        *missing,
        *_of_parameters(found, taken, params),
        *_of_rows(found, taken, table[0]),
        *_of_target(found, table[1]),
    ]


def _of_parameters(
    found: Spread, taken: Mapping[str, Any], params: Mapping[str, Any]
) -> Iterator[str]:
    """Yield what the class for several GPUs would swallow, or fail at."""
    for name, value in taken.items():
        if name not in found.takes or not found.takes[name](value):
            yield f"{found.path} does not honour {name}={value!r}"
    for name, value in params.items():
        if value is not None and not (name == "sample_weight" and found.weights):
            yield f"the fit of {found.path} takes no {name}"


def _of_rows(found: Spread, taken: Mapping[str, Any], X: Any) -> Iterator[str]:
    if hasattr(X, "columns") or frames.is_sparse(X._meta) or X.dtype.kind != "f":
        yield f"{found.path} takes a dense matrix of floats"
    elif X.shape[1] < max(found.columns, _components(taken)):
        yield f"{found.path} does not take {X.shape[1]} column(s)"
    elif X.npartitions < 2:
        yield "there is one partition"


def _components(taken: Mapping[str, Any]) -> int:
    asked = taken.get("n_components")
    return asked if isinstance(asked, int) else 0


def _of_target(found: Spread, y: Any) -> Iterator[str]:
    if not found.y:
        return
    if y is None or (np.ndim(y) == 2 and np.shape(y)[1] > 1):
        yield f"{found.path} learns one target"
    elif found.y in ("codes", "numbers") and len(np.unique(y)) < 2:
        yield f"{found.path} needs two classes"


def train(spec: Any, taken: Mapping[str, Any], X: Any, y: Any, weights: Any = None) -> Any:
    """Return the model of all rows that the workers of the active cluster train together.

    Parameters
    ----------
    spec : estimator
        Of scikit-learn, without `obstacles`.
    taken : mapping
        Parameters of cuML's class.
    X : dask.array.Array, shape (n_rows, n_columns)
    y : numpy.ndarray, shape (n_rows,), or None
    weights : array-like, shape (n_rows,), optional

    Returns
    -------
    estimator of cuML
        In this process; None if there are missing values.

    Raises
    ------
    DataError
        `y` has another length than X.
    """
    cluster = active()
    assert cluster is not None
    found = SPREAD[public_name(spec)]
    cutoff = CUML[public_name(spec)].cutoff
    dtype = np.dtype("float64") if cutoff else X.dtype
    rows = gathering.lengths(X)
    gathering.check_rows(y, sum(rows))
    classes, target = _target(found, dtype, y)
    weights = None if weights is None else np.asarray(weights, dtype)
    table, *columns = spread.distribute(cluster, X, rows, [target, weights])
    if any(gathering.each(has_missing, table)):
        return None
    factor = 1.0
    if cutoff:
        centred = taken["fit_intercept"]
        table, factor = least_squares.sized_together(table, tol=spec.tol, centred=centred)
    given = (table, *(_uploaded(column, table) for column in columns), classes)
    made = watched(cluster, lambda: asyncio.to_thread(_fit, cluster, found, taken, given))
    model = made.get_combined_model()
    if cutoff:
        model.coef_ = model.coef_ * factor
    found.supply(model, Learnt(made, table, classes))
    return model


def _target(found: Spread, dtype: np.dtype[Any], y: Any) -> tuple[Any, Any]:
    """Return the classes and what stands for y; classes of text have no place on a GPU."""
    if not found.y:
        return None, None
    y = np.ravel(y)
    if found.y == "values":
        return None, y.astype(dtype)
    classes, codes = np.unique(y, return_inverse=True)
    return classes, codes.astype("int32" if found.y == "codes" else dtype)


def _uploaded(column: Any, table: Any) -> Any:
    if column is None:
        return None
    device = frames.device_of(table)
    meta = frames.array_module(device).empty(0, column.dtype)
    return column.map_blocks(frames.to_device, device, dtype=column.dtype, meta=meta)


def _fit(
    cluster: Cluster, found: Spread, taken: Mapping[str, Any], given: tuple[Any, Any, Any, Any]
) -> Any:
    table, column, weights, classes = given
    made = load(found.path)(client=cluster.client, **taken)
    if column is None:
        return made.fit(table) if weights is None else made.fit(table, sample_weight=weights)
    known = {"classes": np.arange(len(classes))} if found.told else {}
    return made.fit(table, column, **known)


def transformed(model: Model, X: Any) -> Any:
    """Return what a fitted model makes of partitions, as partitions on their device."""
    row = frames.array_module(frames.device_of(X)).zeros((1, X.shape[1]), X.dtype)
    (width,) = model.call("transform", row).shape[1:]
    meta = X._meta[:0, :0]
    return X.map_blocks(
        _transformed, model, dtype=X.dtype, chunks=(X.chunks[0], (width,)), meta=meta
    )


def _transformed(X: Any, model: Model) -> Any:
    return model.call("transform", X)


def has_missing(X: Any) -> bool:
    """Return whether a matrix of the host or of a GPU has missing values."""
    xp = frames.array_module(frames.device_of(X))
    values = X.data if frames.is_sparse(X) else X
    return not is_finite(values, xp) and bool(xp.isnan(values).any())
