"""A table of the report, as text: what every form of the report writes it from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import wraps
from itertools import groupby
from typing import NamedTuple

from pipeline.benchmark.judge.statistics import Parity, Ratio
from pipeline.benchmark.record.results import Results
from pipeline.task.numerals import MISSING, times

TONES = {"faster": "good", "slower": "bad", "PASS": "good", "FAIL": "bad", "INCONCLUSIVE": "bad"}


class TableCell(NamedTuple):
    """A text, its class in the style sheet and where it leads. The text alone tells all."""

    text: str
    tone: str = ""
    link: str = ""


Row = tuple[TableCell, ...]
Values = Iterable[str | TableCell]


@dataclass(frozen=True)
class ReportTable:
    """Rows under a head, grouped by their first column."""

    caption: str
    head: tuple[str, ...]
    """Names of the columns, with their units."""
    align: str
    """One letter per column: ``l`` for text, ``r`` for numbers."""
    rows: tuple[Row, ...]
    note: str = ""
    """How to read it."""

    def groups(self) -> list[list[Row]]:
        """Return the runs of rows that have the same first column."""
        return [list(rows) for _, rows in groupby(self.rows, key=lambda row: row[0].text)]


def row(*values: str | TableCell) -> Row:
    """Make a row of texts and toned cells."""
    return tuple(value if isinstance(value, TableCell) else TableCell(value) for value in values)


def how_fast(ratio: Ratio) -> TableCell:
    """Write how fast a variant is, or why that is not known.

    >>> how_fast(Ratio(0.4, (0.39, 0.41))), how_fast(Ratio(1.4, (0.9, 1.5))).text
    (TableCell(text='2.50× faster', tone='good', link=''), 'no difference shown')
    >>> how_fast(Ratio(0.4, (0.39, 0.41), "fewer than 5 runs")).text
    'no verdict: fewer than 5 runs'
    """
    if ratio.outcome in ("faster", "slower"):
        return TableCell(faster(ratio.value), TONES[ratio.outcome])
    return TableCell(": ".join(filter(None, (ratio.outcome, ratio.doubt))))


def claim(ratio: Ratio | None, parity: Parity) -> TableCell:
    """Write how fast a variant is, if its quality allows to say so.

    >>> claim(Ratio(0.5, (0.4, 0.6)), "FAIL").text, claim(None, "no margin").text
    ('no claim: quality fails', '–')
    """
    if ratio is None:
        return TableCell(MISSING)
    return TableCell("no claim: quality fails", "bad") if parity == "FAIL" else how_fast(ratio)


def span(ratio: Ratio) -> str:
    """Write the interval of how fast a variant is, where there are enough runs for one.

    >>> span(Ratio(0.4, (0.25, 0.5))), span(Ratio(1.4, (0.8, 1.5))), span(Ratio(1, None))
    ('2.00–4.00×', '1.50× slower to 1.25× faster', '–')
    """
    if ratio.interval is None:
        return MISSING
    one, other = (faster(end) for end in sorted(ratio.interval, reverse=True))
    if one.endswith("slower") and other.endswith("slower"):
        one, other = other, one
    if one.split()[1] == other.split()[1]:
        return f"{one.split('×')[0]}–{other.split()[0]}"
    return f"{one} to {other}"


def faster(ratio: float) -> str:
    """Write a ratio of times in one direction.

    >>> faster(0.4), faster(1.25)
    ('2.50× faster', '1.25× slower')
    """
    return f"{times(1 / ratio)} faster" if ratio <= 1 else f"{times(ratio)} slower"


def pairs(results: Results) -> Iterator[tuple[str, str]]:
    """Yield pipeline and variant of every cell that was to run, the reference included."""
    for pipeline in results.pipelines:
        for variant in results.variants:
            if variant.status != "skipped":
                yield pipeline.name, variant.name


OfPair = Callable[[Results, str, str], Values | None]
"""Values of a pipeline and a variant; None where they have no row."""


def by_pair(
    caption: str, head: Iterable[str], align: str, note: str = ""
) -> Callable[[OfPair], Callable[[Results], ReportTable]]:
    """Make a table with a row for each pipeline and variant that a function has values of.

    `head` and `align` are those of the columns after the pipeline and the variant.
    """
    names = ("Pipeline", "Variant", *head)

    def decorate(write: OfPair) -> Callable[[Results], ReportTable]:
        @wraps(write)
        def table(results: Results) -> ReportTable:
            every = [(*pair, write(results, *pair)) for pair in pairs(results)]
            rows = tuple(row(p, v, *values) for p, v, values in every if values is not None)
            return ReportTable(caption, names, "ll" + align, rows, note)

        return table

    return decorate
