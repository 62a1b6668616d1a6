"""The report as one HTML page, and an index over several: no script, nothing to load."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from pipeline.benchmark.report.format import clean, integer, times
from pipeline.benchmark.report.panels import PANELS
from pipeline.benchmark.results import Results
from pipeline.benchmark.verdict import verdict

TEMPLATES = Path(__file__).parent / "templates"


def render_html(results: Results) -> str:
    """Return the page; the same results give the same bytes."""
    template = environment().get_template("index.html.j2")
    return template.render(results=results, panels=PANELS)


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


def gallery_page(entries: Sequence[Entry]) -> str:
    """Return the page; the same entries give the same bytes.

    Parameters
    ----------
    entries : sequence of Entry
        The report of one lies at ``<name>/index.html`` beside the page.
    """
    shown = [(entry, verdict(entry.results)) for entry in entries if entry.results]
    rest = [entry for entry in entries if not entry.results]
    template = environment().get_template("gallery.html.j2")
    return template.render(shown=shown, rest=rest, integer=integer)
