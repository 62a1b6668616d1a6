"""What a program hands on: one matrix, or a frame where `set_output` asks for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from pipeline.data import frames, output
from pipeline.preprocessing.engine.blocks import (
    Block,
    Categories,
    Indicators,
    Kept,
    as_numbers,
    as_read,
    common_type,
    flat,
)
from pipeline.preprocessing.engine.nodes import Read, holds_others
from pipeline.preprocessing.engine.table import Part, Table
from pipeline.typing import Names


def matrix(table: Table, read: Read, dtype: str, *, order: str = "C") -> Any:
    """Return the blocks of a table as one matrix, shape (n_rows, width).

    Parameters
    ----------
    table : Table
    read : callable
    dtype : {"auto", "float32", "float64"}
        "auto" is the type that the columns have together, which is scikit-learn's.
    order : {"C", "F"}
        "F" is for a GPU: columns are contiguous.
    """
    first = numeric(read, _seen(table), beside=False)
    kind = type_of(first, dtype)
    made = _written(table, read, first, [kind] * len(first), order=order)
    return made[kind] if first else table.xp.zeros((table.n_rows, 0), dtype=kind)


def _seen(table: Table) -> Part:
    """Return the part that the widths are read from: a single one is made once, for its values."""
    parts = table.parts()
    return parts[0] if len(parts) == 1 else table.first()


def _written(
    table: Table,
    read: Read,
    first: Sequence[Block],
    kinds: Sequence[Any],
    *,
    order: str = "C",
    beside: bool = False,
) -> dict[Any, Any]:
    """Return a matrix of each type, given the blocks of a part and the type of each.

    With `beside`, columns of the table that nobody has read are left out: a frame takes them over.
    """
    alone = len(table.parts()) == 1
    widths: Counter[Any] = Counter()
    for block, kind in zip(first, kinds, strict=True):
        widths[kind] += block.width
    # Zeros that the system provides cost no more than memory that holds anything.
    out = {
        kind: table.xp.zeros((table.n_rows, width), dtype=kind, order=order)
        for kind, width in widths.items()
    }

    def fill(part: Part) -> None:
        starts = dict.fromkeys(out, 0)
        made = first if alone else numeric(read, part, beside=beside)
        for block, kind in zip(made, kinds, strict=True):
            block.write(out[kind][part.rows], starts[kind])
            starts[kind] += block.width

    for _ in table.each(fill, 0 if alone else _expanded(first)):
        pass
    return out


def _expanded(blocks: Sequence[Block]) -> int:
    """Return the columns that take room before they are written."""
    return sum(block.width for block in blocks if not isinstance(block, Indicators))


def type_of(blocks: Sequence[Block], dtype: str) -> Any:
    """Return the type of the matrix of some blocks."""
    return common_type(blocks) if dtype == "auto" else np.dtype(dtype)


def numeric(read: Read, part: Part, *, beside: bool) -> list[Block]:
    """Return the blocks of a part that have a place in a matrix."""
    blocks = flat(read(part))
    if beside:
        return [block for block in blocks if not isinstance(block, Kept)]
    return [as_read(block, part) for block in blocks]


def holds_text(table: Table, read: Read) -> bool:
    """Return whether some of the columns that come out are no numbers."""
    return any(holds_others(block, table.X) for block in flat(read(table.first())))


def mixed(table: Table, read: Read, names: Names) -> pd.DataFrame:
    """Return numbers and text as a frame of the host, for a program that selects from it.

    Parameters
    ----------
    table : Table
        On the host.
    read : callable
    names : sequence
        Of the columns; empty for positions.
    """
    whole = Part(table, slice(0, table.n_rows))
    made: list[Any] = []
    for block in flat(read(whole)):
        if isinstance(block, Kept):
            made += [frames.column(table.X, name) for name in block.names]
        elif isinstance(block, Categories):
            made += [np.append(column.values, np.nan)[column.codes] for column in block.columns]
        else:
            made += list(as_numbers(block, whole).values.T)
    index = table.X.index if frames.is_frame(table.X) else None
    arrays = map(np.asarray, made)
    columns = dict(enumerate(pd.Series(each, index, each.dtype) for each in arrays))
    return pd.DataFrame(columns).set_axis(list(names) or range(len(made)), axis=1)


def frame(table: Table, read: Read, dtype: str, names: Names) -> Any:
    """Return the blocks of a table as a frame with the given column names.

    Numbers have the type that is asked for, or each the one that scikit-learn's transformer gives
    it; columns that were passed on are as they were, but that text is categorical, as XGBoost
    wants it.
    """
    made, kept = named(read(table.first()), names)
    first = numeric(read, _seen(table), beside=True)
    kinds = [type_of([block], dtype) for block in first]
    of_columns = np.repeat(np.arange(len(first)), [block.width for block in first])
    matrices = {
        kind: (values, [n for n, j in zip(made, of_columns, strict=True) if kinds[j] == kind])
        for kind, values in _written(table, read, first, kinds, beside=True).items()
    }
    nothing: tuple[Any, list[Any]] = (table.xp.zeros((table.n_rows, 0)), [])
    return output.beside(list(matrices.values()) or [nothing], table.X, kept)[list(names)]


def named(block: Block, names: Names) -> tuple[list[Any], dict[Any, Any]]:
    """Return the names of the columns that are made, and of those passed on with what they were."""
    made: list[Any] = []
    kept: dict[Any, Any] = {}
    start = 0
    for part in flat(block):
        here = names[start : start + part.width]
        start += part.width
        if isinstance(part, Kept):
            kept.update(zip(here, part.names, strict=True))
        else:
            made += list(here)
    return made, kept
