"""What predictions are written as, by the name of their file: Parquet, CSV or JSON lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Final, Literal

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from pipeline.data.arrow_types import decoded_type
from pipeline.errors import ConfigError

Kind = Literal["parquet", "csv", "jsonl"]
DELIMITERS: Final = {".csv": ",", ".tsv": "\t"}
KINDS: Final[dict[str, Kind]] = {
    "": "parquet",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
_FORMULA: Final = r"^\s*[=+\-@\t\r]"
"""Text that a spreadsheet runs."""
_NUMBER: Final = r"^\s*[+-]?([0-9][0-9.,]*|[.,][0-9]+)([eE][+-]?[0-9]+)?\s*$"
_SLICE: Final = 8192
"""Rows that are Python objects at a time."""
_CELLS: Final = (
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
    pa.types.is_date,
    pa.types.is_timestamp,
    pa.types.is_time,
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_string_view,
    pa.types.is_null,
)
"""What a cell of text can stand for."""


def suffix_of(target: Path) -> str:
    """Return the end of a name that says what the file is, without that of gzip.

    >>> [suffix_of(Path(name)) for name in ("out", "late.CSV", "late.csv.gz", "run.2/late")]
    ['', '.csv', '.csv', '']
    """
    return Path(target.stem if is_zipped(target) else target.name).suffix.lower()


def is_zipped(target: Path) -> bool:
    """Return whether a file is compressed, by its name."""
    return target.suffix.lower() == ".gz"


def output_kind(target: Path) -> Kind:
    """Return what is written to a file, by its name.

    Raises
    ------
    ConfigError
        The name says that it is something else.
    """
    kind = KINDS.get(suffix_of(target))
    if kind is None or (kind == "parquet" and is_zipped(target)):
        raise ConfigError(
            f"{target}: predictions are written as .parquet, .csv, .tsv or .jsonl, the last three "
            "also with .gz behind; choose one of these names"
        )
    return kind


def check_cells(target: Path, table: pa.Table) -> None:
    """Refuse columns that are no cells of text, where the file holds text.

    Raises
    ------
    ConfigError
        A column holds lists, bytes or the like; or infinite numbers, for JSON.
    """
    kind = output_kind(target)
    for field, column in zip(table.schema, table.columns, strict=True):
        if kind != "parquet" and not any(fits(_decoded(field.type)) for fits in _CELLS):
            raise ConfigError(
                f"{target}: the column {field.name!r} holds {field.type}, which is no cell of "
                "text; write a .parquet file, or do not copy the column"
            )
        infinite = pa.types.is_floating(field.type) and pc.any(pc.is_inf(column)).as_py()
        if kind == "jsonl" and infinite:
            raise ConfigError(
                f"{target}: the column {field.name!r} holds infinite numbers, which JSON does not "
                "have; write a .csv or .parquet file"
            )


def _decoded(kind: pa.DataType) -> pa.DataType:
    kind = decoded_type(kind)
    return pa.string() if pa.types.is_string_view(kind) else kind


def write_file(
    draft: Path, target: Path, parts: Sequence[Path], name: str, record: bytes, *,
    quote_formulas: bool = False,
) -> int:  # fmt: skip
    """Write one file of all parts, which only later has the name of the target.

    Parameters
    ----------
    draft, target : Path
    parts : sequence of Path
        Parquet files, in order.
    name : str
        Key of the record in the metadata of a Parquet file.
    record : bytes
    quote_formulas : bool
        Put a ``'`` before text that a spreadsheet would run.

    Returns
    -------
    int
        The rows that were written.
    """
    schema = pq.read_schema(parts[0])
    rows = 0

    def tables() -> Iterator[pa.Table]:
        nonlocal rows
        for each in parts:
            table = pq.read_table(each, page_checksum_verification=True).cast(schema)
            rows += len(table)
            yield table

    if output_kind(target) == "parquet":
        schema = schema.with_metadata({**(schema.metadata or {}), name: record})
        with pq.ParquetWriter(draft, schema, write_page_checksum=True) as writer:
            for table in tables():
                writer.write_table(table.replace_schema_metadata(schema.metadata))
        return rows
    write = _write_csv if output_kind(target) == "csv" else _write_lines
    compression = "gzip" if is_zipped(target) else None
    with pa.output_stream(draft, compression=compression) as stream:
        cells = (_as_cells(table) for table in tables())
        write(stream, map(_quoted, cells) if quote_formulas else cells, target)
    return rows


def _as_cells(table: pa.Table) -> pa.Table:
    """Return a table without codes, pandas' index first; one without a name is the ``index``."""
    stored = (table.schema.pandas_metadata or {}).get("index_columns", [])
    index = [name for name in stored if isinstance(name, str)]
    ordered = table.select([*index, *(n for n in table.column_names if n not in index)])
    names = ordered.column_names
    if index == ["__index_level_0__"] and "index" not in names:
        names[0] = "index"
    types = [(field.name, _decoded(field.type)) for field in ordered.schema]
    return ordered.cast(pa.schema(types)).rename_columns(names)


def _quoted(table: pa.Table) -> pa.Table:
    """Return a table of which a spreadsheet runs no text; a number is none, whatever its sign.

    >>> _quoted(pa.table({"=a": ["=1+1", "-5", "-5+A1", "b"]})).to_pydict()
    {"'=a": ["'=1+1", '-5', "'-5+A1", 'b']}
    """
    for number, field in enumerate(table.schema):
        column = table.column(number)
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
            runs = pc.match_substring_regex(column, _FORMULA)
            plain = pc.match_substring_regex(column, _NUMBER)
            mark = pa.scalar("'", field.type)
            quoted = pc.binary_join_element_wise(mark, column, pa.scalar("", field.type))
            column = pc.if_else(pc.and_not(runs, plain), quoted, column)
        name = f"'{field.name}" if re.match(_FORMULA, field.name) else field.name
        table = table.set_column(number, name, column)
    return table


def _write_csv(stream: IO[bytes], tables: Iterator[pa.Table], target: Path) -> None:
    delimiter = DELIMITERS[suffix_of(target)]
    for number, table in enumerate(tables):
        how = pyarrow.csv.WriteOptions(include_header=number == 0, delimiter=delimiter)
        pyarrow.csv.write_csv(table, stream, how)


def _write_lines(stream: IO[bytes], tables: Iterator[pa.Table], target: Path) -> None:
    encode: Callable[[Any], bytes] = msgspec.json.Encoder().encode_lines
    for table in tables:
        for start in range(0, len(table), _SLICE):
            stream.write(encode(_written_out(table.slice(start, _SLICE)).to_pylist()))


def _written_out(table: pa.Table) -> pa.Table:
    """Return a table whose dates are texts of full precision."""
    for number, field in enumerate(table.schema):
        if pa.types.is_temporal(field.type):
            text = table.column(number).cast(pa.string())
            table = table.set_column(number, field.name, text)
    return table
