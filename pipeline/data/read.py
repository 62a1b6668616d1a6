"""Tables in files, read into memory or, where they do not fit, as partitions.

`preflight` says beforehand which of the two, by what the files say of their size.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa

from pipeline.data import frames, opened, parquet, partitioned
from pipeline.data.arrow_types import arrow_table, plain_values, usable
from pipeline.data.files import Filter
from pipeline.data.scan import is_parquet, scan, table_bytes, to_frame
from pipeline.data.table_format import TableFormat
from pipeline.distributed.cluster import active
from pipeline.errors import ConfigError, DataError

How = Literal["in memory", "streaming", "cluster"]

_INDEX = re.compile(r"__index_level_\d+__")
"""What pandas calls an index without a name, in a file."""
TABLES = 5
"""What a fit takes, in tables; steps that make more columns than they read take more."""


@dataclass(frozen=True)
class Preflight:
    """What will be done with a table, and why.

    Parameters
    ----------
    how : {"in memory", "streaming", "cluster"}
        As one table; partition by partition in this process; by the workers of the cluster.
    need, free : int
        Bytes that fitting the table as a whole takes, about; those that are left.

    Examples
    --------
    >>> print(Preflight("streaming", 3_000_000_000, 2_000_000_000))
    streaming: a fit needs about 3.0 GB and 2.0 GB are free
    """

    how: How
    need: int
    free: int

    def __str__(self) -> str:
        """Say it in a sentence."""
        need, free = (f"{size / 1e9:.1f} GB" for size in (self.need, self.free))
        return f"{self.how}: a fit needs about {need} and {free} are free"


def preflight(path: str | Path, columns: Sequence[str], *, device: str = "cpu") -> Preflight:
    """Return how a table in files should be read, from what the files say of it.

    Parquet inside of `pipeline.cluster` by its workers, or else in partitions where it does not
    fit in memory; other files in memory.

    Parameters
    ----------
    path : str or Path
        CSV, JSON lines, Parquet, Feather, or a folder of one kind of them.
    columns : sequence of str
        The features and the target.
    device : {"cpu", "cuda"}

    Raises
    ------
    DataError
        A file is missing or damaged, lacks a column, or has another type for it than the first.
    """
    need = TABLES * table_bytes(Path(path), columns)
    cluster, whole = active(), not is_parquet(Path(path))
    if cluster is not None and not whole:
        limits = [worker["memory_limit"] for worker in cluster.workers().values()]
        return Preflight("cluster", need, sum(limits))
    free = partitioned.room(device)
    return Preflight("in memory" if whole or need <= free else "streaming", need, free)


def read(
    path: str | Path,
    features: Sequence[str],
    target: str,
    *,
    rows: Filter = (),
    device: str = "cpu",
    format: TableFormat | None = None,
) -> tuple[Any, np.ndarray]:
    """Return the features of a table in files as `preflight` advises, and the target on the host.

    Parameters
    ----------
    path : str or Path
        CSV, JSON lines, Parquet, Feather, or a folder of one kind of them.
    features : sequence of str
    target : str
    rows : list of tuple
        Conditions on columns, as ``[("month", "<=", 9)]``. For Parquet without `format`.
    device : {"cpu", "cuda"}
    format : TableFormat, optional
        How cells are read; by default by the rules of `pandas.read_csv`.

    Returns
    -------
    X : frame or Dask frame
        `Accelerated` takes both.
    y : numpy.ndarray, shape (n_rows,)

    Raises
    ------
    DataError
        See `preflight`.
    """
    path, names = Path(path), list(dict.fromkeys([*features, target]))
    advice = preflight(path, names, device=device)
    if is_parquet(path) and not opened.is_read_by(format, names):
        if advice.how != "in memory":
            return scan(path, features, target, rows=rows, device=device)
        return parquet.read_parquet(path, features, target, rows, device, made=False)
    if rows:
        raise ConfigError(
            f"{path}: rows={rows!r} is for Parquet without a format; filter, or convert the file"
        )
    if partitioned.COPIES * advice.need > TABLES * advice.free:
        raise DataError(f"{path}: {advice}; only Parquet without a format comes in partitions")
    frame = to_frame(opened.read_values(path, format, names))
    return frames.to_device(frame[list(features)], device), frame[target].to_numpy()


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
    table = read_arrow(source, format)
    if format is not None:
        table = pa.table({name: usable(table[name]) for name in table.column_names})
    return to_frame(table)


def read_arrow(source: Any, format: TableFormat | None = None) -> pa.Table:
    """Return a whole table as Arrow has it; see `read_table`, and there for errors."""
    if isinstance(source, str | Path):
        return _with_rows(str(source), opened.read_values(Path(source), format))
    return _with_rows("the table", opened.format_table(arrow_table(source), format))


def _with_rows(what: str, table: pa.Table) -> pa.Table:
    table = table.rename_columns([n or f"Unnamed: {i}" for i, n in enumerate(table.column_names)])
    if not len(table):
        raise DataError(f"{what}: no rows")
    names = [name for name in table.column_names if not _INDEX.fullmatch(name)]
    return pa.table({name: plain_values(table[name]) for name in names})
