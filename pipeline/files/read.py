"""Tables in files, read into memory or, if they do not fit, as partitions.

`preflight` estimates beforehand which of the two applies, from the metadata of the files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from glob import escape
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.distributed.cluster import active
from pipeline.errors import ConfigError, DataError
from pipeline.files import csv, opened, parquet
from pipeline.files.files import Filter, check_columns, container_of, reading, size_of, table_files
from pipeline.files.source import ParquetSource
from pipeline.files.table_format import TableFormat
from pipeline.optional import load
from pipeline.system import hardware
from pipeline.table import frames, partitioned
from pipeline.table.arrow_types import arrow_table, decoded_type, plain_values, usable
from pipeline.table.convert import from_column, is_plain, writable

How = Literal["in memory", "streaming", "cluster"]

_INDEX = re.compile(r"__index_level_\d+__")
"""What pandas calls an index without a name, in a file."""
TABLES = 5
"""What a fit takes, in tables; steps that make more columns than they read take more."""
_SAMPLE = 10_000
"""Rows of a Parquet file by which the memory for all is estimated."""
SHARE = 16
"""Partitions of this share of a worker's memory a thread leave room for what is made of them."""
LARGEST, SMALLEST = 2**28, 2**20
"""Bytes of a partition as the file counts them: rows take more in memory."""
PER_THREAD = 2
"""Partitions for each thread of the cluster, where the rows can be cut so finely."""


@dataclass(frozen=True)
class Preflight:
    """How a table should be read, and why.

    Parameters
    ----------
    how : {"in memory", "streaming", "cluster"}
        As one table, partition by partition in this process, or by the workers of the cluster.
    need, free : int
        Approximate bytes that a fit on the full table needs; bytes that are free.

    Examples
    --------
    >>> print(Preflight("streaming", 3_000_000_000, 2_000_000_000))
    streaming: a fit needs about 3.0 GB and 2.0 GB are free
    """

    how: How
    need: int
    free: int

    def __str__(self) -> str:
        """Return it as a sentence."""
        need, free = (f"{size / 1e9:.1f} GB" for size in (self.need, self.free))
        return f"{self.how}: a fit needs about {need} and {free} are free"


def preflight(path: str | Path, columns: Sequence[str], *, device: str = "cpu") -> Preflight:
    """Return how a table in files should be read, estimated from their metadata.

    Inside `pipeline.cluster`, its workers read Parquet. Without a cluster, Parquet is read in
    partitions if it does not fit in memory. Other files are read into memory.

    Parameters
    ----------
    path : str or Path
        A CSV, JSON lines, Parquet or Feather file, or a folder of such files in one format.
    columns : sequence of str
        The features and the target.
    device : {"cpu", "cuda"}

    Raises
    ------
    DataError
        A file is missing or damaged, lacks a column, or stores a column with a different type than
        the first file.
    """
    need = TABLES * table_bytes(Path(path), columns)
    cluster, whole = active(), not is_parquet(Path(path))
    if cluster is not None and not whole:
        limits = [worker["memory_limit"] for worker in cluster.workers().values()]
        return Preflight("cluster", need, sum(limits))
    free = partitioned.room(device)
    return Preflight("in memory" if whole or need <= free else "streaming", need, free)


def read(
    path: str | Path,
    features: Sequence[str],
    target: str,
    *,
    rows: Filter = (),
    device: str = "cpu",
    format: TableFormat | None = None,
) -> tuple[Any, np.ndarray]:
    """Read the features as `preflight` advises, and the target into host memory.

    Parameters
    ----------
    path : str or Path
        A CSV, JSON lines, Parquet or Feather file, or a folder of such files in one format.
    features : sequence of str
    target : str
    rows : list of tuple
        Conditions on columns, such as ``[("month", "<=", 9)]``; only for Parquet without `format`.
    device : {"cpu", "cuda"}
    format : TableFormat, optional
        How values are read; by default by the rules of `pandas.read_csv`.

    Returns
    -------
    X : frame or Dask frame
        `Accelerated` accepts both.
    y : numpy.ndarray, shape (n_rows,)

    Raises
    ------
    DataError
        See `preflight`.
    """
    path, names = Path(path), list(dict.fromkeys([*features, target]))
    advice = preflight(path, names, device=device)
    formatted = format is not None and (format.missing or {*names} & {*format.columns})
    if is_parquet(path) and not formatted:
        if advice.how != "in memory":
            return scan(path, features, target, rows=rows, device=device)
        with reading(path):
            return parquet.read_columns(path, features, target, rows, device)
    if rows:
        raise ConfigError(
            f"{path}: rows={rows!r} is supported only for Parquet without a format; filter the "
            "rows after reading, or save the table as Parquet"
        )
    if partitioned.COPIES * advice.need > TABLES * advice.free:
        raise DataError(f"{path}: {advice}; to read it in partitions, use Parquet without a format")
    table = opened.read_values(path, format, names)
    frame, y = (to_frame(table.select(each)) for each in ([*dict.fromkeys(features)], [target]))
    del table
    pa.default_memory_pool().release_unused()
    X = frames.to_device(frames.select(frame, list(features)), device)
    return X, y[target].to_numpy(copy=True)  # else it could not be written to


