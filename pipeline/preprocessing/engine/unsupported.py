"""Why blocks cannot run a transformer, or not batch by batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.utils import get_tags

from pipeline.errors import Reason
from pipeline.preprocessing.engine.tree import (
    CONTAINERS,
    Inside,
    children,
    given_alone,
    join_path,
    left_out,
    selecting_by_data,
    walk,
)
from pipeline.preprocessing.transformers import TWINS
from pipeline.typing import Estimator

WORDS = (None, "passthrough", "drop")
ALONE = "it gets a column alone, as a series"
SELECTOR = "use make_column_selector or list the columns"


def units(whole: Inside) -> list[tuple[Inside, list[Reason]]]:
    """Return what runs as one, and why not on blocks: transformers, and containers that must."""
    against = reasons_of([whole])
    if against or type(whole.estimator) not in CONTAINERS:
        return [(whole, against)]
    alone = given_alone(whole.estimator) if type(whole.estimator) is ColumnTransformer else ()
    found = []
    for part in children(whole):
        if part.path.removeprefix(join_path(whole.path, "")) in alone:
            found.append((part, [Reason(part.path, ALONE, "give it a list of columns")]))
        else:
            found += units(part)
    return found


def reasons(estimator: Estimator, step: str) -> list[Reason]:
    """Return why a transformer cannot run on blocks; none when it can.

    Parameters
    ----------
    estimator : estimator, or "passthrough" or "drop"
    step : str
        Its path in the whole estimator.
    """
    return reasons_of(walk(estimator, step))


def reasons_of(inside: Sequence[Inside]) -> list[Reason]:
    """Return why the parts of a transformer cannot run on blocks, each by itself."""
    against = []
    for part in inside:
        kind = type(part.estimator)
        if kind in TWINS:
            against += TWINS[kind].unsupported_reasons(part.estimator, part.path)
        elif kind is ColumnTransformer or kind is FeatureUnion:
            against += _container_reasons(*part)
        elif kind is Pipeline and any(_reads_documents(how) for _, how in part.estimator.steps[1:]):
            why = "a step of it reads documents, which the one before makes of columns"
            against.append(Reason(part.path, why, "give its vectorizer the column's name"))
        elif kind is not Pipeline and part.estimator not in WORDS:
            known = ", ".join(sorted(sklearn_class.__name__ for sklearn_class in TWINS))
            why = f"{kind.__name__} has no twin yet"
            against.append(Reason(part.path, why, f"there are: {known}"))
    return against


def _reads_documents(how: Any) -> bool:
    """Return whether a step takes a sequence of texts, and no table."""
    tags = get_tags(how).input_tags if hasattr(how, "__sklearn_tags__") else None
    return tags is not None and tags.string and not tags.two_d_array


def _container_reasons(step: str, estimator: Estimator, first: bool) -> list[Reason]:
    against = []
    columns = type(estimator) is ColumnTransformer
    if columns and not first:
        why = "a ColumnTransformer must come first in its pipeline"
        against.append(Reason(step, why, "reorder it"))
    if estimator.transformer_weights:
        why = "transformer_weights is not supported yet"
        instead = "scale in the branch, or run the step in scikit-learn"
        against.append(Reason(step, why, instead, "transformer_weights"))
    # A function would see one row here, and all of them in scikit-learn.
    against += [
        Reason(f"{step}.{name}".removeprefix("."), "a function may select by the data", SELECTOR)
        for name in (selecting_by_data(estimator) if columns else ())
    ]
    return against


def obstacles_to_batches(estimator: Estimator, step: str) -> list[Reason]:
    """Return why a transformer cannot learn batch by batch; none when it can."""
    inside = walk(estimator, step)
    return reasons_of(inside) + need_all_rows(inside)


def need_all_rows(inside: Sequence[Inside]) -> list[Reason]:
    """Return why a transformer that runs on blocks cannot learn from some rows after others."""
    against = []
    for step, part, _ in inside:
        twin, why = TWINS.get(type(part)), ""
        if twin is not None and twin.needs_target:
            why = f"{type(part).__name__} needs the target of all rows"
        elif type(part) is Pipeline and sum(not left_out(how) for _, how in part.steps) > 1:
            why = "a step learns from what the one before makes, which changes with every batch"
        if why:
            against.append(Reason(step, why, "fit on all rows at once"))
    return against
