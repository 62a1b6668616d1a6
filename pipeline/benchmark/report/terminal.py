"""The report as one short table for a terminal."""

from __future__ import annotations

from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.table import Table
from rich.text import Text

from pipeline.benchmark.report.costs import cost_lines
from pipeline.benchmark.report.format import MISSING, score, seconds
from pipeline.benchmark.report.table import TONES, pairs
from pipeline.benchmark.report.tables import absence, span
from pipeline.benchmark.results import Results
from pipeline.benchmark.scores import in_terminal
from pipeline.benchmark.statistics import FEW, cell_parity, measured, speed
from pipeline.benchmark.verdict import verdict
from pipeline.errors import clean

_STYLES = {"good": "green", "bad": "bold red", "quiet": "dim"}


def terminal_report(results: Results, rest: Path = Path("results.json")) -> Group:
    """Return the table, what a run costs, and the first of what to know before believing a score.

    Parameters
    ----------
    results : Results
    rest : Path
        The file that has all of it.
    """
    conclusion = verdict(results)
    told = [*filter(None, [conclusion.skipped]), *cost_lines(results)]
    lines = [*told, *in_terminal(conclusion.cautions, rest)]
    return Group(terminal_table(results), *map(_text, lines))


def terminal_table(results: Results) -> Table:
    """Return a table with one row per pipeline and variant, the badge above, the GPU below.

    The first metric of each stands beside its median time and the ratio to the reference's; that
    of the dummy stands in the first row.

    Words carry every judgement; colours only repeat it.
    """
    conclusion = verdict(results)
    note = _few(results)
    table = Table(
        title=_text(conclusion.badge),
        caption=_text(conclusion.gpu + note),
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        show_edge=False,
    )
    for name in ("Pipeline", "Variant"):
        table.add_column(name, no_wrap=True)
    told = {name: value for name, value in results.baseline.items() if name in _firsts(results)}
    table.add_column(_in_lines(_heading(results)), justify="right", no_wrap=True)
    for name in ("Time, s", "Ratio", "Interval"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("Verdict", min_width=len("difference"))
    table.add_column("Parity", min_width=len("Parity"))
    if told:
        value = ", ".join(_written(results, *item) for item in told.items())
        table.add_row(_text("dummy"), _text(MISSING), _text(value), style="dim")
    for pipeline, variant in pairs(results):
        table.add_row(*_row(results, pipeline, variant))
    return table


def as_texts(results: Results) -> tuple[list[str], list[tuple[str, ...]]]:
    """Return the head and the rows of the table without colours."""
    columns = terminal_table(results).columns
    cells = ([str(cell) for cell in column.cells] for column in columns)
    heads = [str(column.header).replace("\n", "") for column in columns]
    return heads, [*zip(*cells, strict=True)]


def _firsts(results: Results) -> list[str]:
    """Return the names of the first metrics of all cells."""
    firsts = (next(iter(cell.metrics), None) for cell in results.cells)
    return list(dict.fromkeys(name for name in firsts if name is not None))


def _heading(results: Results) -> str:
    names = _firsts(results)
    return clean(names[0]) if len(names) == 1 else "Metric"


def _in_lines(name: str) -> str:
    """Break a long name where it has underscores, so that the verdicts have room in 80 columns."""
    return name if len(name) <= len("difference") else name.replace("_", "_\n")


def _written(results: Results, name: str, value: float) -> str:
    return score(value) if len(_firsts(results)) == 1 else f"{name} {score(value)}"


def _row(results: Results, pipeline: str, variant: str) -> list[Text]:
    timed, judged = speed(results, pipeline, variant), cell_parity(results, pipeline, variant)
    names = [_text(pipeline), _text(variant)]
    if timed is None:
        gaps = [_text(MISSING)] * 4
        return [*names, *gaps, _text(absence(results, pipeline, variant), "bad"), _text(MISSING)]
    cell = measured(results, pipeline, variant)
    first = [_written(results, *item) for item in (cell.metrics.items() if cell else ())][:1]
    cells = [*names, _text(first[0] if first else MISSING), _text(seconds(timed.median))]
    if timed.ratio is None:
        return [*cells, *[_text(MISSING)] * 4]
    outcome = timed.ratio.outcome
    return [
        *cells,
        _text(f"{timed.ratio.value:.3f}"),
        _text(span(timed.ratio)),
        _text(outcome, TONES.get(outcome, "")),
        _text(judged, TONES.get(judged, "quiet")),
    ]


def _few(results: Results) -> str:
    """Say once what intervals from few runs are worth."""
    every = [speed(results, pipeline, variant) for pipeline, variant in pairs(results)]
    least = min((each.n for each in every if each), default=FEW)
    return f" Intervals are indicative: {least} runs." if least < FEW else ""


def _text(value: str, tone: str = "") -> Text:
    """Make a text in which rich sees no markup and no line break."""
    return Text(" ".join(clean(value).split()), style=_STYLES.get(tone, ""))
