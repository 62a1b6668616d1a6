"""Parquet files, read to pandas or to cuDF with the same values.

`cudf.read_parquet` returns dictionaries as plain values, dates without their time zone and, for a
condition that it cannot test, all rows with a warning. Here, types are restored from the Arrow
schema, and Arrow selects the rows that meet the conditions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from glob import escape
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.errors import DataError
from pipeline.files.csv import plain_integers
from pipeline.files.files import Filter, check_columns, reading, table_files
from pipeline.optional import COMMAND, load
from pipeline.system.memory import raise_if_exhausted
from pipeline.table import frames
from pipeline.table.arrow_types import decoded_type, is_date
from pipeline.table.convert import NULLABLE, writable
from pipeline.typing import Array


@dataclass(frozen=True)
class Reader:
    """Reads row groups to frames of cuDF that have the same types, whichever they are.

    The categories of dictionary columns are what any row holds, so that every split has the same.
    """

    names: list[str]
    rows: Filter
    schema: pa.Schema
    categories: Mapping[str, pd.CategoricalDtype]

    @classmethod
    def of(cls, files: Sequence[Path], names: Sequence[str], rows: Filter) -> Reader:
        """Look at what files say of their columns, and read their dictionaries."""
        schema = pq.read_schema(files[0])
        check_columns(files[0], schema.names, [*names, *(name for name, _, _ in rows)])
        for name in names:
            zone = getattr(schema.field(name).type, "tz", None)
            try:
                ZoneInfo(zone or "UTC")
            except (ValueError, ZoneInfoNotFoundError) as error:
                raise DataError(
                    f"{files[0]}: column {name!r} has the time zone {zone!r}, which cuDF does not "
                    "support; store it with a named zone such as 'UTC'"
                ) from error
        coded = tuple(name for name in names if pa.types.is_dictionary(schema.field(name).type))
        states = tuple((f, f.stat().st_ino, f.stat().st_mtime_ns, f.stat().st_size) for f in files)
        return cls(list(names), rows, schema, _categories(states, coded) if coded else {})

    def groups(self, file: Path) -> list[int]:
        """Return the row groups that may hold such rows."""
        import pyarrow.dataset as ds

        wanted = pq.filters_to_expression(list(self.rows)) if self.rows else None
        (fragment,) = ds.dataset(file, format="parquet").get_fragments()
        return [g.id for part in fragment.split_by_row_group(wanted) for g in part.row_groups]

    def read(
        self, groups: Mapping[Path, Sequence[int]], columns: Sequence[str] | None = None
    ) -> Any:
        """Return the rows of row groups, by file, that meet the conditions."""
        if columns is not None:
            return replace(self, names=list(columns)).read(groups)
        filled = {file: list(chosen) for file, chosen in groups.items() if chosen}
        if filled:
            with ThreadPoolExecutor(1) as beside:  # the host tests rows while the GPU reads them
                met = beside.submit(self._met, filled) if self.rows else None
                # Told that there are no partitions, cuDF leaves files and row groups as they are.
                # It takes names for patterns.
                frame = load("cudf").read_parquet(
                    [escape(str(file)) for file in filled], columns=self.names,
                    row_groups=list(filled.values()), use_pandas_metadata=False, dataset_kwargs={},
                )  # fmt: skip
            if met:
                frame = frame[frames.to_device(met.result(), "cuda")].reset_index(drop=True)
        else:
            kinds = {name: decoded_type(self.schema.field(name).type) for name in self.names}
            for name, kind in kinds.items():
                kinds[name] = pa.timestamp(kind.unit) if pa.types.is_timestamp(kind) else kind
            frame = load("cudf").from_pandas(pa.schema(kinds).empty_table().to_pandas())
        for name in self.names:
            kind = self.schema.field(name).type
            if name in self.categories:
                frame[name] = frame[name].astype(self.categories[name])
            elif pa.types.is_timestamp(kind) and kind.tz:
                frame[name] = frame[name].dt.tz_localize("UTC").dt.tz_convert(kind.tz)
        return frame

    def _met(self, groups: Mapping[Path, list[int]]) -> Array:
        """Return for each row whether it meets the conditions, as Arrow tests them."""
        import pyarrow.dataset as ds

        tested = list(dict.fromkeys(name for name, _, _ in self.rows))
        files = ((pq.ParquetFile(path), chosen) for path, chosen in groups.items())
        table = pa.concat_tables(f.read_row_groups(chosen, columns=tested) for f, chosen in files)
        wanted = {"met": pq.filters_to_expression(list(self.rows))}
        met = ds.dataset(table).scanner(columns=wanted).to_table()["met"]
        return met.fill_null(False).to_numpy()


@lru_cache(maxsize=4)
def _categories(
    files: Sequence[tuple[Path, int, int, int]], names: Sequence[str]
) -> Mapping[str, pd.CategoricalDtype]:
    """Return what dictionary columns hold in any file, in the order in which it is met.

    Rows for training and for the test are read from the same files, of which each comes with its
    inode, the time of its last change and its size, one after the other.
    """
    paths = [file for file, *_ in files]
    options: Any = {"columns": [*names], "page_checksum_verification": True}
    read = pq.read_table(paths, partitioning=None, **options)  # "key=value" in a path is no column
    whole = read.unify_dictionaries()
    found = {}
    for name, column in zip(names, whole.columns, strict=True):
        empty = pa.array([], column.type.value_type)
        values = column.chunk(0).dictionary if column.num_chunks else empty
        found[name] = pd.CategoricalDtype(values.drop_null().to_pandas(), column.type.ordered)
    return found


def typed(path: Path, rows: Filter) -> list[tuple[str, str, Any]]:
    """Return conditions whose dates are of the types of the columns, as every reader takes them.

    Dates may be texts, or of the types of Python, pandas and NumPy; without a zone they are in
    that of the column.
    """
    if not rows:
        return []
    file = table_files(path)[0]
    schema = pq.read_schema(file)
    check_columns(file, schema.names, [name for name, _, _ in rows])
    found = []
    for name, test, value in rows:
        kind, several = schema.field(name).type, test.endswith("in")
        if is_date(kind):
            try:
                value = [_date(kind, v) for v in value] if several else _date(kind, value)
            except (TypeError, ValueError) as error:
                told = f"{path}: the condition {(name, test, value)} does not fit type {kind}"
                raise DataError(f"{told}: {error}") from error
        found.append((name, test, value))
    return found


def _date(kind: pa.DataType, value: Any) -> Any:
    point, zone = pd.Timestamp(value), getattr(kind, "tz", None)
    if isinstance(value, int | float | np.number) or (point.tz and not zone):
        raise ValueError(
            f"{value!r} is not a date, or has a time zone although the column has none; pass a date"
        )
    if pa.types.is_date(kind):
        if point != point.normalize():
            raise ValueError("the column holds dates without times; remove the time")
        return point.date()
    return point.tz_localize(zone) if zone and point.tz is None else point


def read_parquet(path: Path, *asked: Any) -> tuple[Any, Any]:
    """Return what `read_columns` does of the data of a task, as errors say."""
    create = f"`{COMMAND} data TASK`"
    damaged = f"; remove its folder, then create it again with {create}"
    with reading(path, missing=f"; create it with {create}", damaged=damaged):
        return read_columns(path, *asked)


def read_columns(
    path: Path,
    features: Sequence[str] | str,
    target: str | Sequence[str],
    rows: Filter,
    device: str,
) -> tuple[Any, Any]:
    """Return the features on a device and the target on the host.

    A name by itself gives a column in place of a frame, and several targets as many arrays, by
    name. Dictionary-encoded columns are categorical. On the host page checksums are verified.
    `DataError` is raised if a file lacks a column or cannot be read, and `OutOfMemory` if the
    rows do not fit in memory.
    """
    columns: Any = features if isinstance(features, str) else list(features)
    targets = [target] if isinstance(target, str) else list(target)
    named = [features] if isinstance(features, str) else features
    names = list(dict.fromkeys([*named, *targets]))
    try:
        read = _on_gpu if device == "cuda" else partial(_on_host, [*dict.fromkeys(named)])
        frame, y = read(path, names, targets, typed(path, rows))
    except Exception as error:
        raise_if_exhausted(error, "input", "read", device)
        raise
    pa.default_memory_pool().release_unused()  # of what the frame was made from
    X = frame[columns] if columns is features else frames.select(frame, columns)
    return X, y[target] if isinstance(target, str) else y


def _on_gpu(path: Path, names: list[str], targets: list[str], rows: Filter) -> tuple[Any, Any]:
    files = table_files(path)
    reader = Reader.of(files, names, rows)
    frame = reader.read({file: reader.groups(file) for file in files})
    # Splitters and metrics of scikit-learn use the target on the host.
    host = frames.to_device(frame[targets], "cpu")
    return frame, {name: host[name].to_numpy() for name in targets}


def _on_host(
    features: list[str], path: Path, names: list[str], targets: list[str], rows: Filter
) -> tuple[Any, Any]:
    options: Any = {"filters": list(rows) or None, "page_checksum_verification": True}
    table = pq.read_table(table_files(path), columns=names, **options)
    shared = table.select(features)
    if features:  # a new table without columns would have no rows
        shared = pa.table([*map(writable, shared.columns)], schema=shared.schema)
    frame = shared.to_pandas()
    for name in features:
        column = table.column(name)
        gaps = pa.types.is_integer(column.type) and column.null_count
        if gaps and plain_integers(column).type == column.type:  # float64 would merge some
            frame[name] = column.to_pandas(types_mapper=NULLABLE.get)
    return frame, {name: np.require(table[name].to_numpy(), None, "W") for name in targets}
