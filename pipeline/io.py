"""Reading tables to where they will be used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline import frames, parquet
from pipeline.errors import DataError
from pipeline.memory import is_exhausted, told
from pipeline.persistence import parquet_files
from pipeline.task import Filter


def read(
    path: Path,
    features: Sequence[str] | str,
    target: str | Sequence[str],
    rows: Filter,
    device: str,
) -> tuple[Any, Any]:
    """Return the features on a device and the target on the host.

    Parameters
    ----------
    path : Path
        A Parquet file, or a folder of them; on the host page checksums are verified.
    features : sequence of str or str
        A name by itself gives the column in place of a frame.
    target : str or sequence of str
        Several give as many arrays, by name.
    rows : list of tuple
        Conditions; row groups that hold no such rows are not read.
    device : {"cpu", "cuda"}

    Returns
    -------
    X : pandas.DataFrame or cudf.DataFrame, or a Series of the same
        Dictionary-encoded columns are categorical.
    y : numpy.ndarray, shape (n_rows,), or dict of str to such

    Raises
    ------
    DataError
        The file is missing, damaged, or lacks a column.
    OutOfMemory
        The rows do not fit in the memory that is left.
    """
    with told("input", "read", device):
        return _read(path, features, target, rows, device)


def _read(
    path: Path,
    features: Sequence[str] | str,
    target: str | Sequence[str],
    rows: Filter,
    device: str,
) -> tuple[Any, Any]:
    columns: Any = features if isinstance(features, str) else list(features)
    named = [columns] if isinstance(columns, str) else columns
    targets = [target] if isinstance(target, str) else list(target)
    names = list(dict.fromkeys([*named, *targets]))
    with _worded(path):
        frame, found = (_on_gpu if device == "cuda" else _on_host)(path, names, targets, rows)
    return frame[columns], found[target] if isinstance(target, str) else found


def _on_gpu(path: Path, names: list[str], targets: list[str], rows: Filter) -> tuple[Any, Any]:
    files = parquet_files(path)
    reader = parquet.Reader.of(files, names, rows)
    frame = reader.read({file: reader.groups(file) for file in files})
    # Splitters and metrics of scikit-learn use the target on the host.
    host = frames.to_device(frame[targets], "cpu")
    return frame, {name: host[name].to_numpy() for name in targets}


def _on_host(path: Path, names: list[str], targets: list[str], rows: Filter) -> tuple[Any, Any]:
    table = pq.read_table(
        path, columns=names, filters=list(rows) or None, page_checksum_verification=True
    )
    frame = table.to_pandas()
    for name in filter(lambda name: _is_wide(table.column(name)), names):
        frame[name] = table.column(name).to_pandas(types_mapper=_NULLABLE.get)
    return frame, {name: table.column(name).to_numpy() for name in targets}


_NULLABLE = {pa.int64(): pd.Int64Dtype(), pa.uint64(): pd.UInt64Dtype()}


def _is_wide(column: Any) -> bool:
    """Return whether pandas would make integers with gaps float64, in which some are one."""
    if column.type not in _NULLABLE or not column.null_count:
        return False
    extremes = pc.min_max(column).as_py().values()
    return any(each is not None and abs(each) >= 2**53 for each in extremes)


@contextmanager
def _worded(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise DataError(f"{path}: no such file; make it with `make data`") from error
    except (pa.ArrowException, OSError) as error:
        if is_exhausted(error):
            raise
        # Arrow adds the whole schema to some of its messages.
        cause = str(error).partition("\n")[0]
        raise DataError(
            f"{path}: cannot be read: {cause}; `make clean-data`, then `make data`"
        ) from error