def scan(
    path: str | Path,
    features: Sequence[str],
    target: str,
    *,
    rows: Filter = (),
    device: str = "cpu",
    partition_bytes: int | None = None,
) -> tuple[Any, np.ndarray]:
    """Read the features as a Dask frame, and the target into host memory.

    Parameters
    ----------
    path : str or Path
        A Parquet file, or a folder of them.
    features : sequence of str
        Columns to read.
    target : str
    rows : list of tuple
        Conditions on columns, such as ``[("month", "<=", 9)]``.
    device : {"cpu", "cuda"}
        Whether the workers read into pandas or cuDF.
    partition_bytes : int, optional
        Size of a partition; by default chosen by the workers' memory. Parquet files are split only
        between row groups.

    Returns
    -------
    X : dask.dataframe.DataFrame
    y : numpy.ndarray, shape (n_rows,)

    Raises
    ------
    DataError
        A file is missing, damaged or not Parquet, lacks a column, or stores a column with a
        different type than the first file.
    """
    path = Path(path)
    if device not in ("cpu", "cuda"):
        raise ConfigError(f"device={device!r} is not supported; use 'cpu' or 'cuda'")
    names = list(dict.fromkeys([*features, target]))
    if not is_parquet(path):
        raise DataError(f"{path}: only Parquet is read in partitions; save the table as Parquet")
    with reading(path, MemoryError):
        rows = parquet.typed(path, rows)
    read = _parquet if device == "cpu" else _on_gpu
    frame = read(path, names, rows, partition_bytes)
    (y,) = partitioned.compute([frame[target]])
    y = y.to_numpy() if device == "cpu" else y.to_pandas().to_numpy()
    return frame[list(features)], y


def is_parquet(path: Path) -> bool:
    """Whether a file, or all of a folder, are Parquet."""
    return {container_of(file) for file in table_files(path)} == {"parquet"}


def to_frame(table: pa.Table) -> pd.DataFrame:
    """Return a table as a frame whose types are those of `pandas.read_csv`."""
    plain = {name: writable(csv.plain_integers(table[name])) for name in table.column_names}
    if all(map(is_plain, plain.values())):
        return pa.table(plain).to_pandas(date_as_object=False, split_blocks=True)
    return pd.DataFrame({name: from_column(values).array for name, values in plain.items()})


def row_count(path: Path) -> int | None:
    """Return the number of rows; None where all of the file would have to be read."""
    if not is_parquet(path):
        return None
    return sum(metadata(file).num_rows for file in table_files(path))


def _parquet(path: Path, names: Sequence[str], rows: Filter, size: int | None) -> Any:
    files, total = [str(file) for file in table_files(path)], table_bytes(path, names)
    size = size or partition_size(total)
    # To split files, Dask keeps what all of them say of themselves: megabytes for a wide one.
    split = "adaptive" if total > size * len(files) else False
    options = {"columns": list(names), "filters": list(rows) or None, "blocksize": size}
    of = partial(load("dask.dataframe.read_parquet"), split_row_groups=split, **options)
    # Dask takes names for patterns, of which [1] in one means 1.
    if sorted(files, key=load("dask.utils.natural_sort_key")) == files:
        return of([*map(escape, files)])
    # Dask would put part-2 before part-10, and rows in another order than all other readers.
    return load("dask.dataframe.concat")([of([escape(file)]) for file in files])


