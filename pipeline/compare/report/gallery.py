"""An index page over the reports of several tasks, derived from their records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.compare.report.format import integer
from pipeline.compare.report.html import environment
from pipeline.compare.results import Results
from pipeline.compare.verdicts import verdict


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


def page(entries: Sequence[Entry]) -> str:
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
