"""An explanation as HTML: a table of the steps, each with a badge for where it runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from pipeline.backends.base import Placement

if TYPE_CHECKING:
    from jinja2 import Environment


def render_table(title: str, placements: Sequence[Placement]) -> str:
    """Return the table, for a notebook or a part of a page.

    Parameters
    ----------
    title : str
    placements : sequence of Placement

    Returns
    -------
    str
        HTML that needs no script. All names in it are escaped.
    """
    table = _environment().get_template("explanation.html.j2")
    return table.render(title=title, placements=placements, kind=_kind)


def render_page(tables: Iterable[tuple[str, str]]) -> str:
    """Return a page of tables below their headings, light and dark."""
    template = _environment().get_template("page.html.j2")
    return template.render(tables=list(tables))


def _kind(place: Placement) -> str:
    if not place.implementation:
        return "none"
    return "host" if place.reasons else place.device


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("pipeline.planning"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
