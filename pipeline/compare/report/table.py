"""A table of text, from which every form of the report is written."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple


class Cell(NamedTuple):
    """A text and its tone: "good", "bad", "quiet" or none. The text alone tells all."""

    text: str
    tone: str = ""


Row = tuple[Cell, ...]


@dataclass(frozen=True)
class Table:
    """Rows under a head, grouped by their first column.

    Parameters
    ----------
    caption : str
        What the table shows.
    head : tuple of str
        Names of the columns, with their units.
    align : str
        One letter per column: ``l`` for text, ``r`` for numbers.
    rows : tuple of tuple of Cell
        As many cells per row as the head has.
    note : str
        How to read it; may be empty.
    """

    caption: str
    head: tuple[str, ...]
    align: str
    rows: tuple[Row, ...]
    note: str = ""

    def __post_init__(self) -> None:
        widths = {len(self.head), len(self.align), *map(len, self.rows)}
        if len(widths) != 1:
            raise ValueError(f"table {self.caption!r}: rows of {sorted(widths)} columns")

    def groups(self) -> list[list[Row]]:
        """Return the runs of rows that have the same first column."""
        return [list(rows) for _, rows in groupby(self.rows, key=lambda row: row[0].text)]


def row(*values: str | Cell) -> Row:
    """Make a row of texts and toned cells."""
    return tuple(value if isinstance(value, Cell) else Cell(value) for value in values)
