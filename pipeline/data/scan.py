"""Tables in files as partitions that the workers of a cluster read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.data import csv, frames, opened, parquet, partitioned
from pipeline.data.arrow_types import decoded_type
from pipeline.data.containers import container_of
from pipeline.data.files import Filter, check_columns, parquet_files, reading, table_files
from pipeline.data.partitioned import compute
from pipeline.data.source import Source
from pipeline.data.table_format import TableFormat
from pipeline.data.text import size_of
from pipeline.distributed.cluster import active
from pipeline.errors import ConfigError, DataError
from pipeline.optional import load
from pipeline.system import hardware
from pipeline.typing import Array, Table

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
        Of Parquet, which is cut between its row groups only; by default from the workers' memory.
        Another file is one partition: write a large one as Parquet, or as several files.
    format : TableFormat, optional
        As in `read`.

    Returns
    -------
    X : dask.dataframe.DataFrame
    y : numpy.ndarray, shape (n_rows,)

    Raises
    ------
    DataError
        A file is missing or damaged, lacks a column, has another type for it than the first, or
        is one partition that does not fit in memory.
    """
    path = Path(path)
    if device not in ("cpu", "cuda"):
        raise ConfigError(f"device={device!r} is not 'cpu' or 'cuda'")
    if not path.exists():
        raise DataError(f"{path}: no such file or folder")
    names = list(dict.fromkeys([*features, target]))
    if not is_parquet(path) or opened.is_read_by(format, names):
        frame = _scan_sources(path, names, format, device, rows)
    else:
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


def _scan_sources(
    path: Path, names: Sequence[str], format: TableFormat | None, device: str, rows: Filter
) -> Any:
    """Return a Dask frame with a partition for each file."""
    sources = opened.open_sources(path, format, rows=rows)
    for source in sources:
        check_columns(source.path, source.names, names)
        _check_room(source.path)
    look = load("dask.delayed")(opened.column_types, pure=False)
    types = csv.merge_types(compute([look(source, names, format) for source in sources]))
    read = _Reader(types, format, device)
    return load("dask.dataframe.from_map")(read, sources, meta=read(None))


def _check_room(file: Path) -> None:
    need, free = partitioned.COPIES * size_of(file), partitioned.room("cpu")
    if active() is None and need > free:
        raise DataError(
            f"{file}: is one partition, for which about {need:,} bytes are needed and {free:,} "
            "are free; write it as Parquet, or as several files in a folder"
        )


@dataclass(frozen=True)
class _Reader:
    """Reads files to frames of the same types."""

    types: dict[str, csv.ColumnType]
    format: TableFormat | None
    device: str

    def __call__(self, source: Source | None, columns: Sequence[str] | None = None) -> Table:
        """Return the rows of a file, on the device; none of no file."""
        types = {name: self.types[name] for name in columns or self.types}
        tables = [pa.table({name: pa.array([], each.type) for name, each in types.items()})]
        if source is not None:
            for table in opened.formatted_batches(source, list(types), self.format):
                read = {name: each.values(table[name]) for name, each in types.items()}
                tables.append(pa.table(read))
        whole = csv.to_typed_frame(pa.concat_tables(tables), types)
        return frames.to_device(whole, self.device)


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
