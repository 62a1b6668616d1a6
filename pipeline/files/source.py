"""Sources of a table: the names and types of its columns, and its rows in batches."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json
import pyarrow.parquet as pq

from pipeline.errors import DataError
from pipeline.files.files import TextFile, reading

BROKEN = (MemoryError, OverflowError, AttributeError, LookupError, TypeError, ValueError)
"""A damaged footer may be anything, to Arrow or to the JSON that pandas left in it."""
BATCH = 65_536
_BUFFER = 1024**2
"""Bytes of a column that are read ahead."""
_ORIENT = "write one object per row, as DataFrame.to_json(orient='records', lines=True) does"
_BLOCK = 2**31 - 1


@dataclass(frozen=True)
class Source:
    """A file of a table, opened; `guesses` says in words what is only likely of it.

    Of CSV all columns are text: the cells, of which the types are found from all rows.
    """

    kind: ClassVar[str]
    path: Path
    schema: pa.Schema
    encoding: str = "utf-8"
    guesses: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """The columns."""
        return list(self.schema.names)

    def index(self) -> list[str]:
        """Return the columns in which pandas keeps the labels of the rows."""
        with reading(self.path, *BROKEN):
            stored = (self.schema.pandas_metadata or {}).get("index_columns", [])
        return [name for name in stored if isinstance(name, str)]

    def batches(self, columns: Sequence[str], size: int = BATCH) -> Iterator[pa.RecordBatch]:
        """Yield columns, a bounded number of rows at a time."""
        raise NotImplementedError

    def table(self, columns: Sequence[str]) -> pa.Table:
        """Return columns of all rows."""
        schema = pa.schema([self.schema.field(name) for name in columns])
        return pa.Table.from_batches(self.batches(columns), schema).unify_dictionaries()


class ParquetSource(Source):
    """A Parquet file."""

    kind = "parquet"

    @classmethod
    def open(cls, path: Path) -> ParquetSource:
        """Read what a file says of its columns."""
        with reading(path, *BROKEN):
            return cls(path, pq.read_schema(path))

    def batches(self, columns: Sequence[str], size: int = BATCH) -> Iterator[pa.RecordBatch]:
        """Yield columns, a bounded number of rows at a time; checksums are verified."""
        with (
            reading(self.path, *BROKEN),
            pq.ParquetFile(
                self.path, buffer_size=_BUFFER, pre_buffer=False, page_checksum_verification=True
            ) as file,
        ):
            yield from file.iter_batches(batch_size=size, columns=list(columns))


class FeatherSource(Source):
    """A file of Arrow's own: Feather, or an IPC file."""

    kind = "feather"

    @classmethod
    def open(cls, path: Path) -> FeatherSource:
        """Read what a file says of its columns."""
        with reading(path, *BROKEN), pa.ipc.open_file(pa.memory_map(str(path))) as reader:
            return cls(path, reader.schema)

    def batches(self, columns: Sequence[str], size: int = BATCH) -> Iterator[pa.RecordBatch]:
        """Yield columns in the batches of the file."""
        with reading(self.path, *BROKEN), pa.ipc.open_file(pa.memory_map(str(self.path))) as reader:
            for number in range(reader.num_record_batches):
                read = reader.get_batch(number).select(list(columns))
                # Where a text ends is taken from the file as it is, damaged or not.
                read.validate(full=True)
                yield read


@dataclass(frozen=True, kw_only=True)
class JsonSource(Source):
    """A file of JSON, which is read whole: all rows decide the types of its columns."""

    kind: ClassVar[str] = "json"
    whole: pa.Table = field(repr=False)

    @classmethod
    def open(cls, path: Path, encoding: str | None = None) -> JsonSource:
        """Read all rows."""
        with reading(path):
            text = TextFile.find(path, encoding)
            whole = _parse(text)
        guesses = (text.guess,) if text.guess else ()
        return cls(path, whole.schema, text.encoding, guesses, whole=whole)

    def __getstate__(self) -> dict[str, Any]:
        """Workers that predict rows need no file."""
        return vars(self) | {"whole": None}

    def batches(self, columns: Sequence[str], size: int = BATCH) -> Iterator[pa.RecordBatch]:
        """Yield columns, a bounded number of rows at a time."""
        yield from self.whole.select(list(columns)).to_batches(max_chunksize=size)


def _parse(text: TextFile) -> pa.Table:
    """Return the rows; texts stay texts, also where they are dates."""
    path = text.path
    with text.open() as stream:
        data = stream.read()
    if data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"[":
        try:
            rows = json.loads(data.decode("utf-8-sig"))
        except ValueError as error:
            raise DataError(f"{path}: is not JSON: {error}; {_ORIENT}") from error
        data = "\n".join(map(json.dumps, rows)).encode()
    if not data.strip():
        return pa.table({})
    try:
        table = _read(data)
        names = table.column_names
        if dates := [each.name for each in table.schema if pa.types.is_timestamp(each.type)]:
            table = _read(data, pa.schema([(name, pa.string()) for name in dates])).select(names)
    except pa.ArrowInvalid as error:
        said = str(error).removeprefix("JSON parse error: ")
        way = f"use one type for all values of a column, and write {_ORIENT.removeprefix('write ')}"
        raise DataError(f"{path}: cannot be read: {said}; {way}") from error
    for name, values in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_nested(values.type):
            raise DataError(
                f"{path}: column {name!r} holds objects or lists; write them as separate columns "
                f"(pandas.json_normalize) or as text; {_ORIENT}"
            )
        top = pc.max(pc.abs(values)).as_py() or 0 if pa.types.is_floating(values.type) else 0
        if top >= 2**63 and pc.all(pc.equal(values, pc.trunc(values))).as_py():  # Arrow rounds them
            raise DataError(
                f"{path}: column {name!r} holds integers beyond 64 bits; write them as text"
            )
    return table


def _read(data: bytes, texts: pa.Schema | None = None) -> pa.Table:
    return pyarrow.json.read_json(
        pa.BufferReader(data),
        pyarrow.json.ReadOptions(block_size=min(len(data) + 1, _BLOCK)),
        pyarrow.json.ParseOptions(explicit_schema=texts),
    )