def _on_gpu(path: Path, names: Sequence[str], rows: Filter, size: int | None) -> Any:
    load("dask_cudf")  # Dask learns what to do with frames of cuDF.
    files, total = table_files(path), table_bytes(path, names)
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
    files = table_files(path)
    if not is_parquet(path):
        return sum(map(size_of, files))
    abouts = [metadata(file) for file in files]
    schemas = [about.schema.to_arrow_schema() for about in abouts]
    for file, schema in zip(files, schemas, strict=True):
        check_columns(file, schema.names, names)
        for name in names:
            kinds = [decoded_type(each.field(name).type) for each in (schemas[0], schema)]
            one, other = (pa.string() if pa.types.is_large_string(k) else k for k in kinds)
            if one != other:
                raise DataError(
                    f"{file}: column {name!r} has type {other}, but {one} in {files[0]}; store it "
                    "with the same type in all files"
                )
    parts = (part for file in files for part in ParquetSource.open(file).batches(names, _SAMPLE))
    first = next(filter(len, parts), None)
    return 0 if first is None else sum(a.num_rows for a in abouts) * first.nbytes // len(first)


def metadata(file: Path) -> Any:
    """Return what a Parquet file says of itself; `DataError` where it is damaged."""
    with reading(file, MemoryError, ValueError):
        about = pq.read_metadata(file)
        json.loads((about.metadata or {}).get(b"pandas", "{}"))  # Later no one would name the file.
        return about


def partition_size(total: int) -> int:
    """Return the bytes of a partition: small enough for the memory, and some for every thread."""
    cluster, here = active(), hardware.describe()
    memory, threads = here.memory_free_bytes // here.cores, here.cores
    if cluster is not None:
        workers = cluster.workers().values()
        limits = [w["memory_limit"] or here.memory_bytes // len(workers) for w in workers]
        threads = sum(worker["nthreads"] for worker in workers)
        memory = min(n // w["nthreads"] for n, w in zip(limits, workers, strict=True))
    return max(min(memory // SHARE, total // (PER_THREAD * threads), LARGEST), SMALLEST)


def read_table(source: Any, format: TableFormat | None = None) -> pd.DataFrame:
    r"""Read a table into a frame.

    Parameters
    ----------
    source : str, Path, frame or table
        A file, a folder of files in one format, or a pandas, Polars or Arrow table. Files are
        CSV, TSV, JSON lines, Parquet or Feather; text files may be compressed.
    format : TableFormat, optional
        How its values are read: `table_format_` of a model that a task has fitted, or `format` of
        a task. By default, encoding and delimiter are detected, and values are read by the rules of
        `pandas.read_csv`. With a format, infinite numbers and dates that nanoseconds cannot
        represent are read as missing, as in training.

    Returns
    -------
    frame : pandas.DataFrame
        Integers with missing values become float64 or, from 2⁵³ on, a nullable type; booleans
        with missing values become nullable.

    Raises
    ------
    ConfigError
        `format` is not a `TableFormat`.
    DataError
        A file is missing, damaged, has no rows or an unsupported format, or a value does not fit
        `format`. The message says what to do.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as home:
    ...     path = pathlib.Path(home) / "houses.csv"
    ...     _ = path.write_text("town;rooms\nMünchen;3\nKöln;\n", encoding="utf-16")
    ...     read_table(path)
          town  rooms
    0  München    3.0
    1     Köln    NaN
    """
    if not isinstance(format, TableFormat | None):
        raise ConfigError(
            f"format={format!r} is not a TableFormat; pass a model's table_format_, or None"
        )
    table = read_arrow(source, format)
    if format is not None:
        table = pa.table({name: usable(table[name]) for name in table.column_names})
    return to_frame(table)


def read_arrow(source: Any, format: TableFormat | None = None) -> pa.Table:
    """Return all of a table as an Arrow table; `read_table` documents the errors."""
    if isinstance(source, str | Path):
        table, what = opened.read_values(Path(source), format), str(source)
    else:
        table, what = opened.format_table(arrow_table(source), format), "the table"
    table = table.rename_columns([n or f"Unnamed: {i}" for i, n in enumerate(table.column_names)])
    if not len(table):
        raise DataError(f"{what}: has no rows")
    names = [name for name in table.column_names if not _INDEX.fullmatch(name)]
    return pa.table({name: plain_values(table[name]) for name in names})
