"""Every default space: its candidates fit, and an estimator without one is refused."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.samplers import RandomSampler
from sklearn.base import is_classifier
from sklearn.compose import TransformedTargetRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils import all_estimators
from xgboost import XGBClassifier, XGBRegressor

from pipeline import Accelerated
from pipeline.errors import ConfigError
from pipeline.tuning.default_spaces import _UNSET, SPACES, default_space, last_step, unset
from pipeline.tuning.space import Space

optuna.logging.set_verbosity(optuna.logging.WARNING)

CLASSES = {**dict(all_estimators()), "XGBClassifier": XGBClassifier, "XGBRegressor": XGBRegressor}
NAMES = " ".join(SPACES).split()
FEW = {"n_estimators": 5, "max_iter": 30, "random_state": 0}
"""What keeps fits short, of the estimators that have it."""

rng = np.random.default_rng(0)
X = rng.normal(size=(150, 4))
NUMBERS = X @ [1.0, -2.0, 0.5, 0.0] + rng.normal(size=150)
LABELS = (NUMBERS > 0).astype(int)
UNPLACED = {"SVC", "SVR"}
"""Estimators that are no candidate as they are: ``gamma="scale"`` is no number."""


def make(name: str) -> Any:
    estimator = CLASSES[name]()
    few = {key: value for key, value in FEW.items() if key in estimator.get_params()}
    return estimator.set_params(**few)


@pytest.mark.quick(25)
@pytest.mark.parametrize("name", NAMES)
def test_candidates_fit(name: str) -> None:
    model = Accelerated(make_pipeline(MinMaxScaler(), make(name)), device="cpu")
    y = LABELS if is_classifier(model) else NUMBERS
    space = Space.of("default", model)
    study = optuna.create_study(sampler=RandomSampler(seed=0))
    for _ in range(3):
        model.set_params(**space.read(study.ask(space.distributions).params))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            assert np.isfinite(model.fit(X, y).predict(X)).all()


@pytest.mark.parametrize("name", NAMES)
def test_the_estimator_as_it_is_is_a_candidate(name: str) -> None:
    model = CLASSES[name]()
    placed = Space.of("default", model).place(model.get_params())
    assert (placed is None) == (name in UNPLACED)


@pytest.mark.parametrize(
    ("estimator", "prefix"),
    [
        (Ridge(), ""),
        (Pipeline([("a", make_pipeline(MinMaxScaler(), Ridge()))]), "a__ridge__"),
        (Accelerated(Ridge()), "estimator__"),
        (
            Accelerated(make_pipeline(MinMaxScaler(), TransformedTargetRegressor(Ridge()))),
            "estimator__transformedtargetregressor__regressor__",
        ),
    ],
)
def test_names_begin_as_set_params_wants_them(estimator: Any, prefix: str) -> None:
    assert set(default_space(estimator)) == {f"{prefix}alpha"}
    estimator.set_params(**{f"{prefix}alpha": 7.5})
    found = last_step(estimator)[1]
    assert isinstance(found, Ridge)
    assert found.alpha == 7.5


OWN = type("Ridge", (Ridge,), {"__module__": "mine"})
"""Another algorithm of the same name."""


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (LinearRegression(), "LinearRegression has no default space; pass space={'PARAMETER'"),
        (OWN(), "mine.Ridge has no default space"),
        (
            make_pipeline(MinMaxScaler()),
            "'minmaxscaler__PARAMETER'.* default spaces for Logistic",
        ),
        (Accelerated(LinearRegression()), "'estimator__PARAMETER'"),
        (XGBRegressor(booster="gblinear"), "XGBRegressor has no default space"),
    ],
)
def test_others_have_none(model: Any, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        Space.of("default", model)


def test_xgboost_takes_for_none_what_we_say() -> None:
    model = XGBRegressor().fit(X, NUMBERS)
    config = json.loads(model.get_booster().save_config())["learner"]["gradient_booster"]
    params = config["tree_train_param"]
    for name, value in _UNSET.items():
        if name in params:
            assert float(params[name]) == pytest.approx(value), name
    assert model.get_booster().num_boosted_rounds() == _UNSET["n_estimators"]
    assert float(config["gbtree_model_param"]["num_parallel_tree"]) == 1
    said = unset(model, model.get_params())
    as_said = XGBRegressor(**said).fit(X, NUMBERS)
    assert as_said.get_booster().save_raw() == model.get_booster().save_raw()
