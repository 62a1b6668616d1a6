"""The report as one HTML page, and an index over several: no script, nothing to load."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from pipeline.benchmark.report.cards import machine_line
from pipeline.benchmark.report.format import MISSING, clean, integer, minute, score
from pipeline.benchmark.report.panels import PANELS
from pipeline.benchmark.report.table import TONES, TableCell
from pipeline.benchmark.results import Results
from pipeline.benchmark.scores import best_pipeline, first_metric
from pipeline.benchmark.statistics import cell_parity, speed
from pipeline.benchmark.verdict import Verdict, rivals, verdict

TEMPLATES = Path(__file__).parent / "templates"


def render_html(results: Results) -> str:
    """Return the page; the same results give the same bytes."""
    template = environment().get_template("index.html.j2")
    every = ((anchor, panel, panel.pieces(results)) for anchor, panel in PANELS.items())
    panels = [each for each in every if each[-1]]
    task, machine = results.task, machine_line(results.machine)
    return template.render(
        results=results, panels=panels, rows=map(integer, (task.rows_train, task.rows_test)),
        machine=machine, when=minute(results.created),
    )  # fmt: skip


def environment() -> Environment:
    """Return what renders the templates; foreign text is escaped and cleaned."""
    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=select_autoescape(("html", "j2"), default=True, default_for_string=True),
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _finalize(value: object) -> object:
    """Clean foreign text; markup made by the templates is a subclass of str and passes."""
    return clean(value) if type(value) is str else value


@dataclass(frozen=True)
class Entry:
    """One task of the gallery.

    Parameters
    ----------
    name, summary : str
    results : Results or None
        None where there is no report.
    why : str
        Why there is none.
    """

    name: str
    summary: str
    results: Results | None
    why: str = ""


class Tuning(NamedTuple):
    """A batch of searches beside the gallery.

    Parameters
    ----------
    folder, title : str
    lines : list of str
        What came of each search, or why its record cannot be read.
    """

    folder: str
    title: str
    lines: list[str]


class Row(NamedTuple):
    """A task in the overview of the gallery.

    Parameters
    ----------
    entry : Entry
    verdict : Verdict
    pipeline, metric, dummy : str
        The best pipeline, its first metric, and the dummy's.
    ratios : list of TableCell
        Its time ratios, by variant.
    """

    entry: Entry
    verdict: Verdict
    pipeline: str
    metric: str
    dummy: str
    ratios: list[TableCell]


def overview(entry: Entry, results: Results) -> Row:
    """Return a task's row: its best pipeline, how good it is, and how fast."""
    best = best_pipeline(results) or ""
    found = first_metric(results, best)
    name, value = found or ("", 0.0)
    dummy = results.baseline.get(name)
    return Row(
        entry,
        verdict(results),
        best or MISSING,
        f"{name} {score(value)}" if found else MISSING,
        MISSING if dummy is None else score(dummy),
        [*_ratios(results, best)],
    )


def _ratios(results: Results, pipeline: str) -> Iterator[TableCell]:
    for variant in rivals(results):
        timed = speed(results, pipeline, variant.name)
        if timed and timed.ratio:
            said = f"{variant.name} {timed.ratio.value:.3f}, {timed.ratio.outcome}"
            failed = cell_parity(results, pipeline, variant.name) == "FAIL"
            tone = "bad" if failed else TONES.get(timed.ratio.outcome, "")
            yield TableCell(said + (", but quality FAILS" if failed else ""), tone)


def gallery_page(entries: Sequence[Entry], tunings: Sequence[Tuning] = ()) -> str:
    """Return the page; the same entries give the same bytes.

    Parameters
    ----------
    entries : sequence of Entry
        The report of one lies at ``<name>/index.html`` beside the page.
    tunings : sequence of Tuning
        The page of one lies at ``<folder>/index.html``.
    """
    shown = [overview(entry, entry.results) for entry in entries if entry.results]
    rest = [entry for entry in entries if not entry.results]
    template = environment().get_template("gallery.html.j2")
    return template.render(shown=shown, tunings=tunings, rest=rest, integer=integer)
