"""The transformers inside a spec, and the reasons why some cannot run on blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.pipeline import FeatureUnion, Pipeline

from pipeline.errors import Reason
from pipeline.preprocessing.twin import Twin
from pipeline.preprocessing.twins import TWINS


def under(step: str, name: str) -> str:
    """Return the path of a part of a step; the steps of a program have no path before theirs.

    >>> under("columntransformer", "numbers"), under("", "simpleimputer")
    ('columntransformer.numbers', 'simpleimputer')
    """
    return f"{step}.{name}" if step else name


def leaves(spec: Any, step: str) -> list[tuple[str, Any]]:
    """Return the transformers inside a spec with their paths, in order.

    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> [path for path, _ in leaves(make_pipeline(StandardScaler()), "numbers")]
    ['numbers.standardscaler']
    """
    if type(spec) not in (Pipeline, ColumnTransformer, FeatureUnion):
        return [(step, spec)]
    return [leaf for name, how in parts(spec) for leaf in leaves(how, under(step, name))]


def parts(spec: Any) -> list[tuple[str, Any]]:
    """Return the names and transformers that a container holds; none for a transformer."""
    if type(spec) is Pipeline:
        return [(name, how) for name, how in spec.steps if how is not None]
    if type(spec) is ColumnTransformer:
        held = [(name, how) for name, how, _ in spec.transformers]
        return held + ([("remainder", spec.remainder)] if spec.remainder != "drop" else [])
    return list(spec.transformer_list) if type(spec) is FeatureUnion else []


def reasons(spec: Any, step: str) -> list[Reason]:
    """Return why a transformer cannot run on blocks; none when it can."""
    found = [reason for path, leaf in leaves(spec, step) for reason in _refusals(leaf, path)]
    return found + _container_refusals(spec, step, first=True)


def must_come_first(spec: Any) -> bool:
    """Return whether a transformer selects columns, which only a table has."""
    return bool(_container_refusals(spec, "", first=False)) and not reasons(spec, "")


def _refusals(leaf: Any, step: str) -> list[Reason]:
    if isinstance(leaf, str) and leaf in ("passthrough", "drop"):
        return []
    twin = TWINS.get(type(leaf))
    if twin is None:
        known = ", ".join(sorted(original.__name__ for original in TWINS))
        return [Reason(step, f"{type(leaf).__name__} has no twin yet", f"there are: {known}")]
    return twin.refuse(leaf, step)


def _container_refusals(spec: Any, step: str, *, first: bool) -> list[Reason]:
    """Return the reasons against containers; `first`: the table itself comes in."""
    found: list[Reason] = []
    if type(spec) is Pipeline:
        for name, how in spec.steps:
            found += _container_refusals(how, under(step, name), first=first)
            first = first and left_out(how)
    elif type(spec) is ColumnTransformer:
        found += _column_refusals(spec, step, first=first)
        parts = [(name, how) for name, how, _ in spec.transformers]
        for name, how in [*parts, ("remainder", spec.remainder)]:
            found += _container_refusals(how, under(step, name), first=True)
    elif type(spec) is FeatureUnion:
        found += _weight_refusals(spec, step)
        for name, how in spec.transformer_list:
            found += _container_refusals(how, under(step, name), first=first)
    return found


def _column_refusals(spec: ColumnTransformer, step: str, *, first: bool) -> Iterator[Reason]:
    if not first:
        yield Reason(step, "a ColumnTransformer must come first in its pipeline", "reorder it")
    yield from _weight_refusals(spec, step)
    for name, _, key in spec.transformers:
        # It would see one row here, and all of them in scikit-learn.
        if callable(key) and type(key) is not make_column_selector:
            way_out = "use make_column_selector or list the columns"
            yield Reason(under(step, name), "a function may select by the data", way_out)


def _weight_refusals(spec: ColumnTransformer | FeatureUnion, step: str) -> Iterator[Reason]:
    for name, weight in (spec.transformer_weights or {}).items():
        if weight is not None and not isinstance(weight, int | float):
            why = f"the weight of {name!r} is {weight!r}"
            yield Reason(step, why, "use a Python number", "transformer_weights")


def left_out(how: Any) -> bool:
    """Return whether a step hands on what it is given."""
    return how is None or (isinstance(how, str) and how == "passthrough")


def obstacles_to_batches(spec: Any, step: str) -> list[Reason]:
    """Return why a transformer cannot learn batch by batch; none when it can."""
    found = reasons(spec, step) + list(_chains(spec, step))
    for path, leaf in leaves(spec, step):
        twin = TWINS.get(type(leaf))
        if twin is not None and twin.aligned is not Twin.aligned:
            why = f"{type(leaf).__name__} needs the target of all rows"
            found.append(Reason(path, why, "fit on all rows at once"))
    return found


def _chains(spec: Any, step: str) -> Iterator[Reason]:
    """Return a reason for every pipeline with more than one step."""
    if type(spec) is Pipeline and sum(not left_out(how) for _, how in spec.steps) > 1:
        why = "a step learns from what the one before makes, which changes with every batch"
        yield Reason(step, why, "fit on all rows at once")
    for name, how in parts(spec):
        yield from _chains(how, under(step, name))
