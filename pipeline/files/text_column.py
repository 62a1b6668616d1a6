"""A column of text as the guesses see it, the guess for it, and the notes about it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.errors import DataError
from pipeline.files.csv import infer
from pipeline.files.notations import NOUNS, Typed, matches, read_distinct, tidy
from pipeline.files.table_format import ColumnFormat, Date, Decimal, Duration, Number, Time
from pipeline.table.arrow_types import Cells, is_number, usable

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
_NAMED = 5
"""So many rows or cells are named in a sentence."""
_MOST = 0.5
_LOOKS = (
    (
        r"^\D{0,12}(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4})(?:\D|$)|"
        r"^\d{1,2}[:h]\d\d(?:\D|$)|^(?:\pL{2,10}[.,]* )?\d{1,2}(?:\.|\pL{1,2})?[ -](?:de )?\pL{3,9}"
        r"\.?,?[ -](?:de )?\d{4}(?:\D|$)",
        "dates or times",
        "them",
        "pd.to_datetime({}, format='mixed', dayfirst=True)",
    ),
    (
        r"^[^\pL\d]{0,4}(?:\d{1,3}(?:[.,]\d{3})+|\d+)(?:[.,]\d+)?"
        r"(?:[^\d.-]\D{0,5}| ?[(\[±].{1,12})?$",
        "numbers",
        "only their digits",
        r"pd.to_numeric({}.str.extract(r'([+-]?\d[\d.,]*)')[0])",
    ),
)
"""What a person may write as a date, a time, or a number with a note -> how pandas reads it."""


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
        marks = self.tidied.filter(found).unique().to_pylist()
        return tuple(mark for mark in marks if mark != "Na")

    @cached_property
    def marks(self) -> tuple[str, ...]:
        """The tidy cells that stand for no value, among numbers or dates."""
        perhaps = pc.or_(is_in(pc.utf8_lower(self.tidied), PERHAPS), holds(self.tidied, _NOTHING))
        return tuple(dict.fromkeys([*self.sure_marks, *self.tidied.filter(perhaps).to_pylist()]))

    @cached_property
    def words(self) -> pa.Array:
        """The tidy cells that stand for values."""
        return self.tidied.filter(pc.invert(is_in(self.tidied, self.marks)))

    @cached_property
    def counts(self) -> np.ndarray:
        """How many there are of each of `words`."""
        return self.distinct[1][~is_in(self.tidied, self.marks).to_numpy(False)]

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


def say_rows(rows: list[int]) -> str:
    """Return rows as the subject of a sentence.

    >>> say_rows([5]), say_rows([5, 77])
    ('row 5 is', 'rows 5, 77 are')
    """
    if len(rows) == 1:
        return f"row {rows[0]} is"
    shown, more = ", ".join(map(str, rows[:_NAMED])), len(rows) - _NAMED
    return f"rows {shown}" + (f" and {more} more are" if more > 0 else " are")


def say_marks(column: TextColumn, marks: Collection[str]) -> tuple[str, ...]:
    """Say what is read as missing."""
    counted = {mark or "blank": column.count([mark]) for mark in marks}
    shown = ", ".join(f"{mark!r} ({_cells(n)})" for mark, n in counted.items())
    return (f"{column.name!r}: read as missing: {shown}",) if shown else ()


def _cells(n: int) -> str:
    return f"{n} value" if n == 1 else f"{n} values"


def say_strays(column: TextColumn, strays: pa.Array, format: Typed) -> str:
    """Say which cells do not fit, and are missing."""
    rows = pc.indices_nonzero(pc.is_in(column.cells, value_set=strays)).to_pylist()
    n = int(column.counts.sum())
    shown = ", ".join(map(repr, strays.to_pylist()[:_NAMED]))
    return (
        f"{column.name!r}: {n - len(rows)} of {n} values are {NOUNS[type(format)]}; "
        f"{say_rows(rows)} not ({shown}); these are read as missing"
    )


def say_read(column: TextColumn, values: pa.Array, format: Typed, why: str) -> Iterator[str]:
    """Say how the first cell is read that is not written plainly."""
    cells, values = column.distinct[0][:SAMPLE], values[:SAMPLE]
    odd, more = values.is_valid(), [why] * bool(why)
    if isinstance(format, Number) and not column.options.typed:
        plain = matches(cells, r"[+-]?[\d.]+(?:[eE][+-]?\d+)?")
        alike = pc.equal(read_distinct(cells, Number())[0], values)
        odd = pc.and_(odd, pc.invert(pc.and_(plain, pc.fill_null(alike, False))))
    if not pc.any(odd).as_py():
        return
    example, value = cells.filter(odd)[0].as_py(), values.filter(odd)[0].as_py()
    shown = f"{value:.15g}" if isinstance(value, float) else f"{value}".removesuffix(" 00:00:00")
    if isinstance(format, Number) and format.unit:
        n = int(column.counts[holds(column.words, r"^[\d.,' +-]+$").to_numpy(False)].sum())
        more += [f"{_cells(n)} without {format.unit!r}"] * (n > 0)
    if isinstance(format, Duration):
        shown += " seconds"
    if isinstance(format, Time):
        shown = shown.removeprefix("1970-01-01 ")
    if isinstance(format, Date):
        signs = format.format if isinstance(format.format, str) else " or ".join(format.format)
        more += ["years 00 to 68 are 2000 to 2068, 69 to 99 are 1969 to 1999"] * ("%y" in signs)
        more += ["a month, quarter or week is read as its first day"] * ("%d" not in signs)
        more += ["times without an offset are UTC"] * (0 < signs.count("%z") <= signs.count(" or "))
    said = f"{column.name!r} holds {NOUNS[type(format)]} such as {example!r}, read as {shown}"
    yield said + (f" ({'; '.join(more)})" if more else "")


def undecided(column: TextColumn, what: str, options: str) -> DataError:
    """Return the error of cells that have two readings."""
    return DataError(
        f"{column.options.source}: column {column.name!r} holds {what}, and its values do not "
        f"show which; pass {options}"
    )


def say_text(column: TextColumn) -> Iterator[str]:
    """Say which words may stand for no value; of what else may not be text, which line reads it."""
    for word in column.tidied.filter(is_in(pc.utf8_lower(column.tidied), PERHAPS)).to_pylist():
        yield (
            f"{column.name!r}: {word!r} ({_cells(column.count([word]))}) is kept as a value; "
            f"to make it missing, use Text(missing=({word!r},)) for this column"
        )
    if column.is_prose or not len(column.words):
        return
    (words, counts), table = column.sample, f"table[{column.name!r}]"
    for look, what, read, line in _LOOKS:
        looks = holds(words, look)
        if counts[looks.to_numpy(False)].sum() >= _MOST * counts.sum():
            example = words.filter(looks)[0].as_py()
            yield (
                f"{column.name!r} is text, but its values look like {what}, such as {example!r}; "
                f"to read {read}, adapt this line and save the file again: "
                f"{table} = {line.format(table)}"
            )
            return


def caution_of_unusable(name: str, values: Cells) -> Iterator[str]:
    """Say of typed values that no model takes."""
    lost = pc.and_(usable(values).is_null(), values.is_valid())
    if rows := pc.indices_nonzero(lost).to_pylist():
        what = "infinite" if is_number(values.type) else "outside the years 1678 to 2261"
        yield (
            f"{name!r} holds {values[rows[0]].as_py()}: {say_rows(rows)} {what} and read as missing"
        )
