"""The report as one short table for a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.table import Table
from rich.text import Text

from pipeline.benchmark.judge.verdict import in_terminal, verdict
from pipeline.benchmark.record.results import Results
from pipeline.benchmark.report.tables import leaderboard
from pipeline.errors import clean

_WIDE = "Fit", "Predict"
"""Columns of the leaderboard that 80 columns have no room for."""
_NOTE = "Total: median seconds of a run, end to end. Speed: beside plain scikit-learn."
_STYLES = {"good": "green", "bad": "bold red", "quiet": "dim"}


def terminal_report(results: Results, rest: Path = Path("results.json")) -> Group:
    """Return the table and the first cautions; `rest` is the file of all.

    Words carry every verdict, colours only repeat it. Names stay whole; what else is long goes over
    several lines.
    """
    found, board = verdict(results), leaderboard(results)
    table = Table(
        title=_text(found.badge),
        caption=_text(_NOTE),
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        show_edge=False,
    )
    kept = [place for place, name in enumerate(board.head) if not name.startswith(_WIDE)]
    for place in kept:
        side: Literal["left", "right"] = "right" if board.align[place] == "r" else "left"
        table.add_column(_head(board.head[place]), justify=side, no_wrap=place < 2)
    for cells in board.rows:
        table.add_row(*(_text(cells[place].text, cells[place].tone) for place in kept))
    skipped = [found.skipped] if found.skipped else []
    return Group(table, *map(_text, [*skipped, *in_terminal(found.cautions, rest)]))


def _head(name: str) -> Text:
    """Break a long name where it has underscores, so that the verdicts have room."""
    first, comma, rest = " ".join(clean(name).split()).partition(", ")
    first = first if len(first) <= len("difference") else first.replace("_", "_\n")
    return Text(f"{first}{comma.rstrip()}\n{rest}" if comma else first)


def _text(value: str, tone: str = "") -> Text:
    """Make a text in which rich sees no markup and no line break."""
    return Text(" ".join(clean(value).split()), style=_STYLES.get(tone, ""))
