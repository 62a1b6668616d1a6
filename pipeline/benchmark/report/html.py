"""The report as one HTML page: no script, nothing to load."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from pipeline.benchmark.record.results import Results
from pipeline.benchmark.report.panels import Page, comparison_page
from pipeline.errors import clean


def render_html(results: Results) -> str:
    """Return the page of a comparison; the same results give the same bytes."""
    return page_html(comparison_page(results))


def page_html(page: Page) -> str:
    """Return a page; foreign text is escaped and cleaned."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=select_autoescape(("html", "j2"), default=True, default_for_string=True),
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("page.html.j2").render(page=page)


def _finalize(value: object) -> object:
    """Clean foreign text; markup is a subclass of str and passes."""
    return clean(value) if type(value) is str else value
