"""The report as one HTML page: no script, nothing to load."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from pipeline.benchmark.report.cards import machine_line
from pipeline.benchmark.report.format import integer, minute
from pipeline.benchmark.report.panels import PANELS
from pipeline.benchmark.results import Results
from pipeline.errors import clean

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
