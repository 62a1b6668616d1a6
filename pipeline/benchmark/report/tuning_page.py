"""The page of a batch of searches, as HTML and as Markdown, from its record alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from pipeline.benchmark.report import tuning_figures as figures
from pipeline.benchmark.report import tuning_tables as tables
from pipeline.benchmark.report.cards import machine_rows
from pipeline.benchmark.report.html import environment
from pipeline.benchmark.report.markdown import WRITERS, markdown_table, text
from pipeline.benchmark.report.panels import Piece
from pipeline.benchmark.tuning_record import SearchRecord, TuningRecord
from pipeline.system.atomic import write_text

_STATES_NOTE = (
    "A stopped trial stands at the mean of the folds it had; one without a place on the axis "
    "stands below it."
)


class Part(NamedTuple):
    """A section of the page."""

    anchor: str
    title: str
    pieces: list[Piece]


def render_tuning(record: TuningRecord, folder: Path) -> None:
    """Write ``index.html`` and ``report.md`` into a folder; the same record gives the same bytes.

    Parameters
    ----------
    record : TuningRecord
        The only source of both files.
    folder : Path
        Made if it does not exist; where ``tuning.json`` lies.

    Raises
    ------
    OutputError
        The folder is not writable, the disk is full, or a file is in the way.
    """
    write_text(folder / "index.html", tuning_html(record))
    write_text(folder / "report.md", tuning_markdown(record))


def tuning_html(record: TuningRecord) -> str:
    """Return the page."""
    template = environment().get_template("tuning.html.j2")
    return template.render(record=record, parts=[*parts(record)])


def tuning_markdown(record: TuningRecord) -> str:
    """Return the page as Markdown, without figures and the tables of all trials."""
    writers = WRITERS | {"folded": lambda table: markdown_table(table)}
    written = [f"# {text(record.task.title)}: the tuning"]
    for part in parts(record):
        written.append(f"## {text(part.title)}")
        written += [writers[p.kind](p.value) for p in part.pieces if p.kind in writers]
    return "\n\n".join(filter(None, written)) + "\n"


def parts(record: TuningRecord) -> Iterator[Part]:
    """Yield the sections: what was found, each pipeline, how to get it again."""
    yield Part("summary", "What was found", [*_summary(record)])
    for number, pipeline in enumerate(record.pipelines, 1):
        searches = [each for each in record.searches if each.pipeline == pipeline.name]
        if searches:
            pieces = [*_pipeline(record, searches, f"p{number}")]
            yield Part(f"pipeline-{number}", f"{pipeline.name}: {pipeline.title}", pieces)
    yield Part("how", "How it was searched", [*_how(record)])
    yield Part("code", "The tuned pipelines' code", [*_code(record)])


def _summary(record: TuningRecord) -> Iterator[Piece]:
    yield Piece("scores", [*tables.headlines(record)])
    yield Piece("cautions", tables.every_remark(record))
    yield Piece("table", tables.folds_table(record), "folds-table")
    yield Piece("table", tables.judged_table(record), "judged-table", "judged")


def _pipeline(record: TuningRecord, searches: list[SearchRecord], name: str) -> Iterator[Piece]:
    for number, search in enumerate(searches, 1):
        own = f"{name}-{number}"
        if len(searches) > 1:
            yield Piece("heading", search.variant)
        if search.status != "ok":
            yield Piece("text", f"{search.status}: {search.why or 'no reason recorded'}")
        yield from _search(record, search, own, first=number == 1)
    if plot := figures.seconds_figure(record, searches):
        yield Piece("heading", "Quality against seconds")
        yield Piece("plot", plot, f"{name}-seconds")
        yield Piece("table", tables.seconds_table(record, searches), f"{name}-equal")


def _search(
    record: TuningRecord, search: SearchRecord, name: str, *, first: bool
) -> Iterator[Piece]:
    if search.best is not None:
        table = tables.parameter_table(record, search)
        yield Piece("table", table, f"{name}-parameters", "parameters")
        yield Piece("items", [*tables.remarks(record, search)])
    if plot := figures.history_figure(record, search):
        note = _STATES_NOTE if first else ""
        yield Piece("plot", plot, f"{name}-history", note)
    if parallel := figures.parallel_figure(record, search):
        yield Piece("parallel", parallel, f"{name}-parallel")
    if bars := figures.importance_figure(search):
        yield Piece("bars", bars, f"{name}-importance", tables.about_importance(search))
    else:
        yield Piece("text", tables.about_importance(search), "note")
    reasons = tables.reasons_table(search)
    if reasons.rows:
        yield Piece("folded", reasons, f"{name}-reasons")
    if search.trials:
        table = tables.trials_table(record, search)
        summary = f"{table.caption}: all values of {len(table.rows)}"
        yield Piece("details", [Piece("table", table, f"{name}-trials", "trials")], summary)


def _how(record: TuningRecord) -> Iterator[Piece]:
    yield Piece("code", record.source.command)
    yield Piece("card", tables.protocol_card(record))
    yield Piece("heading", "The machine")
    yield Piece("card", machine_rows(record.machine))


def _code(record: TuningRecord) -> Iterable[Piece]:
    for each in record.searches:
        if each.tuned is not None:
            yield Piece("heading", f"{each.pipeline}, {each.variant}")
            yield Piece("code", each.tuned.code)
            yield Piece("code", "\n".join(tables.commands(record, each)))
