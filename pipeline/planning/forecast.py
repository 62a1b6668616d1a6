"""What a fit will do with the partitions of a table, step by step, without making a row of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from sklearn.base import OneToOneFeatureMixin
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder

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
from pipeline.preprocessing.engine.tree import columns_read, makes_sparse
from pipeline.system import devices
from pipeline.typing import DType, Estimator, Table

IN_TURN = "one partition after another"
STRING, CODE = 8, 4
"""Bytes that a text takes beside its letters, and of the number that stands for a category."""
INDEX = 4
"""Bytes of the number of a cell's column, and of the end of a row, in CSR."""


@dataclass(frozen=True)
class PartitionRows:
    """The rows that a step is given, as far as they are known before the run.

    Parameters
    ----------
    rows : int or None
        None where only the rows themselves would tell.
    width : int
        Bytes of a row.
    framed : bool
        Whether they are a frame, and no matrix.
    beside : str
        What the bytes leave out.
    unknown : str
        What the rows themselves would tell.
    """

    rows: int | None
    width: int
    framed: bool
    beside: str = ""
    unknown: str = "the number of rows"

    def fits(self, device: str) -> tuple[bool | None, str]:
        """Return whether one process can hold them, None where that is unknown, and the sizes."""
        unknown = device == "cuda" and devices.obstacle()
        free = None if unknown else partitioned.room(device)
        left = f"{free:,} free" if free is not None else "the free memory of the GPU is not known"
        if self.rows is None:
            return None, f"{self.unknown} is not known before the run, {left}"
        need = self.rows * self.width
        enough = None if free is None else partitioned.COPIES * need <= free
        return enough, f"about {need:,} bytes of rows{self.beside}, {left}"


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
    return dict(_forecast_steps(nodes, device, X, dtype))


def _forecast_steps(
    nodes: Sequence[Node], device: str, X: Table, dtype: str
) -> Iterator[tuple[str, str]]:
    table: PartitionRows | None = describe_rows(X)
    sparse = frames.is_sparse(X)
    columns = _count_columns(nodes[0].estimator, X)
    known = find_last_dtype(dtype, device, nodes[-1].estimator, nodes[-1].rule)
    handed_on = "float64" if known == "auto" else known
    for i, node in enumerate(nodes):
        if node.kind is Kind.LABELS:
            continue
        if table is None:
            yield node.path, "in the process that the rows were gathered in"
        elif node.runs_on_blocks and not any(place.reasons for place in node.placements):
            yield node.path, "the statistics of the partitions are merged"
            to_last = i >= len(nodes) - 2
            sparse = makes_sparse(node.estimator, given=sparse)
            kind = handed_on if to_last else "float64"
            csr = sparse and device == "cpu"
            table = _transform_rows(node, table, columns, kind, sparse=csr)
            if sparse and not csr:
                table = replace(table, beside=f", dense in partitions on a GPU,{table.beside}")
        else:
            sentence = _forecast_model(node, table, "cpu" if node.reasons else device)
            yield node.path, sentence
            table = table if sentence.startswith(IN_TURN) else None


def describe_rows(X: Table) -> PartitionRows:
    """Return what is known of a Dask frame or array.

    Its rows are known of tables in memory and of Parquet files that are read without conditions.
    """
    if frames.is_sparse(X):
        return PartitionRows(None, 0, framed=False, unknown="the number of cells")
    if not hasattr(X, "columns"):
        known = not np.isnan(X.shape[0])
        return PartitionRows(
            int(X.shape[0]) if known else None, X.shape[1] * X.dtype.itemsize, framed=False
        )
    widths = [_width(dtype) for dtype in X.dtypes]
    width = sum(STRING if each is None else each for each in widths)
    beside = " and what their texts take" if None in widths else ""
    return PartitionRows(find_row_count(X), width, framed=True, beside=beside)


def _width(dtype: DType) -> int | None:
    """Return the bytes of a value; None for text."""
    if str(dtype) == "category":
        return CODE
    text = str(dtype) in ("object", "str", "string") or not hasattr(dtype, "itemsize")
    return None if text else int(dtype.itemsize)


def find_row_count(X: Table) -> int | None:
    """Return the rows of a Dask frame; None where partitions would have to be made for it."""
    if not len(X.columns):
        return None
    # Dask answers the number itself, from the files' footers, or is left with a task.
    size = X[X.columns[0]].size
    rows = getattr(getattr(size.simplify(), "expr", None), "value", None)
    return int(rows) if isinstance(rows, int | np.integer) else None


def _count_columns(first: Estimator, X: Table) -> int:
    """Return how many columns of a table the first step reads."""
    read = columns_read(first, X._meta) if hasattr(X, "columns") else None
    return int(X.shape[1]) if read is None else len(read)


def _transform_rows(
    node: Node, table: PartitionRows, columns: int, dtype: str, *, sparse: bool
) -> PartitionRows:
    """Return what a transformer makes: as many columns as it reads, as far as is known.

    Of sparse rows, as many cells: one for each column that is one-hot encoded.
    """
    inside = [leaf for _, leaf in node.leaves if not isinstance(leaf, str)]
    width = columns * np.dtype(dtype).itemsize
    if sparse:
        one_each: tuple[type, ...] = (OneToOneFeatureMixin, OneHotEncoder, KBinsDiscretizer)
        what, width = "cells in a row as columns", width + (columns + 1) * INDEX
    else:
        one_each, what = (OneToOneFeatureMixin,), "columns as"
    same = all(isinstance(leaf, one_each) for leaf in inside)
    beside = " as CSR" * sparse + ("" if same else f" if there are as many {what} before")
    return replace(table, width=width, beside=beside, framed=container(node.estimator) != "default")


def _forecast_model(node: Node, table: PartitionRows, device: str) -> str:
    """Return how an estimator learns from partitions, as its rule will decide."""
    part = node.estimator
    boosts = node.kind is Kind.XGBOOST and distributed.trains_distributed(part, {})
    if boosts and active() is not None:
        return "trained by all workers of the cluster"
    if device == "cuda" and public_name(part) in MULTI_GPU and multi_gpu.has_several_gpus():
        path = MULTI_GPU[public_name(part)].path
        return f"trained by all GPUs of the cluster ({path}) if the rows allow"
    enough, sizes = table.fits(device)
    streams = device == "cpu" and incremental.trains_incrementally(part, {})
    otherwise = "" if table.framed else "external memory" if boosts else IN_TURN * streams
    if enough is None:
        instead = otherwise or "refused"
        return f"gathered to one process if twice the rows fit, else {instead}: {sizes}"
    if enough:
        return f"gathered to one process: {sizes}"
    if otherwise:
        return f"{otherwise}: {sizes}"
    why = f"it learns from all rows in one process: {sizes}"
    return f"refused: {why}, and {partitioned.COPIES} times the rows needed"
