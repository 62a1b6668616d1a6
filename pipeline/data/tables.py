"""Tables as frames of pandas, with the types that the steps of a pipeline take."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa

from pipeline.data import read
from pipeline.data.arrow_types import usable
from pipeline.data.parts import to_frame
from pipeline.data.table_format import TableFormat
from pipeline.errors import ConfigError


def read_table(source: Any, format: TableFormat | None = None) -> pd.DataFrame:
    r"""Return a whole table as a frame.

    Parameters
    ----------
    source : str, Path, frame or table
        A file, a folder of files of one kind, or a table of pandas, Polars or Arrow. Files are
        CSV, TSV, JSON lines, Parquet or Feather; those of text may be compressed.
    format : TableFormat, optional
        How its cells are read, as `table_format_` of a model that a task has fitted, or `format`
        of a task. By default encoding and delimiter are found out, and cells are read by the rules
        of `pandas.read_csv`. By a format, infinite numbers and dates that nanoseconds do not reach
        are missing, as in training.

    Returns
    -------
    frame : pandas.DataFrame
        Integers beside missing values are float64 or, from 2⁵³ on, nullable; truth values beside
        them are nullable.

    Raises
    ------
    ConfigError
        `format` is something else.
    DataError
        A file is missing, damaged or of no kind that is read, has no rows, or a cell does not fit
        the format; what to do is said.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as home:
    ...     path = pathlib.Path(home) / "houses.csv"
    ...     _ = path.write_text("town;rooms\nMünchen;3\nKöln;\n", encoding="utf-16")
    ...     read_table(path)
          town  rooms
    0  München    3.0
    1     Köln    NaN
    """
    if not isinstance(format, TableFormat | None):
        raise ConfigError(
            f"format={format!r} is not a TableFormat; pass a model's table_format_, or none"
        )
    table = read.read_arrow(source, format)
    if format is not None:
        table = pa.table({name: usable(table[name]) for name in table.column_names})
    return to_frame(table)
