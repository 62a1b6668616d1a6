"""The delimiter of a text file and the line of its column names, from how its first lines agree.

The right delimiter splits all lines into the same number of fields, and leaves no field that
another delimiter would split.
"""

from __future__ import annotations

import csv
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

DELIMITERS = ",;\t|"
LINES = 200
"""Those that are looked at."""
_SAID = re.compile(r"sep=([^\w\s\"]|\t| )\r?\n?", re.IGNORECASE | re.ASCII)
"""What Excel writes above the names."""
_PLAIN = re.compile(
    r"\s*[^\w\s,;|]{0,2}\s*\d[\d.,' \u00a0\u202f]*[^\s\d,;|]{0,3}\s*"
    r"|[^,;\t|]*|.*[,;|]\s.*"
)
"""A number, a text that no delimiter cuts, or one that reads as prose."""
_NUMBER = re.compile(r"\s*[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?\s*")
_ALONE, _TITLED = 0.45, 0.8
"""What one column scores, and what a line in front that no delimiter cuts leaves of a score."""
_MOST = 0.9
"""Share of the lines below titles that must have as many cells as the line of names."""


class Dialect(NamedTuple):
    """How the lines of a file are cut: the lines above that of the names, and the title there."""

    delimiter: str
    skip_rows: int = 0
    title: str = ""


class Record(NamedTuple):
    """The cells of a row, and the lines before it."""

    before: int
    cells: list[str]


def records(lines: Iterable[str], delimiter: str) -> Iterator[Record]:
    r"""Yield the rows that hold something; a line may end within quotes.

    >>> list(records(["a;b", "", "1;", '2;"x\n', 'y"'], ";"))[2]
    Record(before=3, cells=['2', 'x\ny'])
    """
    csv.field_size_limit(sys.maxsize)
    reader, before = csv.reader(lines, delimiter=delimiter), 0
    for cells in reader:
        if cells:
            yield Record(before, cells)
        before = reader.line_num


def find_dialect(lines: Sequence[str], delimiters: str = DELIMITERS) -> Dialect:
    """Return how the first lines of a file are cut by one of some delimiters.

    >>> find_dialect(["Messung;Wert, netto", "a;1,5", "b;2,5"])
    Dialect(delimiter=';', skip_rows=0, title='')
    >>> find_dialect(["Prices of 2024", "", "a,b,c", "1,2,3", "4,5,6"])
    Dialect(delimiter=',', skip_rows=2, title='Prices of 2024')
    """
    if said := _SAID.fullmatch(lines[0]) if lines else None:
        return Dialect(said[1], 1)
    text = "".join(lines)
    used = [each for each in delimiters if each in text]
    unused = next((each for each in delimiters if each not in text), "")
    if len(used) == 1 and len((rows := list(records(lines, used[0])))[0].cells) > 1:
        return _without_titles(used[0], rows)
    of = {each: list(records(lines, each)) for each in filter(None, [*used, unused])}
    cuts = {each: of[each if each in used else unused] for each in delimiters}
    first = {each: len(rows[0].cells) if rows else 0 for each, rows in cuts.items()}
    alone = _ALONE if max(first.values()) == 1 else 0.0
    delimiter = max(delimiters, key=lambda each: (_score(cuts[each], alone), first[each]))
    return _without_titles(delimiter, cuts[delimiter])


def _width(rows: Sequence[Record]) -> int:
    """Return how many cells most rows have."""
    counts = Counter(len(row.cells) for row in rows)
    return max(counts, key=lambda width: (counts[width], width), default=0)


def _score(rows: Sequence[Record], alone: float) -> float:
    """Return the share of rows of the same length, times that of cells that no other cuts.

    One column scores `alone`.
    """
    width = _width(rows)
    alike = [row.cells for row in rows if len(row.cells) == width]
    if width < 2:
        return alone if len(alike) == len(rows) else 0
    cells = [cell for row in alike for cell in row]
    if {*"".join(cells)}.isdisjoint(DELIMITERS):
        plain = 1.0
    else:
        plain = sum(bool(_PLAIN.fullmatch(cell)) for cell in cells) / len(cells)
    first = len(rows[0].cells)
    named = 1 if first == width else _TITLED if first == 1 else 0.5
    return named * plain * len(alike) / len(rows)


def _without_titles(delimiter: str, rows: Sequence[Record]) -> Dialect:
    """Skip the lines above the line of names, where they are no names and all below agree.

    A line with one cell less than the rows may be names too, of all columns but the first.
    """
    width = _width(rows)
    full = (i for i, row in enumerate(rows) if len(row.cells) == width and not _title(row.cells))
    first = next(full, 0)
    above, below = rows[:first], rows[first:]
    if not above or width < 2 or _NUMBER.fullmatch(below[0].cells[0]):
        return Dialect(delimiter)
    alike = sum(len(row.cells) == width for row in below)
    # Names are one line, and rows follow at once.
    surely = below[0].before > 1 and not any(map(_NUMBER.fullmatch, below[0].cells))
    least = max(width - 1, 2) if surely else width - 1
    titled = (_title(cells) or len(cells) < least for _, cells in above)
    if alike < max(2, _MOST * len(below)) or not all(titled):
        return Dialect(delimiter)
    titles = (" ".join(filter(None, row.cells)).strip() for row in above)
    return Dialect(delimiter, below[0].before, next(filter(None, titles), ""))


def _title(cells: Sequence[str]) -> bool:
    """Whether only the first of several cells says something, if any does."""
    return len(cells) > 1 and not any(cell.strip() for cell in cells[1:])


def looks_like_data(names: Sequence[str]) -> bool:
    """Whether a line of names is rather the first row of a table without names.

    >>> looks_like_data(["5.1", "3.5", "setosa"]), looks_like_data(["city", "2019", "2020"])
    (True, False)
    """
    numbers = [name for name in names if _NUMBER.fullmatch(name)]
    whole = [int(name) for name in numbers if name.strip().isdecimal()]
    if len(whole) == len(numbers):
        counts = len(whole) > 1 and whole == list(range(whole[0], whole[0] + len(whole)))
        return len(whole) > len(names) / 2 and not counts
    return len(numbers) >= len(names) / 2
