"""When a candidate is stopped: as soon as it is unlikely to become the best one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from sklearn.linear_model import BayesianRidge

from pipeline.errors import ConfigError
from pipeline.optional import load

if TYPE_CHECKING:
    from optuna.pruners import BasePruner
    from optuna.study import Study
    from optuna.trial import FrozenTrial, Trial

CHANCE = 0.4
"""A candidate with less of it is stopped between folds."""
LOOK_CHANCE = 0.1
"""A candidate with less of it is stopped after a first look."""
STARTUP = 3
"""So many trials are completed before one is stopped."""
PAIRS = 15
"""So many trials were looked at, and their first fold completed, before a look stops one."""
LOOK = 0
"""The step of a first look; step ``k`` is the score of fold ``k``, from 1."""


class Racing:
    """A pruner for Optuna, of trials that report the score of fold ``k`` at step ``k = 1, …, K``.

    Folds are paired: the difference of two candidates varies less between folds than their scores.
    With the mean ``d`` of the differences to the best complete trial over the first ``k`` folds and
    a normal model of a known deviation ``s``, the mean over all ``K`` folds is expected at ``d``
    with the deviation ``s √(1/k - 1/K)``, of the folds that are still to come and of what is not
    known of their mean; nothing is presumed of that (a flat prior). So the chance to beat the best
    one is ``Φ(d / (s √(1/k - 1/K)))``: the predictive power by which a clinical trial is ended
    early (Spiegelhalter, Freedman & Blackburn, Controlled Clinical Trials 7, 1986). ``s²`` is
    pooled over the differences of all trials to the best one.

    A first look, step 0, is the score of the first fold with a share of the trees. Curves of
    candidates cross (a low learning rate gains more from there on), so what the whole fold will
    score is predicted from the looks and parameters of earlier trials and their squares, by
    `sklearn.linear_model.BayesianRidge`; the variance of the prediction is added to that of the
    first fold.

    Few of many candidates become the best one, which a flat prior does not know, so its chances
    are too high, and the limit between folds is higher than it looks. A look is trusted less: what
    it has stopped is not seen, so a prediction that is wrong there is not put right. Nothing
    but the study decides, so that a search that is resumed stops the same trials.

    Parameters
    ----------
    chance : float, default=0.4
        A trial with less of it is stopped between folds.
    look_chance : float, default=0.1
        A trial with less of it is stopped after a first look.
    startup : int, default=3
        So many trials are completed before one is stopped.
    """

    def __init__(
        self, chance: float = CHANCE, look_chance: float = LOOK_CHANCE, startup: int = STARTUP
    ) -> None:
        self.chance, self.look_chance, self.startup = chance, look_chance, startup

    def prune(self, study: Study, trial: FrozenTrial) -> bool:
        """Return whether a trial is to be stopped, as Optuna's pruners do."""
        return bool(self.judge(study, trial))

    def judge(self, study: Study, trial: FrozenTrial) -> str:
        """Return why a trial is to be stopped; empty where it goes on."""
        trials = study.get_trials(deepcopy=False)
        best = _best(trials)
        if best is None or _count_complete(trials) < self.startup or not trial.intermediate_values:
            return ""
        bar, own = _folds(best), _gaps(trial, best)
        if len(own):
            gap, error, limit = float(own.mean()), 0.0, self.chance
        elif (first := predict_first_gap(trials, [trial], best)) is not None:
            gap, error, limit = float(first[0][0]), float(first[1][0]), self.look_chance
        else:
            return ""
        deviation = pooled_deviation([_gaps(each, best) for each in trials if each is not best])
        chance = chance_to_win(gap, deviation, len(own) or 1, len(bar), error)
        if chance >= limit:
            return ""
        when = f"{len(own)} of {len(bar)} folds" if len(own) else "a first look"
        return f"after {when}: {chance:.0%} chance of beating trial {best.number}"


def first_fold(number: int, n_folds: int) -> int:
    """Return the fold that a trial begins with, from 0; the others follow in a circle.

    If all began with the same fold, the sampler would learn what is best on that fold.

    >>> [first_fold(number, 5) for number in range(7)]
    [0, 1, 2, 3, 4, 0, 1]
    """
    return number % n_folds


def _best(trials: Sequence[FrozenTrial]) -> FrozenTrial | None:
    """Return the best complete trial; None where there is none."""
    complete = [each for each in trials if each.state == _complete()]
    return max(complete, key=lambda each: float(each.value or 0), default=None)


def _count_complete(trials: Sequence[FrozenTrial]) -> int:
    return sum(each.state == _complete() for each in trials)


def _complete() -> Any:
    return load("optuna.trial.TrialState").COMPLETE


def chance_to_win(
    gap: float, deviation: float, done: int, n_folds: int, error: float = 0.0
) -> float:
    """Return the chance that a candidate is better than another one over all folds.

    Parameters
    ----------
    gap : float
        Mean of its score less the other's, over the folds that are done.
    deviation : float
        Of the differences between folds.
    done, n_folds : int
    error : float
        Standard error of the gap, where it is predicted.

    Examples
    --------
    >>> round(chance_to_win(-0.002, 0.004, 1, 5), 3)
    0.288
    >>> round(chance_to_win(-0.002, 0.004, 4, 5), 3)
    0.013
    """
    spread = float(np.hypot(deviation * (1 / done - 1 / n_folds) ** 0.5, error))
    if not spread:
        return float(np.sign(gap) + 1) / 2
    return NormalDist().cdf(gap / spread)


