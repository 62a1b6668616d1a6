"""Tables in files, read into memory or, where they do not fit, as partitions.

`preflight` says beforehand which of the two, by what the files say of their size; the workers of a
cluster read partitions.
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
from pipeline.table.convert import from_column

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
    """What will be done with a table, and why.

    Parameters
    ----------
    how : {"in memory", "streaming", "cluster"}
        As one table; partition by partition in this process; by the workers of the cluster.
    need, free : int
        Bytes that fitting the table as a whole takes, about; those that are left.

    Examples
    --------
    >>> print(Preflight("streaming", 3_000_000_000, 2_000_000_000))
    streaming: a fit needs about 3.0 GB and 2.0 GB are free
    """

    how: How
    need: int
    free: int

    def __str__(self) -> str:
        """Say it in a sentence."""
        need, free = (f"{size / 1e9:.1f} GB" for size in (self.need, self.free))
        return f"{self.how}: a fit needs about {need} and {free} are free"


def preflight(path: str | Path, columns: Sequence[str], *, device: str = "cpu") -> Preflight:
    """Return how a table in files should be read, from what the files say of it.

    Parquet inside of `pipeline.cluster` by its workers, or else in partitions where it does not
    fit in memory; other files in memory.

    Parameters
    ----------
    path : str or Path
        CSV, JSON lines, Parquet, Feather, or a folder of one kind of them.
    columns : sequence of str
        The features and the target.
    device : {"cpu", "cuda"}

    Raises
    ------
    DataError
        A file is missing or damaged, lacks a column, or has another type for it than the first.
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
    """Return the features of a table in files as `preflight` advises, and the target on the host.

    Parameters
    ----------
    path : str or Path
        CSV, JSON lines, Parquet, Feather, or a folder of one kind of them.
    features : sequence of str
    target : str
    rows : list of tuple
        Conditions on columns, as ``[("month", "<=", 9)]``. For Parquet without `format`.
    device : {"cpu", "cuda"}
    format : TableFormat, optional
        How cells are read; by default by the rules of `pandas.read_csv`.

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
            f"{path}: rows={rows!r} is for Parquet without a format; filter, or convert the file"
        )
    if partitioned.COPIES * advice.need > TABLES * advice.free:
        raise DataError(f"{path}: {advice}; only Parquet without a format comes in partitions")
    frame = to_frame(opened.read_values(path, format, names))
    return frames.to_device(frame[list(features)], device), frame[target].to_numpy()


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
    names = list(dict.fromkeys([*features, target]))
    if not is_parquet(path):
        raise DataError(f"{path}: only Parquet comes in partitions; write the table as Parquet")
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
    plain = {name: csv.plain_integers(table[name]) for name in table.column_names}
    return pd.DataFrame({name: from_column(values) for name, values in plain.items()})


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
    schemas = [metadata(file).schema.to_arrow_schema() for file in files]
    for file, schema in zip(files, schemas, strict=True):
        check_columns(file, schema.names, names)
        for name in names:
            kinds = [decoded_type(each.field(name).type) for each in (schemas[0], schema)]
            one, other = (pa.string() if pa.types.is_large_string(k) else k for k in kinds)
            if one != other:
                raise DataError(
                    f"{file}: column {name!r} holds {other} and {files[0]} holds {one}; write both "
                    "with one type"
                )
    sources = [ParquetSource.open(file) for file in files]
    parts = (batch for each in sources for batch in each.batches(names, _SAMPLE))
    first = next(filter(len, parts), None)
    return 0 if first is None else (row_count(path) or 0) * first.nbytes // len(first)


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
    r"""Return a whole table as a frame.

    Parameters
    ----------
    source : str, Path, frame or table
        A file, a folder of files of one kind, or a table of pandas, Polars or Arrow. Files are
        CSV, TSV, JSON lines, Parquet or Feather; those of text may be compressed.
    format : TableFormat, optional
        How its cells are read, as `table_format_` of a model that a task has fitted, or `format`
        of a task. By default encoding and delimiter are found out, and cells are read by the rules
        of `pandas.read_csv`. By a format, infinite numbers and dates that nanoseconds do not reach
        are missing, as in training.

    Returns
    -------
    frame : pandas.DataFrame
        Integers beside missing values are float64 or, from 2⁵³ on, nullable; truth values beside
        them are nullable.

    Raises
    ------
    ConfigError
        `format` is something else.
    DataError
        A file is missing, damaged or of no kind that is read, has no rows, or a cell does not fit
        the format; what to do is said.

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
            f"format={format!r} is not a TableFormat; pass a model's table_format_, or none"
        )
    table = read_arrow(source, format)
    if format is not None:
        table = pa.table({name: usable(table[name]) for name in table.column_names})
    return to_frame(table)


def read_arrow(source: Any, format: TableFormat | None = None) -> pa.Table:
    """Return a whole table as Arrow has it; see `read_table`, and there for errors."""
    what = "the table"
    if isinstance(source, str | Path):
        table, what = opened.read_values(Path(source), format), str(source)
    else:
        table = opened.format_table(arrow_table(source), format)
    table = table.rename_columns([n or f"Unnamed: {i}" for i, n in enumerate(table.column_names)])
    if not len(table):
        raise DataError(f"{what}: no rows")
    names = [name for name in table.column_names if not _INDEX.fullmatch(name)]
    return pa.table({name: plain_values(table[name]) for name in names})
