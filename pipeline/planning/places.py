"""Where steps run, as lines of text and as tables of HTML."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from pipeline.backends.base import Placement

if TYPE_CHECKING:
    from jinja2 import Environment


def describe_places(placements: Sequence[Placement]) -> list[str]:
    """Return lines that stand below each other: step, device, what runs it, and remarks."""
    width = max((len(p.step) for p in placements), default=0)
    return [
        f"{p.step:{width}}  {p.device or '-':4}  {p.implementation or 'no equivalent'}"
        + (f"  ({p.remarks})" if p.remarks else "")
        for p in placements
    ]


def render_places(title: str, placements: Sequence[Placement]) -> str:
    """Return a table of where steps run, in which each has a badge."""
    table = _environment().get_template("explanation.html.j2")
    return table.render(title=title, placements=placements, kind=_kind)


def render_page(tables: Sequence[tuple[str, str]]) -> str:
    """Return a page of tables below their headings, light and dark."""
    return _environment().get_template("page.html.j2").render(tables=tables)


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
