"""JSON lines, or one array of records, as columns of the same types in every batch."""

from __future__ import annotations

import json
import math
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from pipeline.data.files import ending, reading
from pipeline.data.text import TextFile
from pipeline.errors import DataError

Row: TypeAlias = dict[str, Any]
_BATCH, _HEAD = 10_000, 4096
_KINDS = {bool: "bool", int: "int", float: "float", str: "str"}
_ORIENT = "write one object for each row, as DataFrame.to_json(orient='records', lines=True)"


@dataclass(frozen=True)
class JsonFile:
    """Rows of a file, and the types of its columns, which all rows decide.

    Parameters
    ----------
    path : Path
    text : TextFile
    schema : pyarrow.Schema
        In the order in which the names are met. Values of several types are text, and objects
        and lists their JSON.
    nested : tuple of str
        Columns of such.
    """

    path: Path
    text: TextFile
    schema: pa.Schema
    nested: tuple[str, ...] = ()

    @classmethod
    def open(cls, path: Path, encoding: str | None = None) -> JsonFile:
        """Read all rows once.

        Raises
        ------
        DataError
            A row is no object, or what is written is no JSON; the row is named.
        """
        with reading(path):
            text = TextFile.find(path, encoding)
            kinds: dict[str, _Kind] = {}
            rows = 0
            for rows, row in enumerate(_rows(text), 1):  # noqa: B007
                for name, value in row.items():
                    kinds.setdefault(name, _Kind()).add(value)
        schema = pa.schema([(name, kind.type) for name, kind in kinds.items()])
        nested = tuple(name for name, kind in kinds.items() if "nested" in kind.kinds)
        if rows == 1 and nested and ending(path) != "jsonl":
            raise DataError(f"{path}: is one object that holds {list(kinds)[:5]}; {_ORIENT}")
        return cls(path, text, schema, nested)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return tuple(self.schema.names)

    def batches(self, columns: Sequence[str], size: int = _BATCH) -> Iterator[pa.RecordBatch]:
        """Yield columns, a bounded number of rows at a time."""
        schema = pa.schema([self.schema.field(name) for name in columns])
        with reading(self.path, ValueError, OverflowError):
            rest = _rows(self.text)
            while rows := list(islice(rest, size)):
                values = [_array([row.get(f.name) for row in rows], f.type) for f in schema]
                yield pa.record_batch(values, schema=schema)


class _Kind:
    """What the values of a column are, as far as they have been seen."""

    def __init__(self) -> None:
        self.kinds: set[str] = set()
        self.low = self.high = 0

    def add(self, value: Any) -> None:
        if value is None or _is_nan(value):
            return
        self.kinds.add(_KINDS.get(type(value), "nested"))
        if type(value) is int:
            self.low, self.high = min(self.low, value), max(self.high, value)

    @property
    def type(self) -> pa.DataType:
        if self.kinds == {"int"}:
            return self._integer()
        if self.kinds <= {"int", "float"}:
            return pa.float64() if self.kinds else pa.null()
        return pa.bool_() if self.kinds == {"bool"} else pa.string()

    def _integer(self) -> pa.DataType:
        """Return a type that holds all integers; of integers beyond 64 bits the texts."""
        if self.low >= -(2**63) and self.high < 2**63:
            return pa.int64()
        return pa.uint64() if self.low >= 0 and self.high < 2**64 else pa.string()


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _array(values: list[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_string(kind):
        values = [each if each is None or isinstance(each, str) else _text(each) for each in values]
    elif pa.types.is_floating(kind):
        values = [None if each is None or _is_nan(each) else float(each) for each in values]
    else:
        values = [None if _is_nan(each) else each for each in values]
    return pa.array(values, kind)


def _text(value: Any) -> str | None:
    return None if _is_nan(value) else json.dumps(value, ensure_ascii=False)


def _rows(text: TextFile) -> Iterator[Row]:
    for row, value in enumerate(_array_rows(text) if _is_array(text) else _line_rows(text)):
        if not isinstance(value, dict):
            raise DataError(f"{text.path}: row {row} is {str(value)[:40]!r}, no object; {_ORIENT}")
        yield value


def _is_array(text: TextFile) -> bool:
    with text.open() as stream:
        return bool(stream.read(_HEAD).removeprefix(BOM_UTF8).lstrip()[:1] == b"[")


def _array_rows(text: TextFile) -> Iterator[Any]:
    with text.open() as stream:
        yield from _loads(text, stream.read().removeprefix(BOM_UTF8).decode(), "it")


def _line_rows(text: TextFile) -> Iterator[Any]:
    with text.lines() as lines:
        decoded = (text.decode(line).removeprefix("\ufeff").strip() for line in lines)
        for row, line in enumerate(filter(None, decoded)):
            yield _loads(text, line, f"row {row}")


def _loads(text: TextFile, written: str, what: str) -> Any:
    try:
        return json.loads(written)
    except ValueError as error:
        raise DataError(f"{text.path}: {what} is no JSON: {error}; {_ORIENT}") from error
