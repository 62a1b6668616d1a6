"""What parts the cells of a text file, and where its names are, by how well its first lines agree.

The right delimiter cuts all lines into as many cells, and leaves none that another would cut.
"""

from __future__ import annotations

import csv
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from pipeline.data.table_format import TableFormat
from pipeline.data.text import TextFile
from pipeline.errors import DataError

DELIMITERS = ",;\t|"
_LINES, _LEAST_LINES, _LETTERS = 200, 20, 1_000_000
"""Lines that are looked at; fewer where they are long, but as many at least."""
_MARK = "\ufeff".encode().decode("latin-1")
_SAID = re.compile(r"sep=([^\w\s\"]|\t| )\r?\n?", re.IGNORECASE | re.ASCII)
"""What Excel writes above the names."""
_PLAIN = re.compile(
    r"\s*[^\w\s,;|]{0,2}\s*\d[\d.,' \u00a0\u202f]*[^\s\d,;|]{0,3}\s*"
    r"|[^,;\t|]*|.*[,;|]\s.*"
)
"""A number, a text that no delimiter cuts, or one that reads as prose."""
_QUOTED = re.compile(r"\s*'[^']*'(?:[,;|\t ]'[^']*')+\s*")
"""Names that are all quoted by apostrophes."""
_NUMBER = re.compile(r"\s*[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?\s*")
_ALONE, _TITLED = 0.45, 0.8
"""What one column scores, and what a line in front that no delimiter cuts leaves of a score."""
_MOST = 0.9
"""Share of the lines below titles that must have as many cells as the line of names."""


class Dialect(NamedTuple):
    """How the lines of a file are cut.

    Parameters
    ----------
    delimiter : str
    skip_rows : int
        Lines above the line of names.
    titles : tuple of str
        What these say.
    width : int
        Cells of most lines.
    quote : str
        What stands around cells that hold a delimiter.
    """

    delimiter: str
    skip_rows: int = 0
    titles: tuple[str, ...] = ()
    width: int = 0
    quote: str = '"'


class Given(NamedTuple):
    """What is known of a file beforehand; None is to be found out."""

    encoding: str | None = None
    delimiter: str | None = None
    skip_rows: int | None = None
    strip_names: bool = False


def given_by(format: TableFormat | None) -> Given:
    """Return what a format says."""
    if format is None:
        return Given()
    return Given(format.encoding, format.delimiter, format.skip_rows, format.strip_names)


class Records:
    """The records of lines, one after the other, beside the lines and bytes read so far.

    A line may end within quotes, so only who cuts a file into cells knows where a row ends.
    """

    def __init__(
        self, lines: Iterable[str], delimiter: str, skip: int = 0, quote: str = '"'
    ) -> None:
        self.lines = self.place = 0
        csv.field_size_limit(sys.maxsize)
        read = self._read(lines)
        for _ in islice(read, skip):
            pass
        self.reader = csv.reader(read, delimiter=delimiter, quotechar=quote)

    def _read(self, lines: Iterable[str]) -> Iterator[str]:
        for line in lines:
            self.lines, self.place = self.lines + 1, self.place + len(line)
            yield line.removeprefix(_MARK) if self.lines == 1 else line

    def __iter__(self) -> Iterator[list[str]]:
        """Yield the cells of each record."""
        return self.reader


