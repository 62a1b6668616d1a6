"""The report as one short table for a terminal."""

from __future__ import annotations

from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.table import Table
from rich.text import Text

from pipeline.benchmark.judge.verdict import in_terminal, verdict
from pipeline.benchmark.record.results import Results
from pipeline.benchmark.report.html_table import ReportTable
from pipeline.benchmark.report.tables import summary_table
from pipeline.errors import clean

_STYLES = {"good": "green", "bad": "bold red", "quiet": "dim"}


def terminal_report(results: Results, rest: Path = Path("results.json")) -> Group:
    """Return the table and the first cautions; `rest` is the file of all."""
    found, table = verdict(results), summary_table(results)
    skipped = [found.skipped] if found.skipped else []
    lines = [*skipped, *in_terminal(found.cautions, rest)]
    return Group(rich_table(table, found.badge, f"{found.gpu} {table.note}"), *map(_text, lines))


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
