"""What a fit will do with the partitions of a table, step by step, without making a row of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pipeline.backends import incremental
from pipeline.backends.base import find_last_dtype
from pipeline.backends.cuml import multi_gpu
from pipeline.backends.cuml.multi_gpu import MULTI_GPU
from pipeline.backends.cuml.tables import public_name
from pipeline.backends.xgboost import distributed
from pipeline.data import frames, partitioned
from pipeline.data.output import container
from pipeline.distributed.cluster import active
from pipeline.planning.classify import Kind, Node
from pipeline.preprocessing.engine.tree import columns_read
from pipeline.system import devices
from pipeline.typing import Table

IN_TURN = "one partition after another"


def forecast(nodes: Sequence[Node], device: str, X: Table, dtype: str) -> dict[str, str]:
    """Return for each step what a fit will do with the partitions, by the step's name.

    Parameters
    ----------
    nodes : sequence of Node
        The steps on the device.
    device : {"cpu", "cuda"}
    X : Dask frame or array
        No partition of it is made.
    dtype : {"auto", "float32", "float64"}
        Of the matrix that preprocessing makes.
    """
    if nodes[0].reads_text:
        return {nodes[0].path: "refused: texts are read in one piece; pass X.compute()"}
    framed = hasattr(X, "columns")
    rows, n_bytes = find_row_count(X), _row_bytes(X)
    read = columns_read(nodes[0].estimator, X._meta) if framed else None
    columns = X.shape[1] if read is None else len(read)
    last = find_last_dtype(dtype, device, nodes[-1].estimator, nodes[-1].rule)
    said: dict[str, str] = {}
    gathered = False
    for i, node in enumerate(nodes):
        if node.kind is Kind.LABELS:
            continue
        if gathered:
            said[node.path] = "in the process that the rows were gathered in"
        elif node.runs_on_blocks and not any(place.reasons for place in node.placements):
            said[node.path] = "the statistics of the partitions are merged"
            narrow = i >= len(nodes) - 2 and last == "float32"
            n_bytes, framed = columns * (4 if narrow else 8), container(node.estimator) != "default"
        else:
            where = "cpu" if node.reasons else device
            size = None if rows is None else rows * n_bytes
            said[node.path] = _forecast_model(node, size, where, framed=framed)
            gathered = not said[node.path].startswith(IN_TURN)
    return said


def find_row_count(X: Table) -> int | None:
    """Return the rows of partitions; None where some would have to be made for it."""
    if not hasattr(X, "columns"):
        known = not frames.is_sparse(X) and not np.isnan(X.shape[0])
        return int(X.shape[0]) if known else None
    if not len(X.columns):
        return None
    # Dask answers the number itself, from the files' footers, or is left with a task.
    size = X[X.columns[0]].size
    rows = getattr(getattr(size.simplify(), "expr", None), "value", None)
    return int(rows) if isinstance(rows, int | np.integer) else None


def _row_bytes(X: Table) -> int:
    """Return the bytes of a row; a text counts as its pointer."""
    dtypes = X.dtypes if hasattr(X, "columns") else [X.dtype] * X.shape[1]
    return sum(int(getattr(dtype, "itemsize", 8)) for dtype in dtypes)


def _forecast_model(node: Node, size: int | None, device: str, *, framed: bool) -> str:
    """Return how an estimator learns from partitions of so many bytes, as its rule will decide."""
    part = node.estimator
    boosts = node.kind is Kind.XGBOOST and distributed.trains_distributed(part, {})
    if boosts and active() is not None:
        return "trained by all workers of the cluster"
    if device == "cuda" and public_name(part) in MULTI_GPU and multi_gpu.has_several_gpus():
        path = MULTI_GPU[public_name(part)].path
        return f"trained by all GPUs of the cluster ({path}) if the rows allow"
    free = None if device == "cuda" and devices.obstacle() else partitioned.room(device)
    need = "the number of rows is not known before the run"
    need = need if size is None else f"about {size:,} bytes of rows"
    left = f"{free:,} free" if free is not None else "the free memory of the GPU is not known"
    streams = device == "cpu" and incremental.trains_incrementally(part, {})
    otherwise = "" if framed else "external memory" if boosts else IN_TURN * streams
    if size is None or free is None:
        instead = otherwise or "refused"
        return f"gathered to one process if twice the rows fit, else {instead}: {need}, {left}"
    if partitioned.COPIES * size <= free:
        return f"gathered to one process: {need}, {left}"
    if otherwise:
        return f"{otherwise}: {need}, {left}"
    why = f"it learns from all rows in one process: {need}, {left}"
    return f"refused: {why}, and {partitioned.COPIES} times the rows needed"
