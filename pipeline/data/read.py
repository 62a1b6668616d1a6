"""Tables in files, read into memory or as partitions that the workers of a cluster read.

`preflight` says beforehand which of the two, by what the files say of their size.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.data import frames, parquet, partitioned, parts
from pipeline.data.arrow_tables import arrow_table
from pipeline.data.arrow_types import decoded_type, plain_types
from pipeline.data.containers import container_of
from pipeline.data.files import Filter, check_columns, parquet_files, reading, table_files
from pipeline.data.partitioned import compute
from pipeline.data.table_format import TableFormat
from pipeline.distributed.cluster import active
from pipeline.errors import ConfigError, DataError
from pipeline.optional import load
from pipeline.system import hardware
from pipeline.typing import Array

How = Literal["in memory", "streaming", "cluster"]

_INDEX = re.compile(r"__index_level_\d+__")
"""What pandas calls an index without a name, in a file."""
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
        memory = f"{owner} {free}" if self.how == "cluster" else f"{free} {owner}"
        return f"{self.how}: a fit needs about {need} and {memory}"


def preflight(path: str | Path, columns: Sequence[str], *, device: str = "cpu") -> Preflight:
    """Return how a table in files should be read, from what the files say of it.

    Inside of `pipeline.cluster`, by its workers; else in memory where it fits.

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
    need = TABLES * _bytes(Path(path), columns)
    cluster = active()
    if cluster is not None:
        limits = [worker["memory_limit"] for worker in cluster.workers().values()]
        return Preflight("cluster", need, sum(limits))
    free = partitioned.room(device)
    return Preflight("in memory" if need <= free else "streaming", need, free)


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
        Conditions on columns, as ``[("month", "<=", 9)]``. For Parquet only.
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
    path = Path(path)
    if preflight(path, [*features, target], device=device).how != "in memory":
        return scan(path, features, target, rows=rows, device=device, format=format)
    names = [*features, target]
    if not _is_parquet(path):
        refuse_conditions(path, rows)
        table = parts.read_values(path, format, names)
    elif not parts.is_read_by(format, names):
        return parquet.read_parquet(path, features, target, rows, device, made=False)
    else:
        table = parquet.read_rows(path, list(dict.fromkeys(names)), rows)
        table = parts.format_table(table, format, f"{path}: ")
    frame = parts.to_frame(table)
    return frames.to_device(frame[list(features)], device), frame[target].to_numpy()


def _is_parquet(path: Path) -> bool:
    return {container_of(file) for file in table_files(path)} == {"parquet"}


def read_arrow(source: Any, format: TableFormat | None = None) -> pa.Table:
    """Return a whole table as Arrow has it: what a format reads, and else what the cells are.

    Parameters
    ----------
    source : str, Path, frame or table
        A file (CSV, TSV, JSON lines, Parquet, Feather; of text also compressed), a folder of
        files of one kind, or a table of pandas, Polars or Arrow.
    format : TableFormat, optional
        By default encoding, delimiter and titles are found out.

    Raises
    ------
    DataError
        A file is missing, damaged or of no kind that is read, has no rows, has two columns of one
        name, or a cell does not fit the format.
    """
    if isinstance(source, str | Path):
        return _with_rows(str(source), parts.read_values(Path(source), format))
    return _with_rows("the table", parts.format_table(arrow_table(source), format))


def _with_rows(what: str, table: pa.Table) -> pa.Table:
    table = table.rename_columns([n or f"Unnamed: {i}" for i, n in enumerate(table.column_names)])
    if not len(table):
        raise DataError(f"{what}: no rows")
    return plain_types(table.select([n for n in table.column_names if not _INDEX.fullmatch(n)]))


def _bytes(path: Path, names: Sequence[str]) -> int:
    """Return about what columns take in memory."""
    if not path.exists():
        raise DataError(f"{path}: no such file or folder")
    if not _is_parquet(path):
        return parts.size_of(path)
    files = parquet_files(path)
    agree(files, names)
    return sum(_of_file(metadata(file), set(names)) for file in files)


def _of_file(metadata: Any, names: set[str]) -> int:
    schema = metadata.schema.to_arrow_schema()
    widths = {name: _width(schema.field(name).type) for name in names}
    fixed = sum(width or STRING for width in widths.values()) * metadata.num_rows
    texts = {name for name, width in widths.items() if not width}
    return int(fixed) + stored_bytes(metadata, texts)


