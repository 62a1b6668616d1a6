from __future__ import annotations

from typing import Any

import optuna
import pytest
from optuna.distributions import FloatDistribution
from scipy.stats import loguniform, randint, uniform
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Ridge
from xgboost import XGBRegressor

from pipeline.benchmark.record.trials import PREFIX, edges_of, records_of_space, records_of_trials
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


def edges(estimator: Any, given: dict[str, Any], drawn: dict[str, Any]) -> list[str]:
    """Return what is said of a trial, by names without the prefix."""
    space = Space.of({PREFIX + key: each for key, each in given.items()}, Accelerated(estimator))
    params = {PREFIX + key: each for key, each in drawn.items()}
    made = optuna.trial.create_trial(params=params, distributions=space.distributions, value=1.0)
    return edges_of(space, made)


def test_the_best_value_at_an_edge_is_said_if_there_are_values_beyond() -> None:
    given = {
        "max_depth": randint(1, 9), "learning_rate": loguniform(0.01, 1),
        "subsample": uniform(0.5, 0.5), "colsample_bytree": uniform(0.5, 0.4),
    }  # fmt: skip
    drawn = {"max_depth": 8, "learning_rate": 0.02, "subsample": 1.0, "colsample_bytree": 0.9}
    assert edges(XGBRegressor(subsample=0.7), given, drawn) == [
        "The best max_depth, 8, lies at the high end of its range, 8. Widen the range: a better "
        "value may be beyond it.",
        "The best colsample_bytree, 0.9, lies at the high end of its range, 0.9. Widen the range: "
        "a better value may be beyond it.",
    ]
    drawn = {"max_depth": 1, "learning_rate": 0.02, "subsample": 0.5, "colsample_bytree": 0.7}
    [low] = edges(XGBRegressor(), given, drawn)
    assert low.startswith("The best subsample, 0.5, lies at the low end of its range, 0.5.")


def test_what_scikit_learn_allows_at_most_or_least_is_no_edge() -> None:
    given = {"max_features": uniform(0.1, 0.9), "min_samples_leaf": randint(1, 6)}
    forest = RandomForestRegressor(min_samples_leaf=2)
    assert edges(forest, given, {"max_features": 1.0, "min_samples_leaf": 1}) == []
    [high] = edges(forest, given, {"max_features": 0.5, "min_samples_leaf": 5})
    assert high.startswith("The best min_samples_leaf, 5, lies at the high end of its range, 5.")
    given = {"alpha": FloatDistribution(0, 9)}
    assert edges(Ridge(), given, {"alpha": 0.0}) == []
    assert len(edges(Ridge(), given, {"alpha": 9.0})) == 1
    assert edges(Ridge(alpha=9), given, {"alpha": 9.0}) == []  # Its own value.


def test_defaults_are_those_that_a_search_draws() -> None:
    given = {"estimator__alpha": FloatDistribution(0, 9)}
    [alpha] = records_of_space(Space.of(given, Accelerated(Ridge(alpha=3))))
    assert (alpha.default, type(alpha.default)) == (3.0, float)
    share = {"estimator__max_features": FloatDistribution(0.1, 1)}
    [count] = records_of_space(Space.of(share, Accelerated(RandomForestRegressor(max_features=1))))
    assert (count.default, type(count.default)) == (1, int), "one column, not all"
