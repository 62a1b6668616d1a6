"""The report as one HTML page: no script, nothing to load, foreign text escaped."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from pipeline.compare.report import cards, context, curves, plots, resources, sizes, tables
from pipeline.compare.report.format import clean
from pipeline.compare.report.panels import PANELS
from pipeline.compare.results import STAGES, Results
from pipeline.compare.statistics import OTHER
from pipeline.compare.verdicts import times, verdict

TEMPLATES = Path(__file__).parent / "templates"


def page(results: Results) -> str:
    """Return the page; the same results give the same bytes."""
    template = environment().get_template("index.html.j2")
    return template.render(
        results=results,
        verdict=verdict(results),
        cards=cards,
        plots=plots,
        tables=tables,
        resources=resources,
        sizes=sizes,
        context=context,
        curves=curves,
        panels=PANELS,
        stages=(*STAGES, OTHER),
    )


def environment() -> Environment:
    """Return what renders the templates; foreign text is escaped and cleaned."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=select_autoescape(("html", "j2"), default=True, default_for_string=True),
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["times"] = times
    return environment


def _finalize(value: object) -> object:
    """Clean foreign text; markup made by the templates is a subclass of str and passes."""
    return clean(value) if type(value) is str else value
