"""Which candidates are stopped, against simulated searches and Optuna's own pruners."""

from __future__ import annotations

import numpy as np
import optuna
import pytest
from optuna.trial import TrialState, create_trial
from scipy import stats

from pipeline.errors import ConfigError
from pipeline.tuning.racing import (
    Racing,
    chance_to_win,
    pooled_deviation,
    pruner_of,
    reason_to_stop,
)

optuna.logging.set_verbosity(optuna.logging.WARNING)
FOLDS = np.array([0.70, 0.74, 0.71, 0.73, 0.72])
"""What is easy or hard of the folds, for all candidates alike."""


def study_of(*scores: np.ndarray, pruner: Racing | None = None) -> optuna.Study:
    """Return a study of complete trials with these scores of their folds."""
    study = optuna.create_study(direction="maximize", pruner=pruner or Racing())
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


def test_a_candidate_far_behind_is_stopped_after_its_first_fold() -> None:
    study = study_of(*three())
    trial = reported(study, FOLDS[:1] - 0.05)
    assert trial.should_prune()
    assert reason_to_stop(study, trial).startswith("after fold 1: 0% chance of beating trial ")


def test_an_easy_fold_does_not_save_a_bad_candidate_nor_a_hard_one_stop_a_good_one() -> None:
    study = study_of(*three())
    # Fold 2 is the easiest, and fold 1 the hardest; means of other folds would say the reverse.
    assert reported(study, FOLDS[:2] - 0.01).should_prune()
    good = reported(study, FOLDS[:1] + 0.005)
    assert good.should_prune() is False
    assert reason_to_stop(study, good) == ""


def test_nothing_is_stopped_before_enough_is_known() -> None:
    bad = FOLDS[:1] - 0.2
    assert not reported(study_of(*three()[:2]), bad).should_prune()
    assert reported(study_of(*three()[:2], pruner=Racing(startup=2)), bad).should_prune()
    assert not study_of(*three()).ask().should_prune()


def test_the_chance_is_that_of_a_simulation() -> None:
    """Means with a flat prior: draw them from their posterior, then the folds to come."""
    rng, n = np.random.default_rng(0), 200_000
    for gap, done in [(-0.002, 1), (-0.001, 3), (0.0015, 2)]:
        mean = rng.normal(gap, 0.004 / done**0.5, n)
        rest = rng.normal(mean, 0.004 / (5 - done) ** 0.5)
        share = np.mean(done * gap + (5 - done) * rest > 0)
        assert chance_to_win(gap, 0.004, done, 5) == pytest.approx(share, abs=0.005)


def test_without_spread_the_sign_decides() -> None:
    assert [chance_to_win(gap, 0.0, 1, 5) for gap in (-0.1, 0.0, 0.1)] == [0.0, 0.5, 1.0]


def test_the_deviation_is_that_of_an_analysis_of_variance() -> None:
    groups = [np.array([1.0, 2.0, 4.0]), np.array([7.0, 9.0]), np.array([3.0])]
    within = 2 * np.var(groups[0], ddof=1) + np.var(groups[1], ddof=1)
    assert pooled_deviation(groups) == pytest.approx((within / 3) ** 0.5)
    assert pooled_deviation(groups[2:]) == 0.0


def test_of_searches_with_known_truth_the_best_is_seldom_lost() -> None:
    """Fewer folds, and less is lost than the error of a mean over five folds, of 0.0009."""
    rng, folds, lost = np.random.default_rng(0), 0, []
    for _ in range(20):
        truth = -np.abs(rng.normal(0, 0.01, 40))
        scores = FOLDS + truth[:, None] + rng.normal(0, 0.002, (40, 5))
        study = optuna.create_study(direction="maximize", pruner=Racing())
        for each in scores:
            trial = study.ask()
            for k, score in enumerate(each, 1):
                folds += 1
                trial.report(score, k)
                if k < 5 and reason_to_stop(study, trial):
                    study.tell(trial, state=TrialState.PRUNED)
                    break
            else:
                study.tell(trial, each.mean())
        lost.append(scores.mean(1).max() - study.best_value)
    assert folds < 20 * 40 * 5 / 2.5
    assert np.mean(lost) < 0.0003
    assert max(lost) < 0.002


def test_folds_of_stopped_trials_tell_of_the_deviation_too() -> None:
    calm = study_of(*three(1e-5))
    assert reported(calm, FOLDS[:1] - 0.002).should_prune()
    for sign in (1, -1, 1, -1):
        steps = {1: 0.70 + sign * 0.02, 2: 0.74 - sign * 0.02}
        calm.add_trial(create_trial(state=TrialState.PRUNED, intermediate_values=steps))
    assert not reported(calm, FOLDS[:1] - 0.002).should_prune()


def test_pruners_of_optuna_are_taken_and_said_to_have_stopped_a_trial() -> None:
    own = optuna.pruners.ThresholdPruner(lower=0.5)
    assert pruner_of(own) is own
    study = optuna.create_study(direction="maximize", pruner=own)
    assert reason_to_stop(study, reported(study, FOLDS[:2])) == ""
    trial = reported(study, np.array([0.7, 0.4]))
    assert reason_to_stop(study, trial) == "after fold 2: ThresholdPruner"


def test_prune_is_a_boolean_or_a_pruner() -> None:
    assert isinstance(pruner_of(True), Racing)
    assert isinstance(pruner_of(False), optuna.pruners.NopPruner)
    mine = Racing(chance=0.5)
    assert pruner_of(mine) is mine
    with pytest.raises(ConfigError, match="prune='median' is neither"):
        pruner_of("median")  # type: ignore[arg-type]


def test_the_model_of_a_gap_is_the_normal_one() -> None:
    assert chance_to_win(-0.003, 0.004, 2, 5) == pytest.approx(
        stats.norm.cdf(-0.003 / (0.004 * np.sqrt(1 / 2 - 1 / 5)))
    )
