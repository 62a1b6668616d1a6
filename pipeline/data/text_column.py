"""A column of cells of text, as guesses look at it, and what it is thought to be."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.data.arrow_types import Cells
from pipeline.data.csv import infer
from pipeline.data.notations import tidy
from pipeline.data.table_format import ColumnFormat, Decimal
from pipeline.errors import DataError

SAMPLE = 2000
"""So many cells tell which guesses are worth a look at all cells."""
_LONG = 45
"""Characters beyond which cells are prose, on average."""
STRAYS = 0.05
"""Share of the cells of a column of numbers or dates that may be something else."""
_NONE = ("", "?", "??", "???", "n/a", "n.a.", "na", "nan", "null", "(null)", "<na>", "\\n")
"""What stands for no value in any column, in small letters."""
_ERRORS = r"^#(?:N/A|NA|DIV/0!|VALUE!|REF!|NAME\?|NUM!|NULL!)$"
"""What spreadsheets write where there is no value."""
PERHAPS = (
    "-", "--", "---", "–", "—", ".", "none", "nil", "missing", "unknown", "undefined", "n/d",
    "not available", "not applicable", "not known", "k.a.", "tbd", "empty", "blank",
)  # fmt: skip
"""What stands for no value among numbers, and may be a value among words."""
_NOTHING = (
    r"^(?:[-–—*?./#_~:]+|(?:0000-00-00|00[./]00[./]0000|9999-12-31|31[./]12[./]9999|12/31/9999)"
    r"(?: 00:00(?::00)?)?)$"
)


@dataclass(frozen=True)
class Options:
    """What was asked for, or is known of the whole table."""

    day_first: bool | None = None
    decimal: Decimal | None = None
    labels: Collection[str] = ()
    source: str = "the table"
    typed: bool = False


@dataclass(frozen=True)
class TextColumn:
    """A column of cells of text, null where there is no value."""

    name: str
    cells: Cells
    options: Options

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

    @cached_property
    def sure_marks(self) -> tuple[str, ...]:
        """The tidy cells that stand for no value even among words, where Na is sodium."""
        found = pc.or_(is_in(pc.utf8_lower(self.tidied), _NONE), holds(self.tidied, _ERRORS))
        return tuple(dict.fromkeys(each for each in self.tidied.filter(found).to_pylist()
                                   if each != "Na"))  # fmt: skip

    @cached_property
    def marks(self) -> tuple[str, ...]:
        """The tidy cells that stand for no value, among numbers or dates."""
        perhaps = pc.or_(is_in(pc.utf8_lower(self.tidied), PERHAPS), holds(self.tidied, _NOTHING))
        return tuple(dict.fromkeys([*self.sure_marks, *self.tidied.filter(perhaps).to_pylist()]))

    @cached_property
    def _values(self) -> tuple[pa.Array, np.ndarray]:
        kept = pc.invert(is_in(self.tidied, self.marks))
        return self.tidied.filter(kept), self.distinct[1][kept.to_numpy(False)]

    @property
    def words(self) -> pa.Array:
        """The tidy cells that stand for values."""
        return self._values[0]

    @property
    def counts(self) -> np.ndarray:
        """How many there are of each of `words`."""
        return self._values[1]

    @property
    def sample(self) -> tuple[pa.Array, np.ndarray]:
        """The first of `words`, with their `counts`."""
        return self.words[:SAMPLE], self.counts[:SAMPLE]

    @property
    def is_label(self) -> bool:
        """Whether the values are names of classes."""
        return self.name in self.options.labels

    def share(self, fits: pa.Array) -> float:
        """Return the share of the cells, of those whose words fit."""
        return float(self.counts[fits.to_numpy(False)].sum() / max(self.counts.sum(), 1))

    def rows(self, cells: pa.Array) -> list[int]:
        """Return the rows that hold one of some cells."""
        rows: list[int] = pc.indices_nonzero(pc.is_in(self.cells, value_set=cells)).to_pylist()
        return rows

    def count(self, words: Collection[str]) -> int:
        """Return how many cells are one of some tidy words."""
        return int(self.distinct[1][is_in(self.tidied, words).to_numpy(False)].sum())

    def spread(self, values: pa.Array) -> Cells:
        """Return the values of all cells, from those of the distinct ones."""
        return values.take(pc.index_in(self.cells, value_set=self.distinct[0]))


class Guess(NamedTuple):
    """What a column is thought to be; it has no format where the rules of `pandas.read_csv` do.

    Its cells may tell the mark of decimals, and the order of day and month, for all columns. What
    it asks is an error unless another column decides.
    """

    format: ColumnFormat | None = None
    notes: tuple[str, ...] = ()
    decimal: Decimal | None = None
    day_first: bool | None = None
    asks: DataError | None = None


def holds(cells: Cells, pattern: str) -> Cells:
    """Return which cells hold what a regular expression matches."""
    return pc.match_substring_regex(cells, pattern)


def is_in(cells: Cells, words: Collection[str]) -> Cells:
    """Return which cells are one of some words."""
    return pc.is_in(cells, value_set=pa.array(list(words), pa.string()))