def _width(kind: pa.DataType) -> int:
    """Return the bytes of a value; 0 where they differ from value to value."""
    if pa.types.is_dictionary(kind):
        return CODE
    try:
        return max(1, kind.bit_width // 8)
    except ValueError:
        return 0


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
    format: TableFormat | None = None,
) -> tuple[Any, np.ndarray]:
    """Return the features of a table in files as a Dask frame, and the target on the host.

    Parameters
    ----------
    path : str or Path
        CSV, JSON lines, Parquet, Feather, or a folder of one kind of them.
    features : sequence of str
        Columns to read; no others are.
    target : str
    rows : list of tuple
        Conditions on columns, as ``[("month", "<=", 9)]``. For Parquet only.
    device : {"cpu", "cuda"}
        Whether the workers read to pandas or to cuDF.
    partition_bytes : int, optional
        By default from the workers' memory; a Parquet file is cut between its row groups only,
        and compressed files, JSON lines and Feather not at all.
    format : TableFormat, optional
        As in `read`.

    Returns
    -------
    X : dask.dataframe.DataFrame
    y : numpy.ndarray, shape (n_rows,)

    Raises
    ------
    DataError
        A file is missing or damaged, lacks a column, or has another type for it than the first.
    """
    path = Path(path)
    if device not in ("cpu", "cuda"):
        raise ConfigError(f"device={device!r} is not 'cpu' or 'cuda'")
    if not path.exists():
        raise DataError(f"{path}: no such file or folder")
    if not _is_parquet(path):
        refuse_conditions(path, rows)
        size = partition_bytes or partition_size(parts.size_of(path))
        return parts.scan_files(path, features, target, format, device, size)
    read = _parquet if device == "cpu" else _on_gpu
    with reading(path, MemoryError):
        rows = parquet.typed(path, rows)
    frame = read(path, [*features, target], rows, partition_bytes)
    if format is not None and parts.is_read_by(format, [*features, target]):
        frame = parts.format_partitions(frame, format, path, device)
    (y,) = compute([frame[target]])
    y = y.to_numpy() if device == "cpu" else y.to_pandas().to_numpy()
    return frame[list(features)], y


def _parquet(path: Path, names: Sequence[str], rows: Filter, size: int | None) -> Any:
    files = parquet_files(path)
    sizes = agree(files, names)
    size = size or partition_size(sum(sizes))
    of = partial(
        load("dask.dataframe.read_parquet"),
        columns=list(names),
        filters=list(rows) or None,
        blocksize=size,
        # To split files, Dask keeps what all of them say of themselves: megabytes for a wide one.
        split_row_groups="adaptive" if max(sizes) > size else False,
    )
    named = [str(file) for file in files]
    if sorted(named, key=load("dask.utils.natural_sort_key")) == named:
        return of(named)
    # Dask would put part-2 before part-10, and rows in another order than all other readers.
    return load("dask.dataframe.concat")([of([name]) for name in named])


def _on_gpu(path: Path, names: Sequence[str], rows: Filter, size: int | None) -> Any:
    load("dask_cudf")  # Dask learns what to do with frames of cuDF.
    files = parquet_files(path)
    size = size or partition_size(sum(agree(files, names)))
    reader = parquet.Reader.of(files, list(dict.fromkeys(names)), rows)
    splits = split_row_groups(reader, files, size) or [{}]
    return load("dask.dataframe.from_map")(reader.read, splits, meta=reader.read({}))


def split_row_groups(
    reader: parquet.Reader, files: Sequence[Path], size: int
) -> list[dict[Path, list[int]]]:
    """Return row groups of a file each, of about as many bytes, that may hold rows to read."""
    splits: list[dict[Path, list[int]]] = []
    for file in files:
        about, held = metadata(file), size
        for group in reader.groups(file):
            if held >= size:
                splits.append({file: []})
                held = 0
            splits[-1][file].append(group)
            held += _group_bytes(about.row_group(group), set(reader.names))
    return splits


def refuse_conditions(path: Path, rows: Filter) -> None:
    """Refuse to read some rows of another file than Parquet."""
    if rows:
        raise ConfigError(f"{path}: rows={rows!r} is for Parquet; filter, or convert the file")


def agree(files: Sequence[Path], names: Sequence[str]) -> list[int]:
    """Return the bytes that columns take in each file, uncompressed, once they agree on types.

    Raises
    ------
    DataError
        A file lacks a column or has another type for it than the first; both are named.
    """
    first: dict[str, Any] = {}
    sizes = []
    for file in files:
        about = metadata(file)
        schema = about.schema.to_arrow_schema()
        check_columns(file, schema.names, names)
        for name in names:
            kind = _kind(schema.field(name).type)
            if first.setdefault(name, kind) != kind:
                raise DataError(
                    f"{file}: column {name!r} holds {kind} and {files[0]} holds {first[name]}; "
                    "write both with one type"
                )
        sizes.append(stored_bytes(about, set(names)))
    return sizes


def metadata(file: Path) -> Any:
    """Return what a Parquet file says of itself; `DataError` where it is damaged."""
    with reading(file, MemoryError, ValueError):
        about = pq.read_metadata(file)
        json.loads((about.metadata or {}).get(b"pandas", "{}"))  # Later no one would name the file.
        return about


def _kind(kind: Any) -> Any:
    kind = decoded_type(kind)
    return pa.string() if pa.types.is_large_string(kind) else kind


def stored_bytes(about: Any, names: set[str]) -> int:
    """Return the bytes that columns take in a file before it is compressed."""
    groups = map(about.row_group, range(about.num_row_groups))
    return sum(_group_bytes(group, names) for group in groups)


def _group_bytes(group: Array, names: set[str]) -> int:
    columns = map(group.column, range(group.num_columns))
    return sum(
        column.total_uncompressed_size
        for column in columns
        if column.path_in_schema.partition(".")[0] in names
    )


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
