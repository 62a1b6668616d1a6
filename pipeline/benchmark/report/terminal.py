"""The report as one short table for a terminal."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from pipeline.benchmark.report.format import MISSING, clean, seconds
from pipeline.benchmark.report.tables import TONES, absence, pairs, span
from pipeline.benchmark.results import Results
from pipeline.benchmark.statistics import FEW, cell_parity, speed
from pipeline.benchmark.verdict import verdict

_STYLES = {"good": "green", "bad": "bold red", "quiet": "dim"}


def terminal_table(results: Results) -> Table:
    """Return a table with one row per pipeline and variant, the badge above, the GPU below.

    Words carry every judgement; colours only repeat it.
    """
    conclusion = verdict(results)
    note = _few(results)
    table = Table(
        title=_text(conclusion.badge),
        caption=_text(conclusion.gpu + note),
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    for name in ("Pipeline", "Variant"):
        table.add_column(name, no_wrap=True)
    for name in ("Median, s", "Time ratio", "Interval"):
        table.add_column(name, justify="right", no_wrap=True)
    for name in ("Verdict", "Parity"):
        table.add_column(name)
    for pipeline, variant in pairs(results):
        table.add_row(*_row(results, pipeline, variant))
    return table


def _row(results: Results, pipeline: str, variant: str) -> list[Text]:
    timed, judged = speed(results, pipeline, variant), cell_parity(results, pipeline, variant)
    names = [_text(pipeline), _text(variant)]
    if timed is None:
        gaps = [_text(MISSING)] * 3
        return [*names, *gaps, _text(absence(results, pipeline, variant), "bad"), _text(MISSING)]
    cells = [*names, _text(seconds(timed.median))]
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
