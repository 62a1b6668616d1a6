"""When a candidate is stopped: as soon as it is unlikely to become the best one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from pipeline.errors import ConfigError
from pipeline.optional import load

if TYPE_CHECKING:
    from optuna.pruners import BasePruner
    from optuna.study import Study
    from optuna.trial import FrozenTrial, Trial

CHANCE = 0.2
"""A candidate with less of it is stopped."""
STARTUP = 3
"""So many trials are completed before one is stopped."""


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

    The rule depends on the study alone, so that a search that is resumed stops the same trials.
    That the best of many is partly lucky is not allowed for: it stops fewer than it might.

    Parameters
    ----------
    chance : float, default=0.2
        A trial with less of it is stopped.
    startup : int, default=3
        So many trials are completed before one is stopped.
    """

    def __init__(self, chance: float = CHANCE, startup: int = STARTUP) -> None:
        self.chance, self.startup = chance, startup

    def prune(self, study: Study, trial: FrozenTrial) -> bool:
        """Return whether a trial is to be stopped, as Optuna's pruners do."""
        return bool(self.judge(study, trial))

    def judge(self, study: Study, trial: FrozenTrial) -> str:
        """Return why a trial is to be stopped; empty where it goes on."""
        known = [_folds(each) for each in study.get_trials(deepcopy=False)]
        n_folds = max(map(len, known))
        complete = [each.number for each in _complete(study) if len(known[each.number]) == n_folds]
        own = _folds(trial)
        if len(complete) < self.startup or not len(own):
            return ""
        best = max(complete, key=lambda number: float(known[number].mean()))
        gaps = [each - known[best][: len(each)] for i, each in enumerate(known) if i != best]
        gap = float((own - known[best][: len(own)]).mean())
        chance = chance_to_win(gap, pooled_deviation(gaps), len(own), n_folds)
        if chance >= self.chance:
            return ""
        return f"after fold {len(own)}: {chance:.0%} chance of beating trial {best}"


def chance_to_win(gap: float, deviation: float, done: int, n_folds: int) -> float:
    """Return the chance that a candidate is better than another one over all folds.

    Parameters
    ----------
    gap : float
        Mean of its score less the other's, over the folds that are done.
    deviation : float
        Of the differences between folds.
    done, n_folds : int

    Examples
    --------
    >>> round(chance_to_win(-0.002, 0.004, 1, 5), 3)
    0.288
    >>> round(chance_to_win(-0.002, 0.004, 4, 5), 3)
    0.013
    """
    spread = deviation * (1 / done - 1 / n_folds) ** 0.5
    if not spread:
        return float(np.sign(gap) + 1) / 2
    return NormalDist().cdf(gap / spread)


def pooled_deviation(groups: Sequence[np.ndarray]) -> float:
    """Return the standard deviation within groups, of what is known of all; 0 where nothing is."""
    within = [(each - each.mean(), len(each) - 1) for each in groups if len(each) > 1]
    degrees = sum(more for _, more in within)
    return float((sum(each @ each for each, _ in within) / degrees) ** 0.5) if degrees else 0.0


def _folds(trial: FrozenTrial) -> np.ndarray:
    """Return the scores of the folds that are done, in order."""
    return np.array(list(_in_order(trial.intermediate_values)))


def _in_order(values: Any) -> Iterator[float]:
    step = 1
    while step in values:
        yield values[step]
        step += 1


def _complete(study: Study) -> list[FrozenTrial]:
    state = load("optuna.trial.TrialState").COMPLETE
    return study.get_trials(deepcopy=False, states=(state,))


def reason_to_stop(study: Study, trial: Trial) -> str:
    """Return why the pruner of a study stops a trial; empty where it goes on."""
    if isinstance(study.pruner, Racing):
        return study.pruner.judge(study, study.get_trials(deepcopy=False)[trial.number])
    if not trial.should_prune():
        return ""
    last = study.get_trials(deepcopy=False)[trial.number].last_step
    return f"after fold {last}: {type(study.pruner).__name__}"


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