def pooled_deviation(groups: Sequence[np.ndarray]) -> float:
    """Return the standard deviation within groups, of what is known of all; 0 where nothing is."""
    within = [(each - each.mean(), len(each) - 1) for each in groups if len(each) > 1]
    degrees = sum(more for _, more in within)
    return float((sum(each @ each for each, _ in within) / degrees) ** 0.5) if degrees else 0.0


def _folds(trial: FrozenTrial) -> dict[int, float]:
    """Return the scores of the folds that are done, by their steps."""
    return {step: score for step, score in trial.intermediate_values.items() if step != LOOK}


def _gaps(trial: FrozenTrial, best: FrozenTrial) -> np.ndarray:
    """Return how much better than the best trial another one is, on the folds that it has."""
    bar = _folds(best)
    return np.array([score - bar[step] for step, score in _folds(trial).items()])


def predict_first_gap(
    trials: Sequence[FrozenTrial], wanted: Sequence[FrozenTrial], best: FrozenTrial
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return how much better than the best trial some will be on their first fold.

    Parameters
    ----------
    trials : sequence of FrozenTrial
        What is learnt from: those with a look and a first fold.
    wanted : sequence of FrozenTrial
        With a look.
    best : FrozenTrial
        Complete.

    Returns
    -------
    gaps, errors : numpy.ndarray of shape (n_wanted,), or None
        Of the predictions, and their standard errors; None where too little is known.
    """
    bar = _folds(best)
    step = {id(each): first_fold(each.number, len(bar)) + 1 for each in (*trials, *wanted)}
    seen = [t for t in trials if {LOOK, step[id(t)]} <= t.intermediate_values.keys()]
    if len(seen) < PAIRS:
        return None
    both = [*seen, *wanted]
    names = sorted(set(both[0].params).intersection(*(each.params for each in both)))
    features = np.array([_features(each, names, bar[step[id(each)]]) for each in both])
    gaps = np.array([t.intermediate_values[step[id(t)]] - bar[step[id(t)]] for t in seen])
    middle, width = gaps.mean(), gaps.std()
    if not np.ptp(gaps):
        return np.full(len(wanted), middle), np.zeros(len(wanted))
    features[:, 0] = (features[:, 0] - middle) / width
    model = BayesianRidge().fit(features[: len(seen)], (gaps - middle) / width)
    means, errors = model.predict(features[len(seen) :], return_std=True)
    return middle + width * means, width * errors


def estimated(trials: Sequence[FrozenTrial]) -> list[FrozenTrial]:
    """Return the trials that have ended as if all were complete, for a sampler to learn from.

    Optuna's samplers rank what was stopped below all that is complete, however bad that is: here
    most are stopped, and some of these are better than the first ones. A stopped trial is taken
    to differ from the best one as much as on the folds that it has; after a first look, as much
    as is predicted. Trials that failed are left out, and all where none is complete.
    """
    states = load("optuna.trial.TrialState")
    ended = [each for each in trials if each.state in (states.COMPLETE, states.PRUNED)]
    best = _best(ended)
    if best is None or best.value is None:
        return []
    looked = [each for each in ended if each.intermediate_values.keys() == {LOOK}]
    firsts = predict_first_gap(ended, looked, best) if looked else None
    gaps = {} if firsts is None else dict(zip(map(id, looked), firsts[0], strict=True))
    gaps |= {id(t): float(own.mean()) for t in ended if len(own := _gaps(t, best))}
    make = load("optuna.trial.create_trial")
    return [
        make(
            value=best.value + gaps[id(each)],
            params=each.params,
            distributions=each.distributions,
        )
        for each in ended
        if id(each) in gaps
    ]


def _features(trial: FrozenTrial, names: Sequence[str], bar: float) -> list[float]:
    """Return the gap of a look and the parameters, as numbers from -1 to 1 and their squares."""
    own = [_coordinates(trial.distributions[name], trial.params[name]) for name in names]
    return [trial.intermediate_values[LOOK] - bar, *chain.from_iterable(own)]


def _coordinates(distribution: Any, value: Any) -> list[float]:
    if hasattr(distribution, "choices"):
        return [float(value == each) for each in distribution.choices]
    ends = [float(each) for each in (distribution.low, value, distribution.high)]
    low, at, high = np.log(ends) if distribution.log else ends
    place = 2 * (at - low) / (high - low) - 1 if high > low else 0.0
    return [place, place**2]


def reason_to_stop(study: Study, trial: Trial) -> str:
    """Return why the pruner of a study stops a trial; empty where it goes on."""
    if isinstance(study.pruner, Racing):
        return study.pruner.judge(study, study.get_trials(deepcopy=False)[trial.number])
    if not trial.should_prune():
        return ""
    last = study.get_trials(deepcopy=False)[trial.number].last_step
    return f"after fold {last}: by {type(study.pruner).__name__}"


def pruner_of(prune: bool | BasePruner) -> BasePruner:
    """Return the pruner that the parameter `prune` of `Search` stands for.

    Raises
    ------
    ConfigError
        It is neither a boolean nor a pruner of Optuna.
    """
    if isinstance(prune, Racing | load("optuna.pruners.BasePruner")):
        return cast("BasePruner", prune)
    if not isinstance(prune, bool | np.bool_):
        raise ConfigError(f"prune={prune!r} is neither a boolean nor a pruner of Optuna")
    # Optuna asks for the one method alone, and without Optuna there is nothing to inherit.
    return cast("BasePruner", Racing()) if prune else load("optuna.pruners.NopPruner")()
