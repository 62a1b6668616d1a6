"""What people do with XGBoost's estimators, done through `Accelerated`: the same numbers.

Each usage is written once and run twice, on the estimator as it is and on it through ours.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import mean_absolute_error
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier, XGBRanker, XGBRegressor, XGBRFClassifier
from xgboost.callback import EarlyStopping, LearningRateScheduler

from tests.programs import on_cpu

# XGBoost 3.4 says at every use that linear boosters will go.
pytestmark = pytest.mark.filterwarnings("ignore:.*booster=gblinear:UserWarning")

ROWS = 120
_rng = np.random.default_rng(0)
X = _rng.normal(size=(ROWS, 4))
X[::9, 1] = np.nan
FRAME = pd.DataFrame(X, columns=list("abcd"))
MIXED = FRAME.assign(c=pd.Categorical(_rng.choice(list("xyz"), ROWS)))
NUMBERS = X[:, 0] - np.nan_to_num(X[:, 1]) ** 2 + _rng.normal(scale=0.3, size=ROWS)
COUNTS = np.floor(np.exp(NUMBERS / 2) + 1)
YES = (np.median(NUMBERS) < NUMBERS).astype(int)
THREE = np.digitize(NUMBERS, np.quantile(NUMBERS, [1 / 3, 2 / 3]))
LABELS = np.column_stack([YES, THREE > 0]).astype(int)
TWO = np.column_stack([NUMBERS, -NUMBERS])
WEIGHTS = _rng.uniform(0.1, 3.0, ROWS)
QUERIES = np.repeat(np.arange(12), 10)
HALF = slice(0, ROWS // 2), slice(ROWS // 2, ROWS)

TREES = {"n_estimators": 4, "max_depth": 3, "n_jobs": 1, "random_state": 7}
classifier = partial(XGBClassifier, **TREES)
regressor = partial(XGBRegressor, **TREES)
ranker = partial(XGBRanker, **TREES)

Through = Callable[[Any], Any]


def answers(model: Any, rows: Any = X) -> list[Any]:
    """Return all that a fitted model answers."""
    methods = [name for name in ("predict", "predict_proba") if hasattr(model, name)]
    return [model.feature_importances_, *(getattr(model, name)(rows) for name in methods)]


def assert_same(found: Any, expected: Any) -> None:
    if isinstance(expected, (list, tuple)):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
    elif isinstance(expected, dict):
        assert list(found) == list(expected)
        assert_same(list(found.values()), list(expected.values()))
    else:
        np.testing.assert_array_equal(found, expected)
        assert np.asarray(found).dtype == np.asarray(expected).dtype


def squared(y: np.ndarray, predicted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the gradient and the hessian of half the squared error."""
    return predicted - y, np.ones_like(y)


PARAMETERS = {
    "two classes": (classifier(), X, YES),
    "three classes": (classifier(), X, THREE),
    "several labels": (classifier(), X, LABELS),
    "numbers": (regressor(), X, NUMBERS),
    "several targets": (regressor(), X, TWO),
    "several targets in one tree": (
        regressor(multi_strategy="multi_output_tree", tree_method="hist"), X, TWO,
    ),
    "a frame": (regressor(), FRAME, NUMBERS),
    "categories": (classifier(enable_categorical=True), MIXED, YES),
    "categories, one or the other": (
        regressor(enable_categorical=True, max_cat_to_onehot=1), MIXED, NUMBERS,
    ),
    "counts": (regressor(objective="count:poisson"), X, COUNTS),
    "quantiles": (
        regressor(objective="reg:quantileerror", quantile_alpha=[0.1, 0.5, 0.9]), X, NUMBERS,
    ),
    "survival": (regressor(objective="survival:cox"), X, np.where(YES, COUNTS, -COUNTS)),
    "an objective of one's own": (regressor(objective=squared), X, NUMBERS),
    "linear": (regressor(booster="gblinear", max_depth=None), np.nan_to_num(X), NUMBERS),
    "dropped trees": (regressor(booster="dart", rate_drop=0.5), X, NUMBERS),
    "a forest": (XGBRFClassifier(n_estimators=5, n_jobs=1, random_state=3), X, YES),
    "samples": (classifier(subsample=0.5, colsample_bytree=0.5, colsample_bynode=0.8), X, YES),
    "monotone": (regressor(monotone_constraints=(1, 0, 0, -1)), X, NUMBERS),
    "interactions by name": (
        regressor(interaction_constraints=[["a", "b"], ["c", "d"]]), FRAME, NUMBERS,
    ),
    "another value for missing": (regressor(missing=-1.0), np.nan_to_num(X, nan=-1.0), NUMBERS),
    "other names of parameters": (regressor(eta=0.5, alpha=0.1), X, NUMBERS),
    "after a scaler": (make_pipeline(StandardScaler(), classifier()), X, YES),
}  # fmt: skip
"""What is fitted with parameters alone: estimator, rows, target."""


