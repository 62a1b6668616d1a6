"""Which candidates are stopped, against simulated searches."""

from __future__ import annotations

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.trial import TrialState, create_trial

from pipeline.tuning.stopping import estimated, pooled_deviation, reason_to_stop

optuna.logging.set_verbosity(optuna.logging.WARNING)
FOLDS = np.array([0.70, 0.74, 0.71, 0.73, 0.72])
"""What is easy or hard of the folds, for all candidates alike."""


def study_of(*scores: np.ndarray) -> optuna.Study:
    """Return a study of complete trials with these scores of their folds."""
    study = optuna.create_study(direction="maximize")
    for each in scores:
        steps = {k: float(score) for k, score in enumerate(each, 1)}
        study.add_trial(create_trial(value=float(each.mean()), intermediate_values=steps))
    return study


def stopped(study: optuna.Study, scores: np.ndarray) -> str:
    """Return why a trial with these scores is stopped."""
    trial = study.ask()
    for k, score in enumerate(scores, 1):
        trial.report(float(score), k)
    return reason_to_stop(study, trial.number)


def three(noise: float = 0.002) -> list[np.ndarray]:
    drawn = np.random.default_rng(0).normal(0, noise, (3, 5))
    return [FOLDS + each for each in drawn - drawn.mean(1, keepdims=True)]


def test_an_easy_fold_does_not_save_a_bad_candidate_nor_a_hard_one_stop_a_good_one() -> None:
    study = study_of(*three())
    assert stopped(study, FOLDS[:1] - 0.05).startswith("after 1 of 5 folds: 0.0")
    # Fold 2 is the easiest, and fold 1 the hardest; means of other folds would say the reverse.
    assert stopped(study, FOLDS[:2] - 0.01)
    assert stopped(study, FOLDS[:1] + 0.005) == ""


def test_nothing_is_stopped_before_enough_is_known() -> None:
    bad = FOLDS[:1] - 0.2
    assert not stopped(study_of(*three()[:2]), bad)
    assert stopped(study_of(*three()), bad)
    assert not stopped(study_of(*three()), bad[:0])


@pytest.mark.parametrize("k", [1, 2, 4])
def test_the_limit_is_the_margin_in_standard_errors(k: int) -> None:
    base = three()
    best = max(base, key=lambda each: float(each.mean()))
    others = [each - best for each in base if each is not best]
    deviation = pooled_deviation([*others, np.zeros(k)])  # Its own gaps are all the same.
    limit = 0.25 * deviation * np.sqrt(1 / k - 1 / 5)
    for share, is_stopped in ((1.1, True), (0.9, False)):
        assert bool(stopped(study_of(*base), best[:k] - share * limit)) == is_stopped


def test_folds_of_stopped_trials_tell_of_the_deviation_too() -> None:
    calm = study_of(*three(1e-5))
    assert stopped(calm, FOLDS[:1] - 0.002)
    for sign in (1, -1, 1, -1):
        steps = {1: 0.70 + sign * 0.02, 2: 0.74 - sign * 0.02}
        calm.add_trial(create_trial(state=TrialState.PRUNED, intermediate_values=steps))
    assert not stopped(calm, FOLDS[:1] - 0.002)


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
