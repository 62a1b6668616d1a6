"""Which candidates are stopped, against simulated searches and Optuna's own pruners."""

from __future__ import annotations

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.trial import TrialState, create_trial

from pipeline.errors import ConfigError
from pipeline.tuning.stopping import (
    PairedGap,
    estimated,
    pooled_deviation,
    pruner_of,
    reason_to_stop,
)

optuna.logging.set_verbosity(optuna.logging.WARNING)
FOLDS = np.array([0.70, 0.74, 0.71, 0.73, 0.72])
"""What is easy or hard of the folds, for all candidates alike."""


def study_of(*scores: np.ndarray, pruner: PairedGap | None = None) -> optuna.Study:
    """Return a study of complete trials with these scores of their folds."""
    study = optuna.create_study(direction="maximize", pruner=pruner or PairedGap())
    for each in scores:
        steps = {k: float(score) for k, score in enumerate(each, 1)}
        study.add_trial(create_trial(value=float(each.mean()), intermediate_values=steps))
    return study


def reported(study: optuna.Study, scores: np.ndarray) -> optuna.trial.Trial:
    trial = study.ask()
    for k, score in enumerate(scores, 1):
        trial.report(float(score), k)
    return trial


def three(noise: float = 0.002) -> list[np.ndarray]:
    drawn = np.random.default_rng(0).normal(0, noise, (3, 5))
    return [FOLDS + each for each in drawn - drawn.mean(1, keepdims=True)]


def test_an_easy_fold_does_not_save_a_bad_candidate_nor_a_hard_one_stop_a_good_one() -> None:
    study = study_of(*three())
    far = reported(study, FOLDS[:1] - 0.05)
    assert far.should_prune()
    assert reason_to_stop(study, far).startswith("after 1 of 5 folds: 0.0")
    # Fold 2 is the easiest, and fold 1 the hardest; means of other folds would say the reverse.
    assert reported(study, FOLDS[:2] - 0.01).should_prune()
    good = reported(study, FOLDS[:1] + 0.005)
    assert good.should_prune() is False
    assert reason_to_stop(study, good) == ""


def test_nothing_is_stopped_before_enough_is_known() -> None:
    bad = FOLDS[:1] - 0.2
    assert not reported(study_of(*three()[:2]), bad).should_prune()
    assert reported(study_of(*three()[:2], pruner=PairedGap(startup=2)), bad).should_prune()
    assert not study_of(*three()).ask().should_prune()


@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize("margin", [0.25, 1.0])
def test_the_limit_is_the_margin_in_standard_errors(k: int, margin: float) -> None:
    base = three()
    best = max(base, key=lambda each: float(each.mean()))
    others = [each - best for each in base if each is not best]
    deviation = pooled_deviation([*others, np.zeros(k)])  # Its own gaps are all the same.
    limit = margin * deviation * np.sqrt(1 / k - 1 / 5)
    for share, stopped in ((1.1, True), (0.9, False)):
        study = study_of(*base, pruner=PairedGap(margin=margin))
        assert reported(study, best[:k] - share * limit).should_prune() == stopped


def test_folds_of_stopped_trials_tell_of_the_deviation_too() -> None:
    calm = study_of(*three(1e-5))
    assert reported(calm, FOLDS[:1] - 0.002).should_prune()
    for sign in (1, -1, 1, -1):
        steps = {1: 0.70 + sign * 0.02, 2: 0.74 - sign * 0.02}
        calm.add_trial(create_trial(state=TrialState.PRUNED, intermediate_values=steps))
    assert not reported(calm, FOLDS[:1] - 0.002).should_prune()


def test_a_sampler_learns_what_stopped_trials_would_score() -> None:
    study, rate = study_of(*three()), {"rate": FloatDistribution(0, 1)}
    for state, scores in ((TrialState.PRUNED, FOLDS[:1] - 0.03), (TrialState.FAIL, FOLDS[:1])):
        trial = study.ask(rate)
        for k, score in enumerate(scores, 1):
            trial.report(float(score), k)
        study.tell(trial, state=state)
    made, best = estimated(study.trials), study.best_trial
    assert {each.state for each in made} == {TrialState.COMPLETE}
    assert [each.value for each in made[:3]] == [each.value for each in study.trials[:3]]
    gap = FOLDS[0] - 0.03 - best.intermediate_values[1]
    assert [each.value for each in made[3:]] == [pytest.approx(best.value + gap)]
    assert made[3].params == study.trials[3].params
    assert estimated(study.trials[3:]) == []


def test_prune_is_a_boolean_or_a_pruner() -> None:
    assert isinstance(pruner_of(True), PairedGap)
    assert isinstance(pruner_of(False), optuna.pruners.NopPruner)
    mine, theirs = PairedGap(margin=0.5), optuna.pruners.ThresholdPruner(lower=0.5)
    assert pruner_of(mine) is mine
    assert pruner_of(theirs) is theirs
    with pytest.raises(ConfigError, match="prune='median' is neither"):
        pruner_of("median")  # type: ignore[arg-type]
    study = study_of(*three(), pruner=theirs)
    assert reason_to_stop(study, reported(study, FOLDS[:2])) == ""
    trial = reported(study, np.array([0.7, 0.4]))
    assert reason_to_stop(study, trial) == "after fold 2: by ThresholdPruner"
