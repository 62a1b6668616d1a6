"""What a fit will do with the partitions of a table, step by step, without computing any."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pipeline.backends import incremental
from pipeline.backends.base import find_last_dtype
from pipeline.backends.cpu import is_xgboost
from pipeline.backends.cuml import multi_gpu
from pipeline.backends.cuml.multi_gpu import MULTI_GPU
from pipeline.backends.gpu_rules import public_name
from pipeline.backends.text_input import reads_text
from pipeline.backends.xgboost import distributed
from pipeline.compile.compile import Kind, compile_step, kind_of_step
from pipeline.compile.rules import columns_read
from pipeline.compile.spec import Op, columns_of
from pipeline.distributed.cluster import active
from pipeline.system import devices
from pipeline.table import frames, partitioned
from pipeline.table.output import container
from pipeline.typing import Estimator, Table

IN_TURN = "one partition after another"


def forecast(ops: Sequence[Op], device: str, X: Table, dtype: str) -> dict[str, str]:
    """Return for each step what a fit will do with the partitions, by the step's name.

    No partition of X, a Dask frame or array, is computed. `dtype` is that of the matrix that
    preprocessing returns.
    """
    first, final = ops[0], ops[-1]
    if reads_text(first.estimator) and not first.on_blocks:
        return {first.path: "not supported: text must not have partitions; pass X.compute()"}
    framed = hasattr(X, "columns")
    rows, columns = find_row_count(X), X.shape[1]
    dtypes = X.dtypes if framed else [X.dtype] * columns
    # Of a row; a text counts as its pointer.
    n_bytes = sum(int(getattr(dtype, "itemsize", 8)) for dtype in dtypes)
    if framed:
        known = replace(first.takes, device="cpu", **columns_of(X._meta))
        read = columns_read(compile_step(first.estimator, first.path, known))
        columns = columns if read is None else len(read)
    last = find_last_dtype(dtype, device, final.estimator, final.rule)
    said: dict[str, str] = {}
    gathered = False
    for i, op in enumerate(ops):
        if kind_of_step(op.estimator) is Kind.LABELS:
            continue
        if gathered:
            said[op.path] = "in the process that gathered the rows"
        elif op.on_blocks and not any(place.reasons for place in op.placements):
            said[op.path] = "the statistics of the partitions are merged"
            narrow = i >= len(ops) - 2 and last == "float32"
            n_bytes, framed = columns * (4 if narrow else 8), container(op.estimator) != "default"
        else:
            where = "cpu" if op.refused else device
            size = None if rows is None else rows * n_bytes
            said[op.path] = _forecast_model(op.estimator, size, where, framed=framed)
            gathered = not said[op.path].startswith(IN_TURN)
    return said


def find_row_count(X: Table) -> int | None:
    """Return the number of rows; None if partitions would have to be computed for it."""
    if not hasattr(X, "columns"):
        known = not frames.is_sparse(X) and not np.isnan(X.shape[0])
        return int(X.shape[0]) if known else None
    if not len(X.columns):
        return None
    # Dask knows the number itself, from the files' footers, or returns a task.
    size = X[X.columns[0]].size
    rows = getattr(getattr(size.simplify(), "expr", None), "value", None)
    return int(rows) if isinstance(rows, int | np.integer) else None


def _forecast_model(part: Estimator, size: int | None, device: str, *, framed: bool) -> str:
    """Return how an estimator learns from partitions of so many bytes, as its rule will decide."""
    boosts = is_xgboost(part) and distributed.trains_distributed(part, {})
    if boosts and active() is not None:
        return "trained by all workers of the cluster"
    if device == "cuda" and public_name(part) in MULTI_GPU and multi_gpu.has_several_gpus():
        path = MULTI_GPU[public_name(part)].path
        return f"trained by all GPUs of the cluster ({path}) if the rows allow it"
    free = None if device == "cuda" and devices.obstacle() else partitioned.room(device)
    need = "the number of rows is not known before the run"
    need = need if size is None else f"about {size:,} bytes of rows"
    left = f"{free:,} free" if free is not None else "the free memory of the GPU is not known"
    streams = device == "cpu" and incremental.trains_incrementally(part, {})
    otherwise = "" if framed else "external memory" if boosts else IN_TURN * streams
    if size is None or free is None:
        instead = otherwise or "an error"
        return f"gathered to one process if twice the rows fit, else {instead} ({need}, {left})"
    if partitioned.COPIES * size <= free:
        return f"gathered to one process: {need}, {left}"
    if otherwise:
        return f"{otherwise}: {need}, {left}"
    why = f"one process needs {partitioned.COPIES} times the size of all rows"
    return f"not enough memory: {why} ({need}, {left})"
