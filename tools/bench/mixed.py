"""A mixed table of any length: seeded, so that the same rows come out everywhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

PART = 100_000
"""Rows that are drawn together; a longer table begins with the rows of a shorter one."""
MISSING = (0.05, 0.06, 0.07, 0.08, 0.09, 0.10)
"""Share of missing values in the first numeric columns; the others have none."""
NUMBERS = [f"number_{i:02d}" for i in range(16)]
FEW_LEVELS = {f"few_{i}": n for i, n in enumerate((2, 3, 4, 5, 7, 9, 11, 15))}
"""Columns for one-hot encoding, with their levels: 56 in all."""
MANY_LEVELS = {f"many_{i}": n for i, n in enumerate((200, 500, 1_000, 2_000, 5_000, 20_000))}
"""Columns for target encoding, with their levels, which Zipf's law makes ever rarer."""
TARGET = "target"
_FEW_SKEW, _MANY_SKEW = 0.5, 1.0


class Levels(NamedTuple):
    """What the values of a category column are drawn from.

    Parameters
    ----------
    names : pyarrow.Array
        The texts, sorted.
    share : ndarray
        Cumulative share of the levels, by rank.
    order : ndarray of int
        Rank -> position in `names`: the common levels are not the first in the alphabet.
    effect : ndarray
        What a level adds to the logit of the target, by position.
    """

    names: pa.Array
    share: npt.NDArray[np.float64]
    order: npt.NDArray[np.int64]
    effect: npt.NDArray[np.float64]


def write(path: Path, rows: int, seed: int, *, text: bool) -> None:
    """Write the table as Parquet, a row group for each part.

    Parameters
    ----------
    path : Path
    rows : int
    seed : int
    text : bool
        Whether category columns are declared as text or as dictionaries; in both cases
        Parquet stores each level once a row group.
    """
    levels = _levels(seed)
    writer: pq.ParquetWriter | None = None
    for part in _parts(rows, seed, levels):
        part = as_text(part) if text else part
        if writer is None:
            writer = pq.ParquetWriter(path, part.schema, write_page_checksum=True)
        writer.write_table(part)
    if writer is not None:
        writer.close()


def as_text(table: pa.Table) -> pa.Table:
    """Return a table whose dictionary columns are plain text.

    >>> as_text(pa.table({"a": pa.array(["x", None]).dictionary_encode()})).schema.field("a").type
    DataType(string)
    """
    plain = [
        pa.field(field.name, pa.string()) if pa.types.is_dictionary(field.type) else field
        for field in table.schema
    ]
    return table.cast(pa.schema(plain))


def _levels(seed: int) -> dict[str, Levels]:
    random = np.random.default_rng([seed, 0])
    kinds = {name: (n, _FEW_SKEW) for name, n in FEW_LEVELS.items()}
    kinds |= {name: (n, _MANY_SKEW) for name, n in MANY_LEVELS.items()}
    return {name: _level(name, n, skew, random) for name, (n, skew) in kinds.items()}


def _level(name: str, n: int, skew: float, random: np.random.Generator) -> Levels:
    share = np.cumsum(np.arange(1, n + 1) ** -skew)
    names = pa.array([f"{name.partition('_')[0]}-{i:05d}" for i in range(n)])
    return Levels(names, share / share[-1], random.permutation(n), random.normal(0, 0.3, n))


def _parts(rows: int, seed: int, levels: dict[str, Levels]) -> Iterator[pa.Table]:
    for number, start in enumerate(range(0, rows, PART)):
        # A whole part is drawn even of a shorter one, so that its first rows are the same.
        part = _part(np.random.default_rng([seed, 1, number]), levels)
        yield part.slice(0, min(PART, rows - start))


def _part(random: np.random.Generator, levels: dict[str, Levels]) -> pa.Table:
    columns, logit = {}, random.logistic(0, 1, PART) - 1
    for i, name in enumerate(NUMBERS):
        drawn = random.normal(0, 1, PART)
        logit += drawn * (0.4 if i % 4 == 0 else 0)
        absent = random.random(PART) < MISSING[i] if i < len(MISSING) else None
        columns[name] = pa.array(10.0 * i + (1 + i) * drawn, mask=absent)
    for name, found in levels.items():
        codes = found.order[np.searchsorted(found.share, random.random(PART))]
        logit += found.effect[codes]
        columns[name] = pa.DictionaryArray.from_arrays(codes.astype(np.int32), found.names)
    columns[TARGET] = pc.cast(pa.array(logit > 0), pa.int8())
    return pa.table(columns)