def find_dialect(file: TextFile, delimiters: str = DELIMITERS) -> Dialect:
    """Return how a file is cut, by one of some delimiters, or by blanks where these cut nothing.

    Raises
    ------
    DataError
        Several blanks part the columns.

    Examples
    --------
    >>> guess(["Messung;Wert, netto", "a;1,5", "b;2,5"])
    Dialect(delimiter=';', skip_rows=0, titles=(), width=2, quote='"')
    >>> guess(["Prices of 2024", "", "a,b,c", "1,2,3", "4,5,6"])[:3]
    (',', 2, ('Prices of 2024',))
    """
    with file.lines() as lines:
        first = list(islice(lines, _LEAST_LINES))
        width = sum(map(len, first)) // _LEAST_LINES + 1
        first += islice(lines, max(min(_LINES, _LETTERS // width) - _LEAST_LINES, 0))
    found = guess(first, delimiters)
    asked = delimiters == " " or (delimiters == DELIMITERS and found.width < 2)
    if not asked or not _are_parted_by_blanks(first):
        return found
    if any(line.strip("\r\n") != " ".join(line.split()) for line in first if line.strip()):
        raise DataError(
            f"{file.path}: several blanks part its columns; write it with commas, as "
            "pandas.read_csv(file, sep=r'\\s+').to_csv(other, index=False) does"
        )
    return guess(first, " ")


def _are_parted_by_blanks(lines: Sequence[str]) -> bool:
    """Whether blanks cut all lines alike, and one column is of numbers below a name."""
    rows = [row for row in (line.split() for line in lines) if row]
    widths = {len(row) for row in rows}
    if len(rows) < 3 or len(widths) > 1 or widths == {1}:
        return False
    number = [[bool(_NUMBER.fullmatch(cell)) for cell in row] for row in rows]
    return any(all(below) and not name for name, *below in zip(*number, strict=True))


def guess(lines: Sequence[str], delimiters: str = DELIMITERS) -> Dialect:
    """Return how lines are cut, see `find_dialect`."""
    said = _SAID.fullmatch(lines[0].removeprefix(_MARK)) if lines else None
    if said:
        return Dialect(said[1], 1)
    names = next(filter(str.strip, lines), "").removeprefix(_MARK)
    quote = "'" if _QUOTED.fullmatch(names) else '"'
    cuts = {each: list(_records(lines, each, quote)) for each in delimiters}
    widths = {each: [len(cells) for _, cells in records] for each, records in cuts.items()}
    alone = all(each[:1] == [1] for each in widths.values())
    delimiter = max(
        delimiters, key=lambda each: (_score(cuts[each], alone), max(widths[each][:1], default=0))
    )
    return _without_titles(delimiter, cuts[delimiter])._replace(quote=quote)


def _records(lines: Sequence[str], delimiter: str, quote: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the records that hold something, each with the lines before it."""
    records, before = Records(lines, delimiter, quote=quote), 0
    for cells in records:
        if cells:
            yield before, cells
        before = records.lines


def _width(records: Sequence[tuple[int, list[str]]]) -> int:
    """Return how many cells most records have."""
    counts = Counter(len(cells) for _, cells in records)
    return max(counts, key=lambda width: (counts[width], width), default=0)


def _score(records: Sequence[tuple[int, list[str]]], alone: bool) -> float:
    """Return the share of records of the same length, times that of cells that no other cuts.

    Parameters
    ----------
    records : list of (int, list of str)
    alone : bool
        Whether the line of names may be one name.
    """
    width = _width(records)
    alike = [cells for _, cells in records if len(cells) == width]
    if width < 2:
        return _ALONE * (alone and len(alike) == len(records))
    cells = [cell for row in alike for cell in row]
    plain = sum(bool(_PLAIN.fullmatch(cell)) for cell in cells) / len(cells)
    first = len(records[0][1])
    named = 1 if first == width else _TITLED if first == 1 else 0.5
    return named * plain * len(alike) / len(records)


def _without_titles(delimiter: str, records: Sequence[tuple[int, list[str]]]) -> Dialect:
    """Skip the lines above the line of names, where they are no names and all below agree.

    A line with one cell less than the rows may be names too, of all columns but the first.
    """
    width = _width(records)
    full = (i for i, (_, cells) in enumerate(records) if len(cells) == width and not _title(cells))
    first = next(full, 0)
    above, below = records[:first], records[first:]
    alike = sum(len(cells) == width for _, cells in below)
    # Names are one line, and rows follow at once.
    surely = below[0][0] > 1 and not any(map(_NUMBER.fullmatch, below[0][1])) if below else False
    if (
        not above
        or width < 2
        or alike < max(2, _MOST * len(below))
        or not all(
            _title(cells) or len(cells) < width - 1 or (surely and len(cells) == 1)
            for _, cells in above
        )
        or _NUMBER.fullmatch(below[0][1][0])
    ):
        return Dialect(delimiter, width=width)
    titles = tuple(" ".join(filter(None, cells)).strip() for _, cells in above)
    return Dialect(delimiter, below[0][0], tuple(filter(None, titles)), width)


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
