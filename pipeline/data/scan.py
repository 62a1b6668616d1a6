"""Tables in files as partitions that the workers of a cluster read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from glob import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.data import csv, parquet
from pipeline.data.arrow_types import decoded_type
from pipeline.data.convert import from_column
from pipeline.data.files import (
    Filter,
    check_columns,
    container_of,
    parquet_files,
    reading,
    table_files,
)
from pipeline.data.partitioned import compute
from pipeline.data.source import ParquetSource
from pipeline.data.text import size_of
from pipeline.distributed.cluster import active
from pipeline.errors import ConfigError, DataError
from pipeline.optional import load
from pipeline.system import hardware

_SAMPLE = 10_000
"""Rows of a Parquet file by which the memory for all is estimated."""
SHARE = 16
"""Partitions of this share of a worker's memory a thread leave room for what is made of them."""
LARGEST, SMALLEST = 2**28, 2**20
"""Bytes of a partition as the file counts them: rows take more in memory."""
PER_THREAD = 2
"""Partitions for each thread of the cluster, where the rows can be cut so finely."""


def scan(
    path: str | Path,
    features: Sequence[str],
    target: str,
    *,
    rows: Filter = (),
    device: str = "cpu",
    partition_bytes: int | None = None,
) -> tuple[Any, np.ndarray]:
    """Return the features of a table in files as a Dask frame, and the target on the host.

    Parameters
    ----------
    path : str or Path
        Parquet, or a folder of such files.
    features : sequence of str
        Columns to read; no others are.
    target : str
    rows : list of tuple
        Conditions on columns, as ``[("month", "<=", 9)]``.
    device : {"cpu", "cuda"}
        Whether the workers read to pandas or to cuDF.
    partition_bytes : int, optional
        By default from the workers' memory; a Parquet file is cut between its row groups only.

    Returns
    -------
    X : dask.dataframe.DataFrame
    y : numpy.ndarray, shape (n_rows,)

    Raises
    ------
    DataError
        A file is missing, damaged or not Parquet, lacks a column, or has another type for it than
        the first.
    """
    path = Path(path)
    if device not in ("cpu", "cuda"):
        raise ConfigError(f"device={device!r} is not 'cpu' or 'cuda'")
    if not path.exists():
        raise DataError(f"{path}: no such file or folder")
    names = list(dict.fromkeys([*features, target]))
    if not is_parquet(path):
        raise DataError(f"{path}: only Parquet comes in partitions; write the table as Parquet")
    with reading(path, MemoryError):
        rows = parquet.typed(path, rows)
    read = _parquet if device == "cpu" else _on_gpu
    frame = read(path, names, rows, partition_bytes)
    (y,) = compute([frame[target]])
    y = y.to_numpy() if device == "cpu" else y.to_pandas().to_numpy()
    return frame[list(features)], y


def is_parquet(path: Path) -> bool:
    """Whether a file, or all of a folder, are Parquet."""
    return {container_of(file) for file in table_files(path)} == {"parquet"}


def to_frame(table: pa.Table) -> pd.DataFrame:
    """Return a table as a frame whose types are those of `pandas.read_csv`."""
    plain = {name: csv.plain_integers(table[name]) for name in table.column_names}
    return pd.DataFrame({name: from_column(values) for name, values in plain.items()})


def row_count(path: Path) -> int | None:
    """Return the number of rows; None where all of the file would have to be read."""
    if not is_parquet(path):
        return None
    return sum(metadata(file).num_rows for file in parquet_files(path))


def _parquet(path: Path, names: Sequence[str], rows: Filter, size: int | None) -> Any:
    files = parquet_files(path)
    total = table_bytes(path, names)
    size = size or partition_size(total)
    of = partial(
        load("dask.dataframe.read_parquet"),
        columns=list(names),
        filters=list(rows) or None,
        blocksize=size,
        # To split files, Dask keeps what all of them say of themselves: megabytes for a wide one.
        split_row_groups="adaptive" if total > size * len(files) else False,
    )
    # Dask takes names for patterns, of which [1] in one means 1.
    named = [escape(str(file)) for file in files]
    if sorted(map(str, files), key=load("dask.utils.natural_sort_key")) == [*map(str, files)]:
        return of(named)
    # Dask would put part-2 before part-10, and rows in another order than all other readers.
    return load("dask.dataframe.concat")([of([name]) for name in named])


def _on_gpu(path: Path, names: Sequence[str], rows: Filter, size: int | None) -> Any:
    load("dask_cudf")  # Dask learns what to do with frames of cuDF.
    files, total = parquet_files(path), table_bytes(path, names)
    of_row = total / (row_count(path) or 1)
    reader = parquet.Reader.of(files, names, rows)
    splits = split_row_groups(reader, files, (size or partition_size(total)) / max(of_row, 1))
    return load("dask.dataframe.from_map")(reader.read, splits or [{}], meta=reader.read({}))


def split_row_groups(
    reader: parquet.Reader, files: Sequence[Path], size: float
) -> list[dict[Path, list[int]]]:
    """Return row groups of a file each, of about as many rows, that may hold rows to read."""
    splits: list[dict[Path, list[int]]] = []
    for file in files:
        about, held = metadata(file), size
        for group in reader.groups(file):
            if held >= size:
                splits.append({file: []})
                held = 0
            splits[-1][file].append(group)
            held += about.row_group(group).num_rows
    return splits


def table_bytes(path: Path, names: Sequence[str]) -> int:
    """Return about what columns take in memory: of Parquet by its first rows."""
    if not path.exists():
        raise DataError(f"{path}: no such file or folder")
    if not is_parquet(path):
        return sum(map(size_of, table_files(path)))
    files = parquet_files(path)
    check_alike(files, names)
    sources = [ParquetSource.open(file) for file in files]
    parts = (batch for each in sources for batch in each.batches(names, _SAMPLE))
    first = next(filter(len, parts), None)
    return 0 if first is None else (row_count(path) or 0) * first.nbytes // len(first)


def check_alike(files: Sequence[Path], names: Sequence[str]) -> None:
    """Refuse files that lack a column, or have another type for it than the first."""
    first: dict[str, Any] = {}
    for file in files:
        schema = metadata(file).schema.to_arrow_schema()
        check_columns(file, schema.names, names)
        for name in names:
            kind = decoded_type(schema.field(name).type)
            kind = pa.string() if pa.types.is_large_string(kind) else kind
            if first.setdefault(name, kind) != kind:
                raise DataError(
                    f"{file}: column {name!r} holds {kind} and {files[0]} holds {first[name]}; "
                    "write both with one type"
                )


def metadata(file: Path) -> Any:
    """Return what a Parquet file says of itself; `DataError` where it is damaged."""
    with reading(file, MemoryError, ValueError):
        about = pq.read_metadata(file)
        json.loads((about.metadata or {}).get(b"pandas", "{}"))  # Later no one would name the file.
        return about


def partition_size(total: int) -> int:
    """Return the bytes of a partition: small enough for the memory, and some for every thread."""
    memory, threads = _resources()
    wanted = min(memory // SHARE, total // (PER_THREAD * threads), LARGEST)
    return max(wanted, SMALLEST)


def _resources() -> tuple[int, int]:
    """Return the least memory that a thread has, and the number of threads."""
    cluster = active()
    if cluster is None:
        here = hardware.describe()
        return here.memory_free_bytes // here.cores, here.cores
    workers = cluster.workers().values()
    total = hardware.describe().memory_bytes
    shares = [(w["memory_limit"] or total // len(workers)) // w["nthreads"] for w in workers]
    return min(shares), sum(worker["nthreads"] for worker in workers)
