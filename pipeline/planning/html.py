"""An explanation as HTML: scikit-learn's own diagram with badges, and a table below."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import estimator_html_repr

from pipeline.backends.base import Placement

if TYPE_CHECKING:
    from jinja2 import Environment

_ESTIMATOR = re.compile(
    r'(<div class="sk-estimator (?:(?!</label>).)*?<label(?:(?!</label>).)*)'
    r'(</label><div class="sk-toggleable__content [^"]*" data-param-prefix="([^"]*)">)',
    re.DOTALL,
)
"""The label of one estimator in scikit-learn's diagram, and its path in the estimator."""


def fragment(estimator: BaseEstimator, title: str, placements: Sequence[Placement]) -> str:
    """Return the diagram and the table, for a notebook or a part of a page.

    Parameters
    ----------
    estimator : estimator
    title : str
    placements : sequence of Placement

    Returns
    -------
    str
        HTML that needs no script. All names in it are escaped.
    """
    table = _environment().get_template("explanation.html.j2")
    return table.render(
        diagram=badged(estimator, placements), title=title, placements=placements, kind=_kind
    )


def page(fragments: Iterable[tuple[str, str]]) -> str:
    """Return a page of its own for fragments and their headings, light and dark."""
    template = _environment().get_template("page.html.j2")
    return template.render(fragments=list(fragments))


def badged(estimator: BaseEstimator, placements: Sequence[Placement]) -> str:
    """Return scikit-learn's diagram of an estimator with a badge on each step that is placed."""
    badge = _environment().get_template("badge.html.j2")
    whole = isinstance(estimator, Pipeline)
    by_path = {_path(place.step) if whole else _inside(place.step): place for place in placements}

    def with_badge(found: re.Match[str]) -> str:
        place = by_path.get(_path(found[3]))
        return found[1] + (badge.render(place=place, kind=_kind(place)) if place else "") + found[2]

    return _ESTIMATOR.sub(with_badge, estimator_html_repr(estimator))


def _path(step: str) -> str:
    """Return one spelling of our ``"pca.inner"`` and scikit-learn's ``"pca__inner__"``."""
    return step.replace("__", ".").strip(".")


def _inside(step: str) -> str:
    """Return a path without the name that we give to an estimator that is no pipeline."""
    return _path(step).partition(".")[2]


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
