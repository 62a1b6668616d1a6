"""Large raw files, read piece by piece with declared types, so that memory stays bounded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from datasets.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

ROWS = 1_000_000
"""Of a row group."""
_BLOCK = 16 << 20


def pieces(
    path: Path, types: Mapping[str, str], *, header: bool = False, stream: Any = None
) -> Iterator[pa.Table]:
    """Yield the declared columns of a CSV file in tables of about a million rows.

    Parameters
    ----------
    path : Path
        The file, compressed if its name says so; named in errors.
    types : mapping of str to str
        Column -> Arrow's name of its type; without a header, all columns in order.
    header : bool
        Whether the first line names the columns; more may be there than declared.
    stream : file, optional
        What to read in place of `path`.

    Raises
    ------
    DataError
        If the file is cut off, a column is missing or a value is not of its type.
    """
    import pyarrow as pa
    from pyarrow import csv

    names = None if header else list(types)
    read = csv.ReadOptions(column_names=names, block_size=_BLOCK)
    convert = csv.ConvertOptions(
        column_types={name: pa.type_for_alias(kind) for name, kind in types.items()},
        include_columns=list(types),
        strings_can_be_null=True,
        quoted_strings_can_be_null=True,
    )
    with faults(path), _opened(path, stream) as source:
        yield from gathered(csv.open_csv(source, read_options=read, convert_options=convert))


def zipped(path: Path, types: Mapping[str, str]) -> Iterator[pa.Table]:
    """Yield the declared columns of the CSV file, with a header, in a zip archive."""
    import zipfile

    with faults(path), zipfile.ZipFile(path) as archive:
        name = next((n for n in archive.namelist() if n.endswith(".csv")), "no CSV file in it")
        with archive.open(name) as member:
            yield from pieces(path, types, header=True, stream=member)


@contextmanager
def _opened(path: Path, stream: Any) -> Iterator[Any]:
    import pyarrow as pa

    if stream is not None:
        yield stream
    else:
        with pa.input_stream(str(path), compression="detect") as source:
            yield source


@contextmanager
def faults(path: Path) -> Iterator[None]:
    """Turn what goes wrong while a file is parsed into a `DataError` that names it."""
    import tarfile
    import zipfile

    import pyarrow as pa

    broken = (pa.ArrowException, zipfile.BadZipFile, tarfile.TarError, EOFError, KeyError)
    try:
        yield
    except (*broken, OSError, ValueError) as error:
        cause = str(error).partition("\n")[0]
        raise DataError(f"{path}: cannot be read: {cause}; remove it to fetch it anew") from error


def gathered(batches: Iterable[Any], rows: int = ROWS) -> Iterator[pa.Table]:
    """Yield record batches joined to tables of at least `rows` rows, the last one shorter."""
    import pyarrow as pa

    held: list[Any] = []
    for batch in batches:
        held.append(batch)
        if sum(map(len, held)) >= rows:
            yield pa.Table.from_batches(held)
            held = []
    if held:
        yield pa.Table.from_batches(held)


def numbered(tables: Iterable[pa.Table]) -> Iterator[tuple[Any, pa.Table]]:
    """Yield each table with the numbers of its rows in the whole."""
    import numpy as np

    start = 0
    for table in tables:
        yield np.arange(start, start + len(table)), table
        start += len(table)


def groups(table: pa.Table, rows: int = ROWS) -> Iterator[pa.Table]:
    """Yield slices of a table, one per row group."""
    for start in range(0, len(table), rows):
        yield table.slice(start, rows)


def years(text: str, since: int) -> tuple[int, int]:
    """Return the first and the last year of ``"2019"`` or ``"2006-2019"``.

    Raises
    ------
    ValueError
        It is neither, or before `since`.

    Examples
    --------
    >>> years("2006-2019", 1988)
    (2006, 2019)
    """
    match = re.fullmatch(r"(\d{4})(?:-(\d{4}))?", text)
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not since <= first <= last:
        raise ValueError(f"years: {text!r} is no year or range from {since} on, as 2006-2019")
    return first, last
