"""A file of one's own, CSV or Parquet, as an Arrow table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline import delimited
from pipeline.errors import DataError

_MOMENTS = (pa.timestamp("ns"), pa.timestamp("ns", "UTC"))


def read(path: Path) -> pa.Table:
    """Read a whole file; of CSV, texts that are all written as dates are dates.

    Parameters
    ----------
    path : Path
        Parquet if its name ends in ``.parquet`` or ``.pq``, else CSV, with a header.

    Returns
    -------
    pyarrow.Table
        A column without a name is called ``Unnamed: N``, from 0, as pandas does.

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
    names = [name or f"Unnamed: {i}" for i, name in enumerate(table.column_names)]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise DataError(f"{path}: has columns with the same name: {twice}; rename all but one")
    if not len(table):
        raise DataError(f"{path}: no rows")
    return table.rename_columns(names)


def _csv(path: Path) -> pa.Table:
    table = delimited.read(path)
    for i, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            table = table.set_column(i, field.name, _dated(table[field.name]))
    return table


def _dated(texts: Any) -> Any:
    """Return dates, where all texts are written as such."""
    for kind in _MOMENTS:
        try:
            return texts.cast(kind)
        except pa.ArrowInvalid:
            continue
    return texts
