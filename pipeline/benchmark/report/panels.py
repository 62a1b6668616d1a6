"""The panels of the report: what each shows. HTML and Markdown are written from this list."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from pipeline.benchmark import scores
from pipeline.benchmark.report import cards, columns_used, costs, figures, mistakes, tables
from pipeline.benchmark.report.summary import summary_table
from pipeline.benchmark.report.table import ReportTable
from pipeline.benchmark.results import STAGES, Results
from pipeline.benchmark.statistics import OTHER
from pipeline.benchmark.verdict import verdict


class Piece(NamedTuple):
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
    """A title, what is shown of a record, and that in a few words."""

    title: str
    parts: Callable[[Results], Iterable[Piece]]
    about: str = ""

    def pieces(self, results: Results) -> list[Piece]:
        """Return the pieces that have something to show; none of what is not recorded."""
        return [each for each in self.parts(results) if _shows(each)]


def _shows(piece: Piece) -> bool:
    value = piece.value
    return bool(value.rows if isinstance(value, ReportTable) else value)


def _verdict(results: Results) -> Iterator[Piece]:
    conclusion = verdict(results)
    yield Piece("badge", conclusion)
    yield Piece("table", summary_table(results), "summary", "summary")
    yield Piece("text", conclusion.skipped, "soft")
    if not results.baseline:
        yield Piece("text", scores.why_no_dummy(results), "soft")
    facts = conclusion.parity, *tables.break_evens(results), *conclusion.places, conclusion.gpu
    yield Piece("items", facts)
    yield Piece("cautions", conclusion.cautions)
    yield Piece("caveats", conclusion.caveats)


def _speed(results: Results) -> Iterator[Piece]:
    yield Piece("table", tables.speed_table(results), "speed-table", "speed")
    if ratios := figures.ratio_figure(results):
        about = (
            "Logarithmic axis: left of the dashed line the variant is faster, right of it slower."
        )
        yield Piece("marks", ratios, "ratios", about)
    about = (
        "A dot is one timed run, the thick tick the median, the line the range; the warm-up is "
        "left out."
    )
    yield from _figures("marks", figures.run_figures(results), "runs", about)


def _figures(kind: str, every: Iterable[figures.Figure], name: str, note: str) -> Iterator[Piece]:
    """Yield numbered figures; the first has the note."""
    for number, figure in enumerate(every, 1):
        yield Piece(kind, figure, f"{name}-{number}", note if number == 1 else "")


def _stages(results: Results) -> Iterator[Piece]:
    yield Piece("legend", (*STAGES, OTHER))
    yield from _figures("bars", figures.stage_figures(results), "stages", "")
    yield Piece("table", tables.stage_table(results), "stage-table")


def _scaling(results: Results) -> Iterator[Piece]:
    yield Piece("text", tables.size_note(results), "soft")
    about = (
        "Both axes are logarithmic. A dot is a median, the bar through it the range of the runs, "
        "the line the cost model, where one fits."
    )
    yield from _figures("lines", figures.size_figures(results), "sizes", about)
    yield Piece("table", tables.size_table(results), "size-table")
    yield Piece("table", tables.model_table(results), "model-table", "models")


def _placement(results: Results) -> Iterator[Piece]:
    yield Piece("text", verdict(results).gpu)
    placed = tables.placement_tables(results)
    for number, table in enumerate(placed, 1):
        yield Piece("table", table, f"placement-{number}", "wide")
    if not placed:
        yield Piece("text", tables.NO_PLACEMENT)
    yield from _or_text(tables.movement_table(results), "movement-table", tables.NO_MOVEMENT)
    for number, table in enumerate(tables.log_tables(results), 1):
        summary = f"{table.caption}, {len(table.rows)} entries"
        yield Piece("details", [Piece("table", table, f"log-{number}")], summary)


def _or_text(table: ReportTable, name: str, why: str) -> Iterator[Piece]:
    """Yield a table, or why it has no row."""
    yield Piece("table", table, name) if table.rows else Piece("text", why)


def _quality(results: Results) -> Iterator[Piece]:
    yield from _or_text(tables.quality_table(results), "quality-table", tables.NO_QUALITY)
    yield Piece("table", tables.agreement_table(results), "agreement-table")


def _uses(results: Results) -> Iterator[Piece]:
    drawn = columns_used.importance_figures(results)
    yield Piece("items", [*columns_used.importance_sentences(results)])
    yield from _figures("groups", drawn, "uses", columns_used.HOW)
    numbers = _numbered(columns_used.importance_tables(results), "uses-table")
    if numbers:
        yield Piece("details", numbers, f"The same as numbers, {len(numbers)} tables")


def _mistakes(results: Results) -> Iterator[Piece]:
    calibrated = mistakes.calibration_figures(results)
    yield from _figures("lines", calibrated, "calibration", mistakes.HOW_CALIBRATED)
    yield Piece("table", mistakes.calibration_table(results), "calibration-table")
    thresholds = _numbered(mistakes.threshold_tables(results), "thresholds")
    if thresholds:
        yield Piece("details", thresholds, f"All thresholds, {len(thresholds)} tables")
    residuals = mistakes.residual_figures(results)
    yield from _figures("lines", residuals, "residuals", mistakes.HOW_RESIDUAL)
    yield Piece("table", mistakes.residual_table(results), "residual-table")
    yield Piece("table", mistakes.confused_table(results), "confused-table")
    for number, (name, table) in enumerate(mistakes.confusion_tables(results), 1):
        yield Piece("details", [Piece("table", table, f"confusion-{number}")], f"Matrix, {name}")


def _numbered(every: Iterable[ReportTable], name: str) -> list[Piece]:
    return [Piece("table", each, f"{name}-{number}") for number, each in enumerate(every, 1)]


def _memory(results: Results) -> Iterator[Piece]:
    yield Piece("table", tables.memory_table(results), "memory-table")
    yield Piece("table", tables.resource_table(results), "resource-table")
    for table, name in (
        (costs.cost_table(results), "cost-table"),
        (costs.equal_price_table(results), "equal-price-table"),
    ):
        yield from _or_text(table, name, table.note)
    used = [*_figures("lines", figures.use_figures(results), "use", "Of the last timed run.")]
    if used:
        yield Piece("details", used, f"Use over time, {len(used)} figures")
    yield Piece("text", tables.ALONE, "note")


def _machine(results: Results) -> Iterator[Piece]:
    yield Piece("heading", "The same for all")
    yield Piece("card", cards.fairness(results))
    yield Piece("table", tables.variants_table(results), "variants-table")
    yield Piece("heading", "How the runs were made")
    yield Piece("card", cards.protocol(results))
    yield Piece("heading", "The machine")
    yield Piece("card", cards.machine_rows(results.machine))


def _history(results: Results) -> Iterable[Piece]:
    return _or_text(tables.history_table(results), "history-table", tables.NO_HISTORY)


def _reproduce(results: Results) -> Iterator[Piece]:
    yield Piece("code", results.source.command)
    yield Piece("card", cards.reproduction(results))
    yield Piece("profiles", tables.profiles(results))
    yield Piece("table", tables.packages_table(results), "packages-table")


def _code(results: Results) -> Iterator[Piece]:
    for pipeline in results.pipelines:
        yield Piece("heading", f"{pipeline.name}: {pipeline.title}")
        yield Piece("code", pipeline.code)


_MISTAKES = "calibration and thresholds, residuals, or confused classes"
PANELS = {
    "verdict": Panel("Verdict", _verdict),
    "speed": Panel("Speed", _speed, "every run, ratios and their intervals"),
    "stages": Panel("Stages", _stages, "read, preprocess, copy, fit, predict"),
    "scaling": Panel("How time grows with the rows", _scaling, "other sizes of the table"),
    "placement": Panel("Where each step ran", _placement, "devices, bytes that moved, the log"),
    "quality": Panel("Quality side by side", _quality, "metrics, margins, agreement"),
    "uses": Panel("What the model uses", _uses, "importance of the columns"),
    "mistakes": Panel("Where the answers are wrong", _mistakes, _MISTAKES),
    "memory": Panel("Memory, processors, energy and cost", _memory, "of each variant"),
    "machine": Panel("Machine and fairness", _machine, "what is the same for all"),
    "history": Panel("Earlier records", _history, "of the same work"),
    "reproduce": Panel("How to reproduce", _reproduce, "command, code, packages"),
    "code": Panel("The pipelines' code", _code, "with each parameter that is set"),
}
"""By anchor, in the order of the page."""
