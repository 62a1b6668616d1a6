"""Before a table is read: whether it fits in memory, and what is done where it does not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from pipeline import delimited, frames, gathering, io, loading
from pipeline.clusters import active
from pipeline.errors import DataError
from pipeline.persistence import parquet_files
from pipeline.task import Filter

How = Literal["in memory", "streaming", "cluster"]

TABLES = 5
"""What a fit takes, in tables: the table, the prepared matrix, and what is made in between.

Counted on arrays of a GPU: medians 3.1, scaling and target encoding 4.1, quantiles and F tests 5.0
and 5.1. Steps that make more columns than they read, as splines and products, take more.
"""

STRING = 8
"""Bytes that a text takes beside its letters."""

CODE = 4
"""Bytes of the number that stands for a category."""


@dataclass(frozen=True)
class Preflight:
    """What will be done with a table, and why.

    Parameters
    ----------
    how : {"in memory", "streaming", "cluster"}
        As one table; partition by partition in this process; by the workers of the cluster.
    need : int
        Bytes that fitting the table as a whole takes, about.
    free : int
        Bytes that this process, or the GPU, has left; of a cluster those of all workers.
    """

    how: How
    need: int
    free: int

    def __str__(self) -> str:
        """Say it in a sentence.

        >>> print(Preflight("streaming", 3_000_000_000, 2_000_000_000))
        streaming: a fit needs about 3.0 GB and 2.0 GB are free
        """
        owner = "the workers have" if self.how == "cluster" else "are free"
        need, free = (f"{size / 1e9:.1f} GB" for size in (self.need, self.free))
        told = f"{owner} {free}" if self.how == "cluster" else f"{free} {owner}"
        return f"{self.how}: a fit needs about {need} and {told}"


def preflight(path: str | Path, columns: Sequence[str], *, device: str = "cpu") -> Preflight:
    """Return how a table in files should be read, from what the files say of it.

    Inside of `pipeline.cluster`, by its workers; else in memory where it fits.

    Parameters
    ----------
    path : str or Path
        A Parquet file, a folder of them, or a CSV file.
    columns : sequence of str
        The features and the target.
    device : {"cpu", "cuda"}

    Raises
    ------
    DataError
        A file is missing or damaged, lacks a column, or has another type for it than the first.
    """
    need = TABLES * _bytes(Path(path), columns)
    cluster = active()
    if cluster is not None:
        limits = [worker["memory_limit"] for worker in cluster.workers().values()]
        return Preflight("cluster", need, sum(limits))
    free = gathering.room(device)
    return Preflight("in memory" if need <= free else "streaming", need, free)


def read(
    path: str | Path,
    features: Sequence[str],
    target: str,
    *,
    rows: Filter = (),
    device: str = "cpu",
) -> tuple[Any, np.ndarray]:
    """Return the features of a table in files as `preflight` advises, and the target on the host.

    Parameters
    ----------
    path : str or Path
        A Parquet file, a folder of them, or a CSV file.
    features : sequence of str
    target : str
    rows : list of tuple
        Conditions on columns, as ``[("month", "<=", 9)]``. Not for CSV.
    device : {"cpu", "cuda"}

    Returns
    -------
    X : frame or Dask frame
        `Accelerated` takes both.
    y : numpy.ndarray, shape (n_rows,)

    Raises
    ------
    DataError
        See `preflight`.
    """
    path = Path(path)
    if preflight(path, [*features, target], device=device).how != "in memory":
        return loading.scan(path, features, target, rows=rows, device=device)
    if path.suffix.lower() != ".csv":
        return io.read(path, features, target, rows, device)
    return _csv(path, features, target, rows, device)


def _csv(
    path: Path, features: Sequence[str], target: str, rows: Filter, device: str
) -> tuple[Any, np.ndarray]:
    loading.refuse_conditions(path, rows)
    frame = delimited.read_frame(path, [*features, target])
    return frames.to_device(frame[list(features)], device), frame[target].to_numpy()


def _bytes(path: Path, names: Sequence[str]) -> int:
    """Return about what columns take in memory."""
    if not path.exists():
        raise DataError(f"{path}: no such file or folder")
    if path.suffix.lower() == ".csv":
        return path.stat().st_size
    files = parquet_files(path)
    loading.agree(files, names)
    return sum(_of_file(loading.metadata(file), set(names)) for file in files)


def _of_file(metadata: Any, names: set[str]) -> int:
    schema = metadata.schema.to_arrow_schema()
    widths = {name: _width(schema.field(name).type) for name in names}
    fixed = sum(width or STRING for width in widths.values()) * metadata.num_rows
    texts = {name for name, width in widths.items() if not width}
    return int(fixed) + loading.stored_bytes(metadata, texts)


def _width(kind: pa.DataType) -> int:
    """Return the bytes of a value; 0 where they differ from value to value."""
    if pa.types.is_dictionary(kind):
        return CODE
    try:
        return max(1, kind.bit_width // 8)
    except ValueError:
        return 0
