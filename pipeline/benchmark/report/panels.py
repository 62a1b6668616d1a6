"""The panels of the report: what each shows. HTML and Markdown are written from this list."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from pipeline.benchmark.report import cards, figures, tables
from pipeline.benchmark.report.table import ReportTable
from pipeline.benchmark.results import STAGES, Results
from pipeline.benchmark.statistics import OTHER
from pipeline.benchmark.verdict import verdict


class _Part(NamedTuple):
    """A piece of a panel.

    Parameters
    ----------
    kind : str
        The macro that draws it in HTML, and the function of `markdown.WRITERS` that writes it;
        what has no such function is in HTML alone.
    value : object
        What is shown.
    name : str
        The anchor of a table or figure; of a text, its class in the style sheet.
    note : str
        Beside a figure's title; of a table, its class in the style sheet.
    """

    kind: str
    value: Any
    name: str = ""
    note: str = ""


class Panel(NamedTuple):
    """A title, and what is shown of a record."""

    title: str
    parts: Callable[[Results], Iterable[_Part]]


def _verdict(results: Results) -> Iterator[_Part]:
    conclusion = verdict(results)
    yield _Part("scores", conclusion.scores)
    yield _Part("cautions", conclusion.cautions)
    yield _Part("badge", conclusion)
    yield _Part("headlines", conclusion.headlines)
    facts = conclusion.parity, *tables.break_evens(results), *conclusion.places, conclusion.gpu
    yield _Part("items", facts)
    yield _Part("caveats", conclusion.caveats)


def _speed(results: Results) -> Iterator[_Part]:
    yield _Part("table", tables.speed_table(results), "speed-table", "speed")
    if ratios := figures.ratio_figure(results):
        about = (
            "Logarithmic axis: left of the dashed line the variant is faster, right of it slower."
        )
        yield _Part("marks", ratios, "ratios", about)
    about = (
        "A dot is one timed run, the thick tick the median, the line the range; the warm-up is "
        "left out."
    )
    yield from _figures("marks", figures.run_figures(results), "runs", about)


def _figures(kind: str, every: Iterable[figures.Figure], name: str, note: str) -> Iterator[_Part]:
    """Yield numbered figures; the first has the note."""
    for number, figure in enumerate(every, 1):
        yield _Part(kind, figure, f"{name}-{number}", note if number == 1 else "")


def _stages(results: Results) -> Iterator[_Part]:
    yield _Part("legend", (*STAGES, OTHER))
    yield from _figures("bars", figures.stage_figures(results), "stages", "")
    yield _Part("table", tables.stage_table(results), "stage-table")


def _scaling(results: Results) -> Iterator[_Part]:
    yield _Part("text", tables.size_note(results), "soft")
    about = (
        "Both axes are logarithmic. A dot is a median, the bar through it the range of the runs, "
        "the line the cost model, where one fits."
    )
    yield from _figures("lines", figures.size_figures(results), "sizes", about)
    yield _Part("table", tables.size_table(results), "size-table")
    yield _Part("table", tables.model_table(results), "model-table", "models")


def _placement(results: Results) -> Iterator[_Part]:
    yield _Part("text", verdict(results).gpu)
    placed = tables.placement_tables(results)
    for number, table in enumerate(placed, 1):
        yield _Part("table", table, f"placement-{number}", "wide")
    if not placed:
        yield _Part("text", tables.NO_PLACEMENT)
    yield from _or_text(tables.movement_table(results), "movement-table", tables.NO_MOVEMENT)
    for number, table in enumerate(tables.log_tables(results), 1):
        summary = f"{table.caption}, {len(table.rows)} entries"
        yield _Part("details", [_Part("table", table, f"log-{number}")], summary)


def _or_text(table: ReportTable, name: str, why: str) -> Iterator[_Part]:
    """Yield a table, or why it has no row."""
    yield _Part("table", table, name) if table.rows else _Part("text", why)


def _quality(results: Results) -> Iterator[_Part]:
    yield from _or_text(tables.quality_table(results), "quality-table", tables.NO_QUALITY)
    yield _Part("table", tables.agreement_table(results), "agreement-table")


def _memory(results: Results) -> Iterator[_Part]:
    yield _Part("table", tables.memory_table(results), "memory-table")
    yield _Part("table", tables.resource_table(results), "resource-table")
    cost = tables.cost_table(results)
    yield from _or_text(cost, "cost-table", cost.note)
    used = [*_figures("lines", figures.use_figures(results), "use", "Of the last timed run.")]
    if used:
        yield _Part("details", used, f"Use over time, {len(used)} figures")
    yield _Part("text", tables.ALONE, "note")


def _machine(results: Results) -> Iterator[_Part]:
    yield _Part("heading", "The same for all")
    yield _Part("card", cards.fairness(results))
    yield _Part("table", tables.variants_table(results), "variants-table")
    yield _Part("heading", "How the runs were made")
    yield _Part("card", cards.protocol(results))
    yield _Part("heading", "The machine")
    yield _Part("card", cards.machine_rows(results))


def _history(results: Results) -> Iterable[_Part]:
    return _or_text(tables.history_table(results), "history-table", tables.NO_HISTORY)


def _reproduce(results: Results) -> Iterator[_Part]:
    yield _Part("code", results.source.command)
    yield _Part("card", cards.reproduction(results))
    yield _Part("profiles", tables.profiles(results))
    yield _Part("table", tables.packages_table(results), "packages-table")


def _code(results: Results) -> Iterator[_Part]:
    for pipeline in results.pipelines:
        yield _Part("heading", f"{pipeline.name}: {pipeline.title}")
        yield _Part("code", pipeline.code)


PANELS = {
    "verdict": Panel("Verdict", _verdict),
    "speed": Panel("Speed", _speed),
    "stages": Panel("Stages", _stages),
    "scaling": Panel("How time grows with the rows", _scaling),
    "placement": Panel("Where each step ran", _placement),
    "quality": Panel("Quality side by side", _quality),
    "memory": Panel("Memory, processors, energy and cost", _memory),
    "machine": Panel("Machine and fairness", _machine),
    "history": Panel("Earlier records", _history),
    "reproduce": Panel("How to reproduce", _reproduce),
    "code": Panel("The pipelines' code", _code),
}
"""By anchor, in the order of the page."""
