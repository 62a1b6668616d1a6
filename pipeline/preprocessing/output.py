"""What a program hands on: one matrix, or a frame where `set_output` asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipeline import containers
from pipeline.preprocessing.blocks import Block, Indicators, Kept, flat
from pipeline.preprocessing.nodes import Read
from pipeline.preprocessing.table import Part, Table


def matrix(table: Table, read: Read, dtype: str) -> Any:
    """Return the blocks of a table as one matrix, shape (n_rows, width), C-ordered.

    Columns that only a frame can take over are left out.
    """
    parts = table.parts()
    # A single part is made once, for its width and its values.
    alone = len(parts) == 1
    first = numeric(read(parts[0] if alone else table.first()))
    width = sum(block.width for block in first)
    # Zeros that the system provides cost no more than memory that holds anything.
    out = table.xp.zeros((table.n_rows, width), dtype=dtype)

    def fill(part: Part) -> None:
        start = 0
        for block in first if alone else numeric(read(part)):
            block.write(out[part.rows], start)
            start += block.width

    for _ in table.each(fill, 0 if alone else _expanded(first)):
        pass
    return out


def _expanded(blocks: Sequence[Block]) -> int:
    """Return the columns that take room before they are written."""
    return sum(block.width for block in blocks if not isinstance(block, Indicators))


def numeric(block: Block) -> list[Block]:
    """Return the blocks that have a place in a matrix."""
    return [part for part in flat(block) if not isinstance(part, Kept)]


def frame(table: Table, read: Read, dtype: str, names: Sequence[Any]) -> Any:
    """Return the blocks of a table as a frame with the given column names.

    Numbers have one type; columns that were passed on are as they were, but that
    text is categorical, as XGBoost wants it.
    """
    made: list[Any] = []
    kept: dict[Any, Any] = {}
    start = 0
    for block in flat(read(table.first())):
        here = names[start : start + block.width]
        start += block.width
        if isinstance(block, Kept):
            kept.update(zip(here, block.names, strict=True))
        else:
            made += list(here)
    values = matrix(table, read, dtype)
    return containers.beside(values, made, table.X, kept)[list(names)]
