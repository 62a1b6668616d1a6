"""From raw CSV files to the table that a dataset publishes, with nothing guessed.

Files are verified before they are parsed, columns have declared types, joins cannot
change the number of rows, and the same input gives the same table everywhere.
"""

from __future__ import annotations

import importlib.util
import logging
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from datasets._store import Column, sha256
from datasets.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

FOLDS = 100

log = logging.getLogger("datasets")


@dataclass(frozen=True)
class Source:
    """A raw CSV file, possibly alone in a zip: its SHA-256 and what its columns hold.

    Parameters
    ----------
    sha256 : str
        In hexadecimal.
    columns : mapping of str to str
        Arrow's name of a type -> the columns of that type, separated by spaces.
        Together they are all columns of the file.
    """

    sha256: str
    columns: Mapping[str, str]

    def types(self) -> dict[str, str]:
        """Return column -> type.

        Examples
        --------
        >>> Source("", {"int8": "day hour", "string": "dest"}).types()
        {'day': 'int8', 'hour': 'int8', 'dest': 'string'}
        """
        return {name: kind for kind, names in self.columns.items() for name in names.split()}


def read_package(package: str, sources: Mapping[str, Source]) -> dict[str, pa.Table]:
    """Read files of an installed data package, without running any code of it.

    Parameters
    ----------
    package : str
        Import name; the files lie in its folder ``data``.
    sources : mapping of str to Source
        By file name.

    Returns
    -------
    dict of str to pyarrow.Table
        By file name.

    Raises
    ------
    DataError
        If the package is not installed, or a file is absent or not the pinned one.
    """
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise DataError(f"the data package {package} is not installed; run `make setup`")
    folder = Path(spec.submodule_search_locations[0]) / "data"
    for file, source in sources.items():
        if sha256(folder / file) != source.sha256:
            raise DataError(
                f"{folder / file}: not the file this dataset is made from (SHA-256 differs); "
                f"remove {package} and run `make setup`"
            )
    log.info("reading %s of %s", ", ".join(sources), package)
    return {file: read_csv(folder / file, source.types()) for file, source in sources.items()}


