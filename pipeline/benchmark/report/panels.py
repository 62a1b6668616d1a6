"""The panels of the report: what each shows. HTML and Markdown are written from this list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from pipeline.benchmark.judge.verdict import verdict
from pipeline.benchmark.record.results import Results
from pipeline.benchmark.report import cards, figures, mistakes, tables
from pipeline.task.numerals import count


class Piece(NamedTuple):
    """A piece of a panel."""

    kind: str
    """The macro that draws it in HTML, and its key in `markdown.WRITERS` if it is written there."""
    value: Any
    name: str = ""
    """The anchor of a table or figure; of a text, its class in the style sheet."""
    note: str = ""
    """Beside a figure's title; of a table, its class in the style sheet."""


class Panel(NamedTuple):
    """A title, the pieces of a record or what yields them, and what they are in a few words."""

    title: str
    pieces: Any
    about: str = ""


class Page(NamedTuple):
    """A page: panels by anchor, the first one open; `files` lie beside it."""

    title: str
    lead: str
    panels: dict[str, Panel]
    files: dict[str, str]
    kind: str = ""
    """What the page is, in a few words above its title."""


def shown(panels: Mapping[str, Panel], record: object) -> dict[str, Panel]:
    """Return the panels of a record that have a piece; none of what is not recorded."""
    every = {
        anchor: [each for each in panel.pieces(record) if getattr(each.value, "rows", each.value)]
        for anchor, panel in panels.items()
    }
    return {name: panels[name]._replace(pieces=each) for name, each in every.items() if each}


def comparison_page(results: Results) -> Page:
    """Return the page of a comparison."""
    task, ran = results.task, [each for each in results.variants if each.status != "skipped"]
    by = " and ".join(each.title for each in ran)
    lead = (
        f"{count(len(results.pipelines), 'pipeline')}, each run by {by}. "
        f"{task.rows_train:,} training rows, {task.rows_test:,} test rows. "
        f"{cards.machine_line(results.machine)}. {results.created[:10]}."
    )
    files = {
        "results.json": "the record that all numbers come from",
        "report.md": "this page as Markdown",
        "runs.csv": "all runs as a table",
    }
    return Page(task.title, lead, shown(PANELS, results), files, "Comparison with scikit-learn")


def numbered(
    kind: str, every: Iterable[Any], name: str, note: str = "", about: str = ""
) -> Iterator[Piece]:
    """Yield numbered pieces, with how to read them above."""
    for number, each in enumerate(every, 1):
        if number == 1 and about:
            yield Piece("about", about)
        yield Piece(kind, each, f"{name}-{number}", note)


def pointed(kind: str, title: str, points: Iterable[str]) -> Iterator[Piece]:
    """Yield points under a title, where there are any."""
    if every := list(points):
        yield Piece(kind, (title, every))


def _verdict(results: Results) -> Iterator[Piece]:
    found = verdict(results)
    yield Piece("text", found.badge, f"badge {found.kind.lower().replace(' ', '-')}")
    about = (
        "Each pipeline has its own scale; the line at the end of a bar is the 95 % interval of the "
        "comparison with plain scikit-learn."
    )
    yield Piece("stacks", figures.stage_figure(results), "times", about)
    yield Piece("use", cards.how_to_use(results, found.best), "use")
    yield Piece("table", tables.leaderboard(results), "leaderboard", "board")
    if not results.baseline:
        none = results.task.kind in ("ranking", "clusters")
        why = f"{results.task.kind} has no dummy." if none else "No dummy was recorded."
        yield Piece("text", why[0].upper() + why[1:], "soft")
    yield Piece("items", [*filter(None, (found.parity, found.skipped))])
    yield from pointed("cautions", "Before you trust a score", found.cautions)
    yield from pointed("caveats", "Limits of this comparison", found.caveats)


def _speed(results: Results) -> Iterator[Piece]:
    yield Piece("table", tables.speed_table(results), "speed-table", "speed")
    yield Piece("table", tables.stage_table(results), "stage-table")


def _scaling(results: Results) -> Iterator[Piece]:
    about = "Both axes are logarithmic. A dot is a median; its bar is the range of the runs."
    sizes = (figures.size_figure(results, info.name) for info in results.pipelines)
    yield from numbered("curves", filter(None, sizes), "sizes", about=about)
    lost = (p for p in results.points if p.status != "ok")
    every = [f"{p.variant} on {p.pipeline} failed at size {p.size:g}: {p.why}." for p in lost]
    yield Piece("items", every)


def _placement(results: Results) -> Iterator[Piece]:
    yield from numbered("table", tables.placement_tables(results), "placement", "wide")
    yield Piece("table", tables.movement_table(results), "movement-table")
    yield Piece("table", tables.resource_table(results), "resource-table")
    yield Piece("table", tables.cost_table(results), "cost-table")


def _quality(results: Results) -> Iterator[Piece]:
    yield Piece("table", tables.quality_table(results), "quality-table")
    yield Piece("table", tables.agreement_table(results), "agreement-table")
    curves = (each for info in results.pipelines for each in mistakes.curves(results, info.name))
    yield from numbered("curves", curves, "curves", about=mistakes.HOW_CURVED)
    yield Piece("table", mistakes.residual_table(results), "residual-table")
    yield from numbered("table", mistakes.confusion_tables(results), "confusion", "fixed")


def _columns(results: Results) -> Iterator[Piece]:
    yield Piece("table", tables.column_table(results), "columns-table", "columns")


def _machine(results: Results) -> Iterator[Piece]:
    yield Piece("code", results.source.command)
    yield Piece("card", cards.reproduction(results))
    yield Piece("heading", "The same for all variants")
    yield Piece("card", cards.fairness(results))
    yield Piece("heading", "Protocol")
    yield Piece("card", cards.protocol(results))
    yield Piece("heading", "Machine")
    yield Piece("card", cards.machine_rows(results.machine))
    for pipeline in results.pipelines:
        yield Piece("heading", f"{pipeline.name}: {pipeline.title}")
        yield Piece("code", pipeline.code)


PANELS = {
    "verdict": Panel("Verdict", _verdict),
    "speed": Panel("Speed", _speed, "times, intervals, stages"),
    "scaling": Panel("Time by number of rows", _scaling, "smaller samples of the table"),
    "placement": Panel("Resources", _placement, "devices, copies, memory, energy, cost"),
    "quality": Panel("Quality", _quality, "metrics, margins, agreement, errors"),
    "columns": Panel("Columns", _columns, "kinds, missing values, ranges, drift, cautions"),
    "machine": Panel("How to reproduce", _machine, "command, data, protocol, machine, code"),
}
"""By anchor, in the order of the page."""
