"""The sizes of a sweep: shares of a table's rows, in files of their own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.errors import CannotWrite, ConfigError
from pipeline.persistence import digest, parquet_files

FOLDER = ".sizes"


def parse(text: str) -> tuple[float, ...]:
    """Return sizes in ascending order, each once.

    Parameters
    ----------
    text : str
        Numbers with commas: up to 1 a share of the rows, above it a number of rows.

    Raises
    ------
    ConfigError
        Something in it is no such number.

    Examples
    --------
    >>> parse("1.0, 0.1,0.3")
    (0.1, 0.3, 1.0)
    >>> parse("")
    ()
    """
    words = [word.strip() for word in text.split(",") if word.strip()]
    return tuple(sorted({_size(word) for word in words}))


def _size(word: str) -> float:
    try:
        value = float(word)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf") or (value > 1 and value != int(value)):
        raise ConfigError(
            f"--sizes: {word!r} is no size; give shares of the rows such as 0.1,0.3,1.0 "
            "(or numbers of rows, for a task whose table is generated)"
        )
    return value


def cut(path: Path, share: float, seed: int) -> Path:
    """Write a share of a file's rows to a file of its own, unless it is there.

    Rows are drawn one by one and keep their order; those of a smaller share are among those of a
    larger one. Types, compression and the size of row groups are the file's.

    Parameters
    ----------
    path : Path
        A Parquet file, or a folder of such files.
    share : float
        Greater than 0, up to 1.
    seed : int

    Returns
    -------
    Path
        In a hidden folder beside the file; the file itself for all of it.

    Raises
    ------
    CannotWrite
        The folder of the data cannot be written, or the disk is full.
    """
    if share >= 1:
        return path
    made = path.parent / FOLDER / f"{digest(path)[:16]}-{share:g}-seed{seed}.parquet"
    if made.exists():
        return made
    try:
        made.parent.mkdir(exist_ok=True)
        aside = made.with_suffix(".part")
        _write(path, aside, share, seed)
        aside.replace(made)
    except OSError as error:
        raise CannotWrite(f"{made}: {error.strerror or error}; --sizes needs room there") from error
    return made


def _write(path: Path, target: Path, share: float, seed: int) -> None:
    random, parts = np.random.default_rng(seed), []
    files = [pq.ParquetFile(each) for each in parquet_files(path)]
    for file in files:
        for number in range(file.num_row_groups):
            group = file.read_row_group(number)
            parts.append(group.filter(pa.array(random.random(len(group)) < share)))
    first = files[0].metadata.row_group(0)
    compression = first.column(0).compression.lower()
    pq.write_table(
        pa.concat_tables(parts).unify_dictionaries(),
        target,
        row_group_size=first.num_rows,
        compression="none" if compression == "uncompressed" else compression,
    )