def read_csv(path: Path, types: Mapping[str, str]) -> pa.Table:
    """Read a CSV file, or the one inside ``<name>.csv.zip``, exactly as declared.

    Only the text ``NA`` is a missing value; an empty field is an empty text.

    Parameters
    ----------
    path : Path
        The file.
    types : mapping of str to str
        Column -> Arrow's name of its type, for all columns.

    Raises
    ------
    DataError
        If a column is missing, unknown or repeated, a row is longer or shorter than
        the header, or a value is not of its type.
    """
    import pyarrow as pa
    from pyarrow import csv

    options = csv.ConvertOptions(
        column_types={name: pa.type_for_alias(kind) for name, kind in types.items()},
        null_values=["NA"],
        strings_can_be_null=True,
    )
    try:
        with _opened(path) as file:
            table = csv.read_csv(file, convert_options=options)
    except (pa.ArrowInvalid, zipfile.BadZipFile, zlib.error, OSError, KeyError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from error
    if odd := sorted(set(table.column_names) ^ set(types)):
        raise DataError(f"{path}: columns missing or not expected: {', '.join(odd)}")
    if len(table.column_names) > len(types):
        raise DataError(f"{path}: a column is there twice")
    return table.combine_chunks()


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    if path.suffix != ".zip":
        with path.open("rb") as file:
            yield file
        return
    with zipfile.ZipFile(path) as archive, archive.open(path.stem) as member:
        yield member


def lookup(table: pa.Table, on: Sequence[Any], keys: Sequence[Any]) -> pa.Table:
    """Return the row of `table` for each key, all null where there is none.

    The right side of a left join that can neither lose nor repeat a row.

    Parameters
    ----------
    table : pyarrow.Table
        Where to look.
    on : sequence of pyarrow arrays
        The parts of the key of each row of `table`.
    keys : sequence of pyarrow arrays
        The parts of the wanted keys, in the same order.

    Raises
    ------
    DataError
        If two rows of `table` have the same key.
    """
    import pyarrow.compute as pc

    held, wanted = _joined(on), _joined(keys)
    if pc.count_distinct(held).as_py() != len(held):
        raise DataError("two rows to join have the same key, so which one to take is unknown")
    return table.take(pc.index_in(wanted, value_set=held))


def _joined(parts: Sequence[Any]) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = [pc.cast(part, pa.string()) for part in parts]
    return _array(pc.binary_join_element_wise(*texts, "\x1f"))


def _array(values: Any) -> pa.Array:
    import pyarrow as pa

    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else pa.array(values)


def fold(rows: np.ndarray) -> np.ndarray:
    """Return a number from 0 to 99 for each row number, as good as drawn at random.

    The output of SplitMix64 (Steele, Lea and Flood, 2014) for the state `rows`, modulo
    100: integers only, so it depends on no library, no order and no other row.

    Parameters
    ----------
    rows : ndarray of integers
        Row numbers in the raw file, from 0.

    Returns
    -------
    ndarray of uint8
        Same shape.

    Examples
    --------
    >>> import numpy as np
    >>> fold(np.arange(5)).tolist()
    [35, 0, 79, 44, 47]
    """
    import numpy as np

    x = (rows.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((x ^ (x >> np.uint64(31))) % np.uint64(FOLDS)).astype(np.uint8)


def minutes(clock: pa.ChunkedArray) -> np.ndarray:
    """Return minutes since midnight from hours and minutes written as ``1745``."""
    hhmm: np.ndarray = clock.to_numpy()
    return hhmm // 100 * 60 + hhmm % 100


def conform(values: Mapping[str, Any], columns: Mapping[str, Column]) -> pa.Table:
    """Return a table of exactly the declared columns, in that order and of those types.

    Parameters
    ----------
    values : mapping of str to array
        Arrow or NumPy arrays of one length, one per declared column.
    columns : mapping of str to Column
        As declared by the dataset.

    Raises
    ------
    DataError
        If a column is missing or undeclared, or a value does not fit its type.
    """
    import pyarrow as pa

    if odd := sorted(set(values) ^ set(columns)):
        raise DataError(f"columns made and columns declared differ: {', '.join(odd)}")
    return pa.table({name: _typed(name, values[name], c) for name, c in columns.items()})


def unified(tables: Sequence[pa.Table]) -> Iterator[pa.Table]:
    """Yield tables with the same sorted levels of a category in all of them.

    Parameters
    ----------
    tables : sequence of pyarrow.Table
        Of one schema, as `conform` makes them of parts of a table.
    """
    import pyarrow as pa

    names = [f.name for f in tables[0].schema if pa.types.is_dictionary(f.type)]
    whole = {name: _levels([_array(t[name]).dictionary for t in tables]) for name in names}
    for table in tables:
        coded = {name: _recoded(_array(table[name]), levels) for name, levels in whole.items()}
        yield pa.table({name: coded.get(name, table[name]) for name in table.column_names})


def _levels(dictionaries: Sequence[Any]) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    levels = pc.unique(pa.concat_arrays(dictionaries))
    return levels.take(pc.sort_indices(levels))


def _recoded(values: Any, levels: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    places = pc.index_in(values.dictionary, value_set=levels)
    return pa.DictionaryArray.from_arrays(places.take(values.indices), levels)


def _typed(name: str, values: Any, column: Column) -> Any:
    import pyarrow as pa

    try:
        array = _array(values)
        if column.type == "category":
            return _encoded(array)
        return array.cast(pa.type_for_alias(column.type))
    except pa.ArrowInvalid as error:
        raise DataError(f"column {name}: {error}") from error


def _encoded(values: Any) -> Any:
    """Return `values` as codes into their sorted levels."""
    import pyarrow as pa
    import pyarrow.compute as pc

    levels = pc.unique(values).drop_null()
    levels = levels.take(pc.sort_indices(levels))
    return pa.DictionaryArray.from_arrays(pc.index_in(values, value_set=levels), levels)
