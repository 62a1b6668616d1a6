"""Searches and cross-validations of pipelines, whose fits share rows of one table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from sklearn.metrics import check_scoring

from pipeline.accel.adopted import adopt, computes_in_float64, fitted_of, settle
from pipeline.accel.engine import tell
from pipeline.accel.sites import Site
from pipeline.accel.verify import beside, first_difference
from pipeline.model.accelerated import Accelerated
from pipeline.table.borrowed import borrow
from pipeline.table.shared import shared
from pipeline.typing import Params, Table

SPACES = {"GridSearchCV": "param_grid", "RandomizedSearchCV": "param_distributions"}
_PREFIX = "estimator__"
SHARED = "its fits share rows"


def shares(search: Any, args: Any) -> bool:
    """Return whether a search gains from shared rows: of a pipeline, scored by scikit-learn."""
    known = _has_known_scores(search.scoring) and not callable(search.refit)
    table = len(args) > 0 and hasattr(args[0], "shape")
    return known and table and not search.verbose and _has_steps(search.estimator)


def _has_steps(estimator: Any) -> bool:
    return type(estimator).__name__ == "Pipeline" and len(estimator.steps) > 1


def _has_known_scores(scoring: Any) -> bool:
    """Return whether scores come from scikit-learn; a function of the user's may read anything."""
    if isinstance(scoring, dict):
        return all(map(_has_known_scores, scoring.values()))
    names = isinstance(scoring, str | list | tuple | set | None)
    return names or type(scoring).__module__.startswith("sklearn.metrics.")


def search(user: Any, given: Any, choice: Params, call: Site, *, verify: bool) -> Any:
    """Fit a search over a model, and give the user's search what it has found.

    The parameters are those of `pipeline.accel.engine.fit`.
    """
    (X, *more), params = given
    theirs = borrow(user) if verify else None
    work = None if theirs is None else partial(theirs.fit, X, *more, **params)
    inner, space = borrow(user), SPACES[type(user).__name__]
    inner.estimator = Accelerated(user.estimator, **choice)
    asked = getattr(user, space)
    grids = asked if isinstance(asked, list | tuple) else [asked]
    prefixed = [{f"{_PREFIX}{name}": each for name, each in grid.items()} for grid in grids]
    setattr(inner, space, prefixed if grids is asked else prefixed[0])
    with beside(work, call) as plain:
        inner.fit(shared(X), *more, **params)
    settle(user)
    best = vars(inner).get("best_estimator_")
    vars(user).update(_found(inner, user, X))
    if best is not None:
        tell([best], call)
    call.ran, call.why = call.ran if best is not None else choice["device"], call.why or SHARED
    if plain is not None:
        call.differs = plain.error or first_difference([], user, theirs)
    return user


def _found(inner: Any, user: Any, X: Table) -> dict[str, Any]:
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
        model = found["best_estimator_"]
        found["best_estimator_"] = borrow(model.estimator)
        wide = model.device_ == "cuda" and computes_in_float64(X)
        adopt(found["best_estimator_"], model, wide=wide)
    if user.scoring is None:  # the scorer holds the estimator
        found["scorer_"] = check_scoring(user.estimator)
    return found


def _bare(params: Params) -> dict[str, Any]:
    return {name.removeprefix(_PREFIX): value for name, value in params.items()}


def cross_validated(
    plain: Callable[..., Any], given: Any, choice: Params, call: Site, *, verify: bool
) -> Any:
    """Return what scikit-learn's `cross_validate` returns, of a pipeline on shared rows.

    `plain` is scikit-learn's, `given` are an estimator, X, y and the other arguments by name; the
    rest is as in `pipeline.accel.engine.fit`.
    """
    estimator, X, y, params = given
    work = partial(plain, *given[:3], **params) if verify else None
    with beside(work, call) as theirs:
        model = Accelerated(estimator, **choice)
        made = plain(model, shared(X), y, **{**params, "return_estimator": True})
    tell([each for each in made.pop("estimator") if "plan_" in vars(each)], call)
    call.why = call.why or SHARED
    if theirs is not None:
        plain_scores = theirs.made or {}  # nothing if it has failed
        scores = [(n, made[n], each) for n, each in plain_scores.items() if "time" not in n]
        call.differs = theirs.error or first_difference(scores)
    return made


def shares_rows(estimator: Any, X: Any, params: Params) -> bool:
    """Return whether a cross-validation gains from shared rows."""
    special = any(params.get(name) for name in ("params", "return_estimator", "verbose"))
    once = isinstance(params.get("cv"), Iterator)
    usual = hasattr(X, "shape") and not special and not once
    return usual and _has_steps(estimator) and _has_known_scores(params.get("scoring"))
