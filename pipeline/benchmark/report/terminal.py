"""The report as one short table for a terminal."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.table import Table
from rich.text import Text

from pipeline.benchmark.judge.verdict import in_terminal, verdict
from pipeline.benchmark.record.results import Results
from pipeline.benchmark.report.html_table import ReportTable
from pipeline.benchmark.report.tables import leaderboard
from pipeline.errors import clean

_WIDE = "Fit", "Predict"
"""Columns of the leaderboard that 80 columns have no room for."""
_STYLES = {"good": "green", "bad": "bold red", "quiet": "dim"}


def terminal_report(results: Results, rest: Path = Path("results.json")) -> Group:
    """Return the table and the first cautions; `rest` is the file of all."""
    found, table = verdict(results), leaderboard(results)
    kept = [place for place, name in enumerate(table.head) if not name.startswith(_WIDE)]
    narrow = replace(
        table,
        head=tuple(table.head[place] for place in kept),
        align="".join(table.align[place] for place in kept),
        rows=tuple(tuple(row[place] for place in kept) for row in table.rows),
    )
    skipped = [found.skipped] if found.skipped else []
    lines = [*skipped, *in_terminal(found.cautions, rest)]
    note = "Total: median seconds of a run, end to end. Speed: beside plain scikit-learn."
    return Group(rich_table(narrow, found.badge, note), *map(_text, lines))


def rich_table(value: ReportTable, title: str, caption: str) -> Table:
    """Return a table for a terminal; words carry every verdict, colours only repeat it.

    Names stay whole; what else is long goes over several lines.
    """
    table = Table(
        title=_text(title),
        caption=_text(caption),
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        show_edge=False,
    )
    for place, (name, side) in enumerate(zip(value.head, value.align, strict=True)):
        table.add_column(_head(name), justify="right" if side == "r" else "left", no_wrap=place < 2)
    for cells in value.rows:
        table.add_row(*(_text(cell.text, cell.tone) for cell in cells))
    return table


def _head(name: str) -> Text:
    """Break a long name where it has underscores, so that the verdicts have room."""
    first, comma, rest = " ".join(clean(name).split()).partition(", ")
    first = first if len(first) <= len("difference") else first.replace("_", "_\n")
    return Text(f"{first}{comma.rstrip()}\n{rest}" if comma else first)


def _text(value: str, tone: str = "") -> Text:
    """Make a text in which rich sees no markup and no line break."""
    return Text(" ".join(clean(value).split()), style=_STYLES.get(tone, ""))
