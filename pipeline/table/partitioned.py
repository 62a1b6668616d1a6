"""Rows of partitions, or of a sparse matrix, as one table if they fit in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy.sparse import vstack

from pipeline.distributed import retry
from pipeline.distributed.cluster import active
from pipeline.errors import Reason, Unsupported
from pipeline.optional import load
from pipeline.system import devices, hardware
from pipeline.table import frames
from pipeline.table.target import check_rows
from pipeline.trace import DENSIFY, record
from pipeline.typing import Array, Table

_NBYTES = "_pipeline_nbytes"
"""Attribute of a Dask array of sparse rows: the bytes that were counted."""

COPIES = 2
"""The partitions, and the table that is made of them, are in memory at once."""


def partitions_of(X: Table) -> list[Any]:
    """Return a task for each partition of a Dask frame, or block of rows of a Dask array."""
    return list(X.to_delayed() if hasattr(X, "columns") else X.to_delayed().ravel())


def lengths(X: Table) -> list[int]:
    """Return the rows of each partition; a file is asked for one column, an array may know them."""
    if hasattr(X, "columns"):
        X = X[list(X.columns[:1])]
    elif not np.isnan(X.chunks[0]).any():
        return [int(n) for n in X.chunks[0]]
    return list(compute([load("dask.delayed")(len)(part) for part in partitions_of(X)]))


def compute(tasks: Sequence[Any]) -> Sequence[Any]:
    """Return the results of tasks, or of Dask frames: of the active cluster, or of threads."""
    cluster = active()
    if cluster is None:
        return tuple(load("dask.compute")(*tasks))
    return retry.gather(cluster, cluster.client.compute(list(tasks)))


def compute_each(function: Callable[..., Any], X: Table, *shared: Any) -> list[Any]:
    """Return the results of a function for every partition; what all of them need is sent once."""
    cluster = active()
    if cluster is not None and shared:
        shared = tuple(cluster.client.scatter(list(shared), broadcast=True, hash=False))
    task = load("dask.delayed")(function, pure=False)
    return list(compute([task(part, *shared) for part in partitions_of(X)]))


def fits(X: Table) -> tuple[bool, str]:
    """Return whether one process can hold all partitions as one table, and the sizes in words."""
    need, free = total_nbytes(X), room(frames.device_of(X))
    return COPIES * need <= free, f"{need:,} bytes of rows, {free:,} free"


def total_nbytes(X: Table) -> int:
    """Return the bytes of all partitions; those of frames and of sparse rows are made for it."""
    if not (hasattr(X, "columns") or frames.is_sparse(X) or np.isnan(X.nbytes)):
        return int(X.nbytes)
    known: dict[str, int] = X.__dict__ if frames.is_sparse(X) else {}
    if _NBYTES not in known:  # it is asked before rows are gathered, and then again
        known[_NBYTES] = sum(compute_each(frames.nbytes, X))
    return known[_NBYTES]


def gather(X: Table, step: str) -> tuple[Any, str]:
    """Return all partitions as one table for a step, and what there is to say about it.

    `Unsupported` says that it does not fit in the memory of this process.
    """
    enough, sizes = fits(X)
    if not enough:
        why = (
            f"it learns from all rows in one process: {sizes}, and memory for {COPIES} times the "
            "rows is needed"
        )
        suggestion = "use an XGBoost estimator, which trains on partitions, or fewer rows"
        raise Unsupported(Reason(step, why, suggestion))
    (whole,) = compute([X])
    return whole, f"gathered to one process: {sizes}"


def room(device: str) -> int:
    """Return the bytes that are free for a table on a device."""
    if device == "cuda":
        return devices.free_memory()
    return hardware.memory()[1]


def cut(array: Array, rows: Sequence[int]) -> list[Any]:
    """Return the entries of each partition of so many rows; None for each where there are none.

    `DataError` says that the array has another length than the partitions together.
    """
    if array is None:
        return [None] * len(rows)
    check_rows(array, sum(rows))
    return np.split(array, np.cumsum(rows)[:-1])


def concatenate(results: Sequence[Any]) -> Any:
    """Return the results of the partitions, one after the other, as the result for all rows.

    >>> concatenate([(np.zeros(1), np.ones(1)), (np.zeros(2), np.ones(2))])[1].tolist()
    [1.0, 1.0, 1.0]
    """
    first = results[0]
    if isinstance(first, tuple | list):
        return type(first)(concatenate(group) for group in zip(*results, strict=True))
    if frames.is_frame(first):
        module = load(frames.library(first))
        return module.concat(list(results))
    if frames.is_sparse(first):
        return vstack([frames.to_device(result, "cpu") for result in results], format="csr")
    return np.concatenate([frames.to_device(result, "cpu") for result in results])


@contextmanager
def densifying(
    shape: tuple[int, int], dtype: Any, device: str, step: str, why: str
) -> Iterator[None]:
    """Make sparse rows, of a shape once dense, dense inside the block, as an event of the log.

    `Unsupported` says that they do not fit in the memory that is free.
    """
    need, free = shape[0] * shape[1] * np.dtype(dtype).itemsize, room(device)
    if COPIES * need > free:
        raise Unsupported(
            Reason(
                step,
                f"{why}; as a dense matrix, {shape[0]:,} rows of {shape[1]:,} columns take "
                f"{need:,} bytes, and {COPIES} times that must be free: {free:,} bytes are free",
                "group rare categories (min_frequency, max_categories), use device='cpu', or use "
                "an estimator that supports sparse rows, such as LogisticRegression",
            )
        )
    with record(step, DENSIFY, device, f"{why}: {need:,} bytes"):
        yield


def densify(X: Table, step: str, why: str, order: str = "C") -> Any:
    """Return sparse rows as a dense matrix where it fits, as an event of the log.

    >>> from scipy.sparse import csr_matrix
    >>> densify(csr_matrix([[0.0, 2.0]]), "tree", "it takes no sparse rows").tolist()
    [[0.0, 2.0]]
    """
    with densifying(X.shape, X.dtype, frames.device_of(X), step, why):
        return X.toarray(order)
