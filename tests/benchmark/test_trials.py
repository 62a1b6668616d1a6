from __future__ import annotations

import optuna
import pytest
from optuna.distributions import FloatDistribution
from scipy.stats import loguniform, randint, uniform
from sklearn.linear_model import Ridge
from xgboost import XGBRegressor

from pipeline.benchmark.record.trials import edges_of, records_of_space, records_of_trials
from pipeline.model.accelerated import Accelerated
from pipeline.tuning.space import Space

ALPHA, OTHER = "estimator__alpha", "estimator__tol"
RANGE = FloatDistribution(0.0, 1.0)
HEAVY = optuna.trial.TrialState.COMPLETE
STOPPED = optuna.trial.TrialState.PRUNED


@pytest.fixture(autouse=True)
def quiet() -> None:
    optuna.logging.set_verbosity(optuna.logging.WARNING)


def study_of(*trials: optuna.trial.FrozenTrial) -> optuna.Study:
    study = optuna.create_study(direction="maximize")
    study.add_trials(trials)
    return study


def trial(alpha: float, steps: dict[int, float], value: float | None = None) -> object:
    taken = {"fit_time": 0.0, "score_time": 0.0, "worker": ""}
    return optuna.trial.create_trial(
        params={ALPHA: alpha, OTHER: (alpha * 7) % 1}, distributions={ALPHA: RANGE, OTHER: RANGE},
        value=value, intermediate_values=steps, state=HEAVY if value is not None else STOPPED,
        user_attrs={f"fold {k}": {"score": score, **taken} for k, score in steps.items()},
    )  # fmt: skip


def test_a_stopped_trial_has_no_score_though_optuna_keeps_its_last_one() -> None:
    study = study_of(trial(0.5, {1: 0.4, 2: 0.6}, value=0.5))
    stopped = study.ask({ALPHA: RANGE, OTHER: RANGE})
    stopped.report(0.9, 1)
    known = {"score": 0.9, "fit_time": 1.0, "score_time": 0.5, "worker": "w3"}
    stopped.set_user_attr("fold 1", known)
    stopped.set_user_attr("seconds", 7.0)
    study.tell(stopped, state=STOPPED)
    assert study.trials[1].value == 0.9
    space = Space.of({ALPHA: RANGE, OTHER: RANGE}, Accelerated(Ridge()))
    one, other = records_of_trials(study, space, 1)
    assert (one.score, other.score, other.folds) == (0.5, None, [0.9])
    assert (other.seconds, other.duration) == (7.0, 1.5)
    assert records_of_trials(study, space, -1)[0].folds == [-0.4, -0.6], "of a loss"


def test_a_space_is_told_by_the_values_that_estimators_are_given() -> None:
    given = {
        "estimator__max_depth": randint(1, 9), "estimator__learning_rate": loguniform(0.01, 1),
        "estimator__gamma": FloatDistribution(0, 5, step=0.5),
        "estimator__booster": ["gbtree", "dart"], "estimator__base_score": [None, Ridge(2.0)],
    }  # fmt: skip
    space = Space.of(given, Accelerated(XGBRegressor(booster="dart")))
    depth, rate, gamma, booster, score = records_of_space(space)
    assert (depth.name, depth.kind, depth.low, depth.high, depth.default) == (
        "max_depth", "int", 1, 8, 6,
    )  # fmt: skip
    assert (rate.kind, rate.low, rate.high, rate.log, rate.default) == ("float", 0.01, 1, True, 0.3)
    assert (gamma.kind, gamma.low, gamma.high, gamma.step) == ("float", 0, 5, 0.5)
    assert (booster.kind, booster.choices, booster.default) == (
        "choice",
        ["gbtree", "dart"],
        "dart",
    )
    assert score.choices == [None, "Ridge(alpha=2.0)"]


def test_the_best_value_at_an_edge_is_said() -> None:
    given = {
        "estimator__max_depth": randint(1, 9), "estimator__learning_rate": loguniform(0.01, 1),
        "estimator__subsample": uniform(0.5, 0.5),
    }  # fmt: skip
    space = Space.of(given, Accelerated(XGBRegressor()))
    drawn = {
        "estimator__max_depth": 8,
        "estimator__learning_rate": 0.02,
        "estimator__subsample": 1.0,
    }
    made = optuna.trial.create_trial(params=drawn, distributions=space.distributions, value=1.0)
    assert edges_of(space, made) == [
        "The best max_depth, 8, lies at the high end of its range, 8.",
        "The best subsample, 1, lies at the high end of its range, 1.",
    ]
