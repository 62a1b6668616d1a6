"""A column of cells of text, as guesses look at it, and what it is thought to be."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.data.arrow_types import Cells
from pipeline.data.csv import infer
from pipeline.data.guess_numbers import Decimal, NumberGuess
from pipeline.data.notations import tidy
from pipeline.data.table_format import ColumnFormat

Stray = Literal["missing", "error"]
SAMPLE = 1000
"""So many cells tell which guesses are worth a look at all cells."""
_LONG = 45
"""Characters beyond which cells are prose, on average."""
STRAYS = 0.05
"""Share of the cells of a column of numbers or dates that may be something else."""
BLANK = {"", "-", "--", "–", "—"}
"""What stands beside a mark, and says that there is none."""
_NONE = {"", "?", "??", "???", "n/a", "n.a.", "n.a", "n. a.", "#n/a", "#na", "#div/0!", "#value!"}
_NONE |= {"#ref!", "#name?", "#num!", "#null!", "<na>", "\\n", "(null)", "null", "nan", "na"}
"""What stands for no value in any column, in small letters."""
_NO_DAYS = ("0000-00-00", "00.00.0000", "00/00/0000", "9999-12-31", "31.12.9999", "31/12/9999")
PERHAPS = {"-", "--", "---", "–", "—", ".", "none", "nil", "missing", "unknown", "unk", "unk."}
PERHAPS |= {"undefined", "not available", "not applicable", "not known", "n/d", "n.d.", "nd"}
PERHAPS |= {"tbd", "tba", "empty", "no data", "k.a.", "k. a.", "keine angabe", "(none)"}
PERHAPS |= {"(missing)", "(blank)", "[null]", "blank", "void", "12/31/9999"}
PERHAPS |= {f"{day}{time}" for day in _NO_DAYS for time in ("", " 00:00", " 00:00:00")}
"""What stands for no value among numbers, and may be a value among words."""
_NOTHING = re.compile(r"[-–—*?./#_~:]+")
_MAY_BE_MARK = r"^(?:\D{0,19}|#.{1,9}|.*(?:0000|9999).*)$"
"""What all marks of missing values look like."""
_FACTORS = {"k", "m", "b"}
"""Units that may be multipliers."""


@dataclass(frozen=True)
class Options:
    """What was asked for, or is known of the whole table."""

    day_first: bool | None = None
    decimal: Decimal | None = None
    stray: Stray = "missing"
    labels: Collection[str] = ()
    source: str = "the table"
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
        return str(self.words.filter(holds(self.words, r"\d"))[0])

    @cached_property
    def has_digits(self) -> bool:
        """Whether a word holds a digit."""
        return bool(pc.any(holds(self.words, r"\d")).as_py())

    @cached_property
    def marks(self) -> tuple[str, ...]:
        """The tidy cells that stand for no value, among numbers or dates."""
        short = self.tidied.filter(holds(self.tidied, _MAY_BE_MARK)).to_pylist()
        found = (each for each in short if stands_for_none(each, among_words=False))
        return tuple(dict.fromkeys(found))

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
        return bool(pc.all(holds(self.words, f"^(?:{pattern})$")).as_py())

    def rows(self, cells: pa.Array) -> list[int]:
        """Return the rows that hold one of some cells."""
        rows: list[int] = pc.indices_nonzero(pc.is_in(self.cells, value_set=cells)).to_pylist()
        return rows

    def count(self, words: Collection[str]) -> int:
        """Return how many cells are one of some tidy words."""
        return int(self.distinct[1][is_in(self.tidied, words).to_numpy(False)].sum())


class Guess(NamedTuple):
    """What a column is thought to be.

    Parameters
    ----------
    format : ColumnFormat or None
        None where the rules of `pandas.read_csv` do.
    notes : tuple of str
    values : pyarrow array
        Of the distinct cells, if they are of a format or are plain numbers.
    decimal : {".", ","} or None
        What is surely the mark of its decimals.
    day_first : bool or None
        What its cells tell of the order of day and month.
    open : bool
        Whether another column may help to decide.
    """

    format: ColumnFormat | None = None
    notes: tuple[str, ...] = ()
    values: pa.Array | None = None
    decimal: Decimal | None = None
    day_first: bool | None = None
    open: bool = False


def are_seasons(words: pa.Array) -> bool:
    """Whether cells are years and the ones after, as 2010-11, and no months."""
    cells = [re.fullmatch(r"(\d{4})[-/](\d\d)", each) for each in words[:SAMPLE].to_pylist()]
    return len(cells) > 1 and all(
        each is not None and (int(each[1]) + 1) % 100 == int(each[2]) for each in cells
    )


def is_scaled(column: TextColumn, found: NumberGuess) -> bool:
    """Return whether a unit such as k or mil makes some cells a thousand times what they say."""
    unit = found.format.unit
    if found.format.scaled and unit.isalpha():
        return not column.all_look(rf"(?:.*\PL)?{unit}(?:\PL.*)?")
    return unit.lower() in _FACTORS and count_bare(column) > 0


def stands_for_none(word: str, *, among_words: bool) -> bool:
    """Whether a tidy cell is a mark of a missing value.

    >>> [stands_for_none(each, among_words=True) for each in ("?", "n/a", "-", "Na", "x")]
    [True, True, False, False, False]
    >>> stands_for_none("-", among_words=False)
    True
    """
    if among_words and word == "Na":  # Sodium.
        return False
    if word.lower() in _NONE:
        return True
    return not among_words and (word.lower() in PERHAPS or bool(_NOTHING.fullmatch(word)))


def holds(cells: Cells, pattern: str) -> Cells:
    """Return which cells hold what a regular expression matches."""
    return pc.match_substring_regex(cells, pattern)


def is_in(cells: Cells, words: Collection[str]) -> Cells:
    """Return which cells are one of some words."""
    return pc.is_in(cells, value_set=pa.array(list(words), pa.string()))


def count_bare(column: TextColumn) -> int:
    """Return how many cells are numbers without a unit."""
    return int(column.counts[holds(column.words, r"^[\d.,' +-]+$").to_numpy(False)].sum())
