"""Which candidates are stopped, against simulated searches and Optuna's own pruners."""

from __future__ import annotations

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState, create_trial
from scipy import stats

from pipeline.errors import ConfigError
from pipeline.tuning.racing import (
    LOOK,
    PAIRS,
    Racing,
    chance_to_win,
    estimated,
    first_fold,
    pooled_deviation,
    predict_first_gap,
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
    assert reason_to_stop(study, trial).startswith("after 1 of 5 folds: 0% chance of beating")


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
    """Less than a third of the folds, and less is lost than the error of a mean of five, 0.0009."""
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
    assert folds < 20 * 40 * 5 / 3
    assert np.mean(lost) < 0.0009
    assert max(lost) < 0.004


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
    assert reason_to_stop(study, trial) == "after fold 2: by ThresholdPruner"


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


RATES = np.geomspace(0.01, 1, 20)


def crossing(rate: float) -> tuple[float, float]:
    """Return the look at a candidate and its first fold: a low rate is slow, and best in the end.

    The truth is a curve over the rate; looks rank the candidates the other way round.
    """
    place = np.log10(rate) + 1
    return 0.60 + 0.02 * place, 0.70 - 0.02 * place**2 - 0.01 * place


def after_looks(rates: np.ndarray) -> optuna.Study:
    study = study_of(*(FOLDS + each for each in (0.0, 0.001, -0.001)))
    for rate in rates:
        trial = looked_at(study, rate)
        trial.report(crossing(rate)[1] + ease(trial), step_of(trial))
        study.tell(trial, state=TrialState.PRUNED)
    return study


def step_of(trial: optuna.trial.Trial) -> int:
    return first_fold(trial.number, 5) + 1


def ease(trial: optuna.trial.Trial) -> float:
    """Return how much easier the first fold of a trial is than the hardest one."""
    return float(FOLDS[step_of(trial) - 1] - FOLDS[0])


def looked_at(study: optuna.Study, rate: float) -> optuna.trial.Trial:
    trial = ask(study, rate)
    trial.report(crossing(rate)[0] + ease(trial), LOOK)
    return trial


def ask(study: optuna.Study, rate: float) -> optuna.trial.Trial:
    study.enqueue_trial({"rate": rate})
    return study.ask({"rate": FloatDistribution(0.01, 1, log=True)})


@pytest.mark.parametrize("rate", [0.015, 0.08, 0.5])
def test_a_fold_is_predicted_where_learning_curves_cross(rate: float) -> None:
    study = after_looks(RATES)
    trial = looked_at(study, rate)
    gap, error = predicted(study, trial)
    best = study.best_trial.intermediate_values[1]
    assert gap == pytest.approx(crossing(rate)[1] - best, abs=0.002)
    # The largest gain of any would say nothing here.
    assert error < 0.002


def test_a_look_stops_what_will_not_come_near_the_best() -> None:
    study = after_looks(RATES)
    bad, good = looked_at(study, 0.9), looked_at(study, 0.06)
    assert crossing(0.9)[0] > crossing(0.06)[0]
    assert reason_to_stop(study, bad).startswith("after a first look: 0% chance of beating trial")
    assert reason_to_stop(study, good) == ""


def test_a_look_stops_nothing_before_enough_is_known() -> None:
    study = after_looks(RATES[: PAIRS - 1])
    trial = ask(study, 0.9)
    trial.report(0.1, LOOK)
    assert not trial.should_prune()


def test_the_prediction_is_that_of_bayesian_ridge_and_knows_categories() -> None:
    study, rng = (
        study_of(*(FOLDS + each for each in (0.0, 0.001, -0.001))),
        np.random.default_rng(0),
    )
    kinds = {"kind": CategoricalDistribution(["a", "b", "c"]), "n": IntDistribution(3, 3)}
    for i in range(24):
        study.enqueue_trial({"kind": "abc"[i % 3], "n": 3})
        trial = study.ask(kinds)
        trial.report(0.6 + ease(trial), LOOK)
        score = 0.70 + 0.01 * (i % 3) + rng.normal(0, 1e-4) + ease(trial)
        trial.report(score, step_of(trial))
        study.tell(trial, state=TrialState.PRUNED)
    gaps = []
    for kind in ("a", "c"):
        study.enqueue_trial({"kind": kind, "n": 3})
        trial = study.ask(kinds)
        trial.report(0.6 + ease(trial), LOOK)
        gap, error = predicted(study, trial)
        gaps.append(gap)
        assert error < 0.001
    assert gaps[1] - gaps[0] == pytest.approx(0.02, abs=0.001)


def test_equal_scores_are_predicted_to_be_equal() -> None:
    study = study_of(np.full(5, 0.7))
    for _ in range(PAIRS):
        trial = ask(study, 0.1)
        trial.report(0.5, LOOK)
        trial.report(0.6, step_of(trial))
        study.tell(trial, state=TrialState.PRUNED)
    trial = ask(study, 0.2)
    trial.report(0.5, LOOK)
    assert predicted(study, trial) == (pytest.approx(-0.1), 0.0)


def predicted(study: optuna.Study, trial: optuna.trial.Trial) -> tuple[float, float]:
    made = predict_first_gap(study.trials, [study.trials[trial.number]], study.best_trial)
    assert made is not None
    return float(made[0][0]), float(made[1][0])


def test_a_sampler_learns_what_stopped_trials_would_score() -> None:
    study = after_looks(RATES)
    bad, looked = ask(study, 0.9), looked_at(study, 0.3)
    study.tell(bad, state=TrialState.FAIL)
    study.tell(looked, state=TrialState.PRUNED)
    made = estimated(study.trials)
    assert len(made) == 3 + len(RATES) + 1
    assert {each.state for each in made} == {TrialState.COMPLETE}
    best = study.best_trial
    assert [each.value for each in made[:3]] == pytest.approx([t.value for t in study.trials[:3]])
    for each in made[3:]:
        gap = crossing(each.params["rate"])[1] - best.intermediate_values[1]
        assert each.value == pytest.approx(best.value + gap, abs=0.002)
    assert estimated(study.trials[3:]) == []
