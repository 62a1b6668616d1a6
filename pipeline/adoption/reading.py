"""A file of one's own, CSV or Parquet, as an Arrow table."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq

from pipeline import cells
from pipeline.errors import DataError

_LARGEST_BLOCK = 1 << 30


def read(path: Path) -> pa.Table:
    """Read a whole file; the types of a CSV file are those that all its rows allow.

    Parameters
    ----------
    path : Path
        Parquet if its name ends in ``.parquet`` or ``.pq``, else CSV, with a header.

    Returns
    -------
    pyarrow.Table
        A column without a name is called ``column_N``, from 1.

    Raises
    ------
    DataError
        The file is missing or damaged, has no rows, or has two columns of one name.
    """
    try:
        parquet = path.suffix.lower() in (".parquet", ".pq")
        table = pq.read_table(path) if parquet else _csv(path)
    except (pa.ArrowException, OSError) as error:
        cause = str(error).partition("\n")[0]
        raise DataError(f"{path}: cannot be read: {cause}") from error
    names = [name or f"column_{i}" for i, name in enumerate(table.column_names, 1)]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise DataError(f"{path}: more than one column is called {twice}; rename all but one")
    if not len(table):
        raise DataError(f"{path}: no rows")
    return table.rename_columns(names)


def _csv(path: Path) -> pa.Table:
    # A type is inferred from one block: the block is the file, as far as Arrow can.
    block = csv.ReadOptions(block_size=min(max(path.stat().st_size, 1 << 16), _LARGEST_BLOCK))
    parsing = cells.parsing(path)
    options = csv.ConvertOptions(strings_can_be_null=True)
    table = csv.read_csv(path, block, parsing, options)
    # Arrow takes the texts NA, None and null for missing values.
    names = [field.name for field in table.schema if pa.types.is_string(field.type)]
    if not names or len(set(table.column_names)) < table.num_columns:
        return table
    options = cells.texts(dict.fromkeys(names, pa.string()), names)
    texts = csv.read_csv(path, block, parsing, options)
    for name in names:
        table = table.set_column(table.column_names.index(name), name, texts[name])
    return table
