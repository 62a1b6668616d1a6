"""What a fit will do with the partitions of a table, step by step, without making a row of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin

from pipeline.backends import incremental, label_encoder
from pipeline.backends.cpu import is_xgboost
from pipeline.backends.cuml import multi_gpu
from pipeline.backends.cuml.multi_gpu import SPREAD
from pipeline.backends.cuml.tables import public_name
from pipeline.backends.text_input import reads_text
from pipeline.backends.xgboost import distributed
from pipeline.data import partitioned
from pipeline.data.output import container
from pipeline.data.read import CODE, STRING
from pipeline.distributed.cluster import active
from pipeline.planning.lower import last_type, on_blocks, walk
from pipeline.preprocessing.engine import build
from pipeline.preprocessing.engine.build import columns_read
from pipeline.system import devices
from pipeline.typing import Table

IN_TURN = "one partition after another"


@dataclass(frozen=True)
class Rows:
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
    """

    rows: int | None
    width: int
    framed: bool
    beside: str = ""

    def fits(self, device: str) -> tuple[bool | None, str]:
        """Return whether one process can hold them, None where that is unknown, and the sizes."""
        unknown = device == "cuda" and devices.obstacle()
        free = None if unknown else partitioned.room(device)
        left = f"{free:,} free" if free is not None else "the free memory of the GPU is not known"
        if self.rows is None:
            return None, f"the number of rows is not known before the run, {left}"
        need = self.rows * self.width
        enough = None if free is None else partitioned.COPIES * need <= free
        return enough, f"about {need:,} bytes of rows{self.beside}, {left}"


def outlook(estimator: BaseEstimator, device: str, X: Table, dtype: str) -> dict[str, str]:
    """Return for each step what a fit will do with the partitions, by the step's name.

    Parameters
    ----------
    estimator : estimator
    device : {"cpu", "cuda"}
    X : Dask frame or array
        No partition of it is made.
    dtype : {"auto", "float32", "float64"}
        Of the matrix that preprocessing makes.
    """
    if reads_text(estimator):
        first = next(walk(estimator, device))[0]
        return {first: "refused: texts are read in one piece; pass X.compute()"}
    return dict(_steps(estimator, device, X, dtype))


def _steps(
    estimator: BaseEstimator, device: str, X: Table, dtype: str
) -> Iterator[tuple[str, str]]:
    table: Rows | None = given(X)
    read = columns_read(estimator, X._meta) if hasattr(X, "columns") else None
    columns = X.shape[1] if read is None else len(read)
    entries = list(walk(estimator, device))
    known = last_type(dtype, device, entries[-1][1])
    handed_on = "float64" if known == "auto" else known
    for i, (name, part, found) in enumerate(entries):
        if label_encoder.handles(part):
            continue
        if table is None:
            yield name, "in the process that the rows were gathered in"
        elif on_blocks(part) and not found:
            yield name, "the statistics of the partitions are merged"
            to_last = i >= len(entries) - 2
            table = prepared(part, table, columns, handed_on if to_last else "float64")
        else:
            said = _learnt(part, table, "cpu" if found else device)
            yield name, said
            table = table if said.startswith(IN_TURN) else None


def given(X: Table) -> Rows:
    """Return what is known of a Dask frame or array.

    Its rows are known of tables in memory and of Parquet files that are read without conditions.
    """
    if not hasattr(X, "columns"):
        known = not np.isnan(X.shape[0])
        return Rows(int(X.shape[0]) if known else None, X.shape[1] * X.dtype.itemsize, framed=False)
    widths = [_width(kind) for kind in X.dtypes]
    texts = None in widths
    width = sum(STRING if found is None else found for found in widths)
    beside = " and what their texts take" if texts else ""
    return Rows(known_rows(X), width, framed=True, beside=beside)


def _width(kind: Any) -> int | None:
    """Return the bytes of a value; None for text."""
    if str(kind) == "category":
        return CODE
    found = None if str(kind) in ("object", "str", "string") else getattr(kind, "itemsize", None)
    return None if found is None else int(found)


def known_rows(X: Table) -> int | None:
    """Return the rows of a Dask frame; None where partitions would have to be made for it."""
    if not len(X.columns):
        return None
    # Dask answers the number itself, from the files' footers, or is left with a task.
    size = X[X.columns[0]].size
    found = getattr(getattr(size.simplify(), "expr", None), "value", None)
    return int(found) if isinstance(found, int | np.integer) else None


def prepared(part: Any, table: Rows, columns: int, dtype: str) -> Rows:
    """Return what a transformer makes: as many columns as it reads, as far as is known."""
    inside = [leaf for _, leaf in build.leaves(part, "") if isinstance(leaf, BaseEstimator)]
    same = all(isinstance(leaf, OneToOneFeatureMixin) for leaf in inside)
    beside = "" if same else " if there are as many columns as before"
    width = columns * np.dtype(dtype).itemsize
    return replace(table, width=width, beside=beside, framed=container(part) != "default")


def _learnt(part: Any, table: Rows, device: str) -> str:
    """Return how an estimator learns from partitions, as its rule will decide."""
    boosts = is_xgboost(part) and distributed.trains_distributed(part, {})
    if boosts and active() is not None:
        return "trained by all workers of the cluster"
    if device == "cuda" and public_name(part) in SPREAD and multi_gpu.several_gpus():
        return f"trained by all GPUs of the cluster ({multi_gpu.path_of(part)}) if the rows allow"
    enough, sizes = table.fits(device)
    streams = device == "cpu" and incremental.trains_incrementally(part, {})
    otherwise = "" if table.framed else "external memory" if boosts else IN_TURN * streams
    if enough is None:
        instead = otherwise or "refused"
        return f"gathered to one process if twice the rows fit, else {instead}: {sizes}"
    if enough:
        return f"gathered to one process: {sizes}"
    return f"{otherwise}: {sizes}" if otherwise else _refused(sizes)


def _refused(sizes: str) -> str:
    why = f"it learns from all rows in one process: {sizes}"
    return f"refused: {why}, and {partitioned.COPIES} times the rows needed"
