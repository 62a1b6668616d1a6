"""A column of cells of text, as it is looked at to guess what they stand for."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.data.cells import Cells, tidy
from pipeline.data.csv import infer
from pipeline.data.guess_numbers import Decimal
from pipeline.data.guess_words import stands_for_none

Stray = Literal["missing", "error"]
NAMED = 5
"""So many rows or cells are named in a sentence."""
SAMPLE = 1000
"""So many cells tell which guesses are worth a look at all cells."""
_MAY_BE_MARK = r"^(?:\D{0,19}|#.{1,9}|.*(?:0000|9999).*)$"
"""What all marks of missing values look like."""
_LONG = 45
"""Characters beyond which cells are prose, on average."""


@dataclass(frozen=True)
class Options:
    """What was asked for, or is known of the whole table."""

    day_first: bool | None
    decimal: Decimal | None
    stray: Stray
    labels: Collection[str]
    source: str
    typed: bool = False
    delimiter: str = ""


@dataclass(frozen=True)
class TextColumn:
    """A column of cells of text, null where there is no value.

    Parameters
    ----------
    name : str
    cells : pyarrow array
    options : Options
    last : bool
        Whether all is known that other columns tell.
    """

    name: str
    cells: Cells
    options: Options
    last: bool = False

    @cached_property
    def plain(self) -> Cells:
        """The values of `distinct` by the rules of `pandas.read_csv`, unless texts have a type."""
        cells = self.distinct[0]
        return cells if self.options.typed else infer(cells)

    @cached_property
    def distinct(self) -> tuple[pa.Array, np.ndarray]:
        """The distinct cells, and how many there are of each."""
        found = pc.value_counts(self.cells.drop_null())
        return found.field("values"), found.field("counts").to_numpy()

    @cached_property
    def is_prose(self) -> bool:
        """Whether the cells are too long for anything but text."""
        cells = self.distinct[0]
        return len(cells) > 0 and pc.mean(pc.utf8_length(cells)).as_py() > _LONG

    @cached_property
    def tidied(self) -> pa.Array:
        """The distinct cells, tidy if that may matter."""
        return self.distinct[0] if self.is_prose else tidy(self.distinct[0])

    @property
    def example(self) -> str:
        """The first word that holds a digit."""
        return str(self.words.filter(pc.match_substring_regex(self.words, r"\d"))[0])

    @cached_property
    def has_digits(self) -> bool:
        """Whether a word holds a digit."""
        return bool(pc.any(pc.match_substring_regex(self.words, r"\d")).as_py())

    @cached_property
    def marks(self) -> tuple[str, ...]:
        """The tidy cells that stand for no value, among numbers or dates."""
        short = self.tidied.filter(pc.match_substring_regex(self.tidied, _MAY_BE_MARK)).to_pylist()
        found = (each for each in short if stands_for_none(each, among_words=False))
        return tuple(dict.fromkeys(found))

    @cached_property
    def _values(self) -> tuple[pa.Array, np.ndarray]:
        marks = pa.array(self.marks, pa.string())
        kept = pc.invert(pc.is_in(self.tidied, value_set=marks))
        return self.tidied.filter(kept), self.distinct[1][kept.to_numpy(False)]

    @property
    def words(self) -> pa.Array:
        """The tidy cells that stand for values."""
        return self._values[0]

    @property
    def counts(self) -> np.ndarray:
        """How many there are of each of `words`."""
        return self._values[1]

    @cached_property
    def sample(self) -> tuple[pa.Array, np.ndarray]:
        """The most frequent of `words` and some others, with their `counts`."""
        n = len(self.words)
        if n <= 2 * SAMPLE:
            return self._values
        often = np.argpartition(-self.counts, SAMPLE)[:SAMPLE]
        some = np.unique(np.append(often, np.linspace(0, n - 1, SAMPLE, dtype=int)))
        return self.words.take(pa.array(some)), self.counts[some]

    @property
    def is_label(self) -> bool:
        """Whether the values are names of classes."""
        return self.name in self.options.labels

    def all_look(self, pattern: str) -> bool:
        """Whether all words match a regular expression as a whole."""
        return bool(pc.all(pc.match_substring_regex(self.words, f"^(?:{pattern})$")).as_py())

    def rows(self, cells: pa.Array) -> list[int]:
        """Return the rows that hold one of some cells."""
        rows: list[int] = pc.indices_nonzero(pc.is_in(self.cells, value_set=cells)).to_pylist()
        return rows

    def count(self, words: Collection[str]) -> int:
        """Return how many cells are one of some tidy words."""
        found = pc.is_in(self.tidied, value_set=pa.array(list(words), pa.string()))
        return int(self.distinct[1][found.to_numpy(False)].sum())


def say_rows(rows: list[int]) -> str:
    """Return rows as the subject of a sentence.

    >>> say_rows([5]), say_rows([5, 77])
    ('row 5 is', 'rows 5, 77 are')
    """
    if len(rows) == 1:
        return f"row {rows[0]} is"
    shown, more = ", ".join(map(str, rows[:NAMED])), len(rows) - NAMED
    return f"rows {shown}" + (f" and {more} more are" if more > 0 else " are")


def say_marks(column: TextColumn, marks: Collection[str]) -> tuple[str, ...]:
    """Say what is read as missing."""
    shown = [f"{mark!r} ({say_cells(column.count([mark]))})" for mark in marks if mark]
    if "" in marks and (blank := column.count([""])):
        shown.append(f"blanks ({say_cells(blank)})")
    return (f"{column.name!r}: read as missing: {', '.join(shown)}",) if shown else ()


def say_cells(n: int) -> str:
    """Return a number of cells in words."""
    return f"{n} cell" if n == 1 else f"{n} cells"