@pytest.mark.parametrize("case", PARAMETERS)
def test_parameters(case: str) -> None:
    estimator, rows, y = PARAMETERS[case]
    ours, plain = (each.fit(rows, y) for each in (on_cpu(clone(estimator)), clone(estimator)))
    methods = [name for name in ("predict", "predict_proba") if hasattr(plain, name)]
    for method in methods:
        assert_same(getattr(ours, method)(rows), getattr(plain, method)(rows))
    assert_same(ours.to_sklearn().predict(rows), plain.predict(rows))


def early(of: Through) -> Any:
    model = of(classifier(n_estimators=40, early_stopping_rounds=2, eval_metric="logloss"))
    train, held = HALF
    model.fit(X[train], YES[train], eval_set=[(X[held], YES[held])], verbose=False)
    found = [model.best_iteration, model.best_score, model.evals_result(), model.predict_proba(X)]
    return [
        *found,
        model.predict_proba(X, iteration_range=(0, 2)),
        model.get_booster().num_boosted_rounds(),
    ]


def by_callbacks(of: Through) -> Any:
    callbacks = [EarlyStopping(rounds=2, save_best=True), LearningRateScheduler([0.3] * 20)]
    model = of(classifier(n_estimators=20, callbacks=callbacks, eval_metric=["error", "auc"]))
    train, held = HALF
    model.fit(X[train], YES[train], eval_set=[(X[train], YES[train]), (X[held], YES[held])])
    return [model.evals_result(), model.predict_proba(X)]


def own_metric(of: Through) -> Any:
    model = of(regressor(eval_metric=mean_absolute_error))
    model.fit(X, NUMBERS, eval_set=[(X, NUMBERS)], verbose=False)
    return model.evals_result()


def weighted(of: Through) -> Any:
    model = of(classifier(eval_metric="logloss"))
    sets = {"eval_set": [(X, YES)], "sample_weight_eval_set": [WEIGHTS]}
    model.fit(X, YES, sample_weight=WEIGHTS, **sets, verbose=False)
    return [*answers(model), model.evals_result(), model.score(X, YES, sample_weight=WEIGHTS)]


def margins(of: Through) -> Any:
    model = of(classifier()).fit(X, YES, base_margin=WEIGHTS)
    proba = model.predict_proba(X, base_margin=WEIGHTS)
    return [proba, model.predict(X, output_margin=True, base_margin=WEIGHTS), model.predict(X)]


def continued(of: Through) -> Any:
    first = regressor().fit(X, NUMBERS)
    return [
        answers(of(regressor()).fit(X, NUMBERS, xgb_model=known))
        for known in (first, first.get_booster())
    ]


def ranked(of: Through, **how: Any) -> Any:
    model = of(ranker(objective="rank:pairwise")).fit(X, THREE, **how)
    return model.predict(X)


def ranked_with_sets(of: Through) -> Any:
    model = of(ranker(eval_metric=["ndcg@3", "map"]))
    model.fit(X, YES, qid=QUERIES, eval_set=[(X, YES)], eval_qid=[QUERIES], verbose=False)
    return [model.predict(X), model.evals_result()]


def saved(of: Through) -> Any:
    return answers(pickle.loads(pickle.dumps(of(classifier()).fit(X, THREE))))


USAGES: dict[str, Callable[[Through], Any]] = {
    "stops early": early,
    "callbacks": by_callbacks,
    "a metric of one's own": own_metric,
    "weights": weighted,
    "margins": margins,
    "training goes on": continued,
    "queries": partial(ranked, qid=QUERIES),
    "groups": partial(ranked, group=[10] * 12),
    "weights of queries": partial(ranked, qid=QUERIES, sample_weight=np.arange(1.0, 13)),
    "queries to evaluate": ranked_with_sets,
    "pickled": saved,
    "some trees": lambda of: of(regressor()).fit(X, NUMBERS).predict(X, iteration_range=(1, 3)),
    "weights of features": lambda of: answers(
        of(regressor(feature_weights=[1, 2, 3, 4], colsample_bynode=0.5)).fit(X, NUMBERS)
    ),
}  # fmt: skip


def as_it_is(estimator: Any) -> Any:
    return estimator


@pytest.mark.quick(21)
@pytest.mark.parametrize("usage", USAGES)
def test_usages(usage: str) -> None:
    assert_same(USAGES[usage](on_cpu), USAGES[usage](as_it_is))
