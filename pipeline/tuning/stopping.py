"""When a search stops a candidate: as soon as it is unlikely to become the best one."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np

from pipeline.optional import load

if TYPE_CHECKING:
    from optuna.study import Study
    from optuna.trial import FrozenTrial

MARGIN = 0.25
"""Standard errors by which a candidate must be behind to be stopped."""
STARTUP = 3
"""Complete trials before a candidate is stopped."""


def reason_to_stop(study: Study, number: int) -> str:
    """Return why to stop a trial of a study; empty where it goes on.

    Trials report the score of fold ``k`` at step ``k = 1, …, K``. Folds are paired: between folds,
    the difference of two candidates varies less than their scores. Let ``d`` be the mean
    difference to the best complete trial over the ``k`` folds that are done. The mean over all
    ``K`` folds then differs from ``d`` with the standard error ``s √(1/k - 1/K)``, where ``s`` is
    the standard deviation of such differences between folds, pooled over all trials. A trial is
    stopped when ``d`` plus `MARGIN` standard errors is below 0. So the normal quantile of `MARGIN`
    is the predictive power at which clinical trials are ended for futility [1]_: 0.25 stops
    candidates with a chance of less than 40 %.

    Few of many candidates become the best one, so a small margin loses little. The study alone
    decides, so a search that is resumed stops the same trials.

    References
    ----------
    .. [1] D. J. Spiegelhalter, L. S. Freedman, P. R. Blackburn, "Monitoring clinical trials:
       conditional or predictive power?", Controlled Clinical Trials 7, 1986.

    Examples
    --------
    >>> from optuna import create_study
    >>> from optuna.trial import create_trial
    >>> study = create_study(direction="maximize")
    >>> best = create_trial(value=0.8, intermediate_values={1: 0.7, 2: 0.9})
    >>> study.add_trials([best] * STARTUP)
    >>> trial = study.ask()
    >>> trial.report(0.6, 1)
    >>> reason_to_stop(study, trial.number)
    'after 1 of 2 folds: 0.1 behind trial 0'
    """
    trials = study.get_trials(deepcopy=False)
    trial = trials[number]
    complete = [each for each in trials if each.state.name == "COMPLETE"]
    done = len(trial.intermediate_values)
    if len(complete) < STARTUP or not done:
        return ""
    best = max(complete, key=attrgetter("value"))
    gap = float(_gaps(trial, best).mean())
    deviation = pooled_deviation([_gaps(each, best) for each in trials if each is not best])
    n_folds = len(best.intermediate_values)
    if gap + MARGIN * deviation * (1 / done - 1 / n_folds) ** 0.5 >= 0:
        return ""
    return f"after {done} of {n_folds} folds: {-gap:.3g} behind trial {best.number}"


def _gaps(trial: FrozenTrial, best: FrozenTrial) -> np.ndarray:
    """Return how much better a trial is than the best one, on each fold that both have."""
    bar = best.intermediate_values
    return np.array([score - bar[k] for k, score in trial.intermediate_values.items() if k in bar])


def pooled_deviation(groups: Sequence[np.ndarray]) -> float:
    """Return the standard deviation within groups; 0 where each has one number.

    >>> pooled_deviation([np.array([1.0, 3.0]), np.array([7.0])])
    1.4142135623730951
    """
    known = [each for each in groups if len(each) > 1]
    degrees = sum(len(each) - 1 for each in known)
    squares = sum(float(((each - each.mean()) ** 2).sum()) for each in known)
    return float((squares / degrees) ** 0.5) if degrees else 0.0


def estimated(trials: Sequence[FrozenTrial]) -> list[FrozenTrial]:
    """Return the trials that have ended as if all were complete, for a sampler to learn from.

    Optuna's samplers rank stopped trials below all complete ones, and by the scores of different
    folds. Here a stopped trial differs from the best one as much as on the folds that it has.
    Failed trials are left out, and all trials where none is complete.
    """
    ended = [each for each in trials if each.state.name in ("COMPLETE", "PRUNED")]
    complete = [each for each in ended if each.state.name == "COMPLETE"]
    if not complete:
        return []
    best = max(complete, key=attrgetter("value"))
    values = [
        each.value if each in complete else best.value + float(_gaps(each, best).mean())
        for each in ended
    ]
    make = load("optuna.trial.create_trial")
    return [
        make(value=value, params=each.params, distributions=each.distributions)
        for each, value in zip(ended, values, strict=True)
    ]
