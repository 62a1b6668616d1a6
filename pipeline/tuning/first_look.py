"""A first look at a candidate that is made of trees: its first fold with the first of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pipeline.backends.grown import shares_trees
from pipeline.backends.xgboost.shared import may_boost_on
from pipeline.tuning.last_step import last_step
from pipeline.tuning.racing import Racing
from pipeline.tuning.space import candidate_of
from pipeline.typing import Estimator

if TYPE_CHECKING:
    from optuna.study import Study

SHARE = 1 / 8
"""Of the trees, at a first look."""
FEWEST = 16
"""Trees of a candidate that is looked at."""


def look_share(study: Study, estimator: Estimator, params: Mapping[str, Any]) -> float:
    """Return the share of its trees that a candidate is looked at with first.

    Parameters
    ----------
    study : optuna.study.Study
        Pruners other than ours are not told of looks.
    estimator : estimator
    params : mapping
        As `set_params` takes them.

    Returns
    -------
    float
        1 where its first trees are not those of all, or there are too few.
    """
    if not isinstance(study.pruner, Racing):
        return 1.0
    try:
        model = candidate_of(estimator, params)
    except (TypeError, ValueError):
        return 1.0  # The fit will fail, and say why.
    last = last_step(model)[1]
    return SHARE if _begins_as(last) and (_trees(last) or 0) >= FEWEST else 1.0


def _begins_as(last: Estimator) -> bool:
    """Return whether the first trees of an estimator are those of one with more."""
    if hasattr(last, "get_num_boosting_rounds"):
        return may_boost_on(last, {})
    return shares_trees(last, {})


def _trees(last: Estimator) -> int | None:
    boosts = hasattr(last, "get_num_boosting_rounds")
    wanted = last.get_num_boosting_rounds() if boosts else last.n_estimators
    return wanted if isinstance(wanted, int) else None


def cut_trees(model: Estimator, share: float) -> None:
    """Let a candidate have a share of its trees."""
    last = last_step(model)[1]
    last.set_params(n_estimators=max(1, round(share * (_trees(last) or 1))))
