"""Searches and cross-validations of pipelines, whose fits share rows of one table."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from sklearn.base import clone
from sklearn.metrics import check_scoring

from pipeline.accel.adopted import fitted_of, settle
from pipeline.accel.nesting import nested
from pipeline.accel.sites import Call, note
from pipeline.accel.verify import first_difference, plainly
from pipeline.model.accelerated import Accelerated
from pipeline.table.borrowed import borrow
from pipeline.table.shared import shared
from pipeline.typing import Params

SPACES = {"GridSearchCV": "param_grid", "RandomizedSearchCV": "param_distributions"}
_PREFIX = "estimator__"
SHARED = "its fits share rows"


def shares(search: Any, args: Any) -> bool:
    """Return whether a search gains from shared rows: of a pipeline, scored by scikit-learn."""
    known = _has_known_scores(search.scoring) and not callable(search.refit)
    table = len(args) > 0 and hasattr(args[0], "shape")
    return known and table and not search.verbose and _has_steps(search.estimator)


def _has_steps(estimator: Any) -> bool:
    return len(getattr(estimator, "steps", ())) > 1


def _has_known_scores(scoring: Any) -> bool:
    """Return whether scores come from scikit-learn; a function of the user's may read anything."""
    if isinstance(scoring, dict):
        return all(map(_has_known_scores, scoring.values()))
    names = isinstance(scoring, str | list | tuple | set | None)
    return names or type(scoring).__module__.startswith("sklearn.metrics.")


def search(user: Any, given: Any, device: str, call: Call, *, verify: bool) -> Any:
    """Fit a search over a model, and give the user's search what it has found.

    The parameters are those of `pipeline.accel.engine.fit`.
    """
    (X, *more), params = given
    beside = clone(user, safe=False) if verify else None
    inner, space = borrow(user), SPACES[type(user).__name__]
    inner.estimator = Accelerated(user.estimator, device, fallback=True)
    asked = getattr(user, space)
    grids = asked if isinstance(asked, list | tuple) else [asked]
    prefixed = [{f"{_PREFIX}{name}": each for name, each in grid.items()} for grid in grids]
    setattr(inner, space, prefixed if grids is asked else prefixed[0])
    with plainly(beside, "fit", given, call) as plain:
        inner.fit(shared(X), *more, **params)
    settle(user)
    vars(user).update(_found(inner, user))
    call.ran, call.why = device, SHARED
    if plain is not None:
        call.differs = plain.error or first_difference([], user, beside)
    return user


def _found(inner: Any, user: Any) -> dict[str, Any]:
    """Return the fitted attributes of a search, as of a search over the estimator itself."""
    found = {name: value for name, value in fitted_of(inner).items() if name != "estimator"}
    results = found["cv_results_"]
    found["cv_results_"] = {
        name.replace(_PREFIX, "", 1) if name.startswith("param_") else name: value
        for name, value in results.items()
    }
    found["cv_results_"]["params"] = [_bare(each) for each in results["params"]]
    if "best_params_" in found:
        found["best_params_"] = _bare(found["best_params_"])
    if "best_estimator_" in found:
        found["best_estimator_"] = found["best_estimator_"].to_sklearn()
    if user.scoring is None:  # the scorer holds the estimator
        found["scorer_"] = check_scoring(user.estimator)
    return found


def _bare(params: Params) -> dict[str, Any]:
    return {name.removeprefix(_PREFIX): value for name, value in params.items()}


def cross_validated(
    plain: Callable[..., Any], estimator: Any, X: Any, y: Any, params: Params, device: str
) -> Any:
    """Return what scikit-learn's `cross_validate` returns, of a pipeline on shared rows.

    Parameters
    ----------
    plain : callable
        scikit-learn's.
    estimator, X, y, params
        Its arguments.
    device : {"", "cpu", "cuda"}
        Empty for plain scikit-learn.
    """
    special = any(params.get(name) for name in ("params", "return_estimator", "verbose"))
    if (
        not device
        or special
        or not _has_known_scores(params.get("scoring"))
        or not _has_steps(estimator)
    ):
        return plain(estimator, X, y, **params)
    start = time.perf_counter()
    with nested():
        made = plain(Accelerated(estimator, device, fallback=True), shared(X), y, **params)
    note(Call("cross_validate", device, SHARED, time.perf_counter() - start))
    return made
