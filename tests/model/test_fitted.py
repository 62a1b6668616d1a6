"""The methods of a fitted model: what they are given goes to the last step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.linear_model import (
    BayesianRidge,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    SGDClassifier,
)
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, Normalizer, StandardScaler
from xgboost import XGBClassifier, XGBRanker, XGBRegressor

from tests.programs import on_cpu

ROWS = 120
_rng = np.random.default_rng(0)
X = pd.DataFrame(_rng.normal(size=(ROWS, 3)), columns=list("abc"))
Y = (X["a"] > 0).astype(int).to_numpy()
WEIGHTS = _rng.uniform(size=ROWS)
CLASSIFIER = XGBClassifier(n_estimators=4, n_jobs=1)
REGRESSOR = XGBRegressor(n_estimators=4, n_jobs=1)
MEANS = KMeans(2, n_init=1, random_state=0)


def scaled(last: Any) -> Any:
    return make_pipeline(StandardScaler(), last)


def answer(model: Any, method: str, given: dict[str, Any]) -> Any:
    """Return what a method answers, or the error."""
    learns = method.startswith(("fit", "partial_fit"))
    rows = X.to_numpy() if method == "inverse_transform" else X
    try:
        model = model if learns else model.fit(X, Y)
        found = getattr(model, method)(
            *((X, Y) if learns or method == "score" else (rows,)), **given
        )
    except Exception as error:  # noqa: BLE001 - of whatever class, ours is to be the same
        return error
    return np.vstack(found) if isinstance(found, tuple) else np.asarray(found)


PASSED_ON: list[tuple[Any, str, dict[str, Any]]] = [
    (CLASSIFIER, "predict_proba", {"iteration_range": (0, 2)}),
    (CLASSIFIER, "predict_proba", {"base_margin": WEIGHTS}),
    (CLASSIFIER, "predict", {"output_margin": True}),
    (REGRESSOR, "predict", {"iteration_range": (0, 2), "base_margin": WEIGHTS}),
    (REGRESSOR, "predict", {"validate_features": False}),
    (scaled(CLASSIFIER), "predict_proba", {"iteration_range": (0, 2)}),
    (scaled(REGRESSOR), "predict", {"base_margin": WEIGHTS, "iteration_range": (0, 1)}),
    (BayesianRidge(), "predict", {"return_std": True}),
    (scaled(BayesianRidge()), "predict", {"return_std": True}),
    (scaled(GaussianProcessRegressor(optimizer=None)), "predict", {"return_cov": True}),
    (PLSRegression(2), "predict", {"copy": True}),
    (StandardScaler(), "transform", {"copy": True}),
    (Normalizer(), "transform", {"copy": True}),
    (StandardScaler(), "inverse_transform", {"copy": True}),
    (LogisticRegression(), "score", {"sample_weight": WEIGHTS}),
    (scaled(Ridge()), "score", {"sample_weight": WEIGHTS}),
    (MEANS, "score", {"sample_weight": WEIGHTS}),
    (MEANS, "fit_predict", {"sample_weight": WEIGHTS}),
    (MEANS, "fit_transform", {"sample_weight": WEIGHTS}),
    (scaled(MEANS), "fit_predict", {"kmeans__sample_weight": WEIGHTS}),
    (scaled(MEANS), "fit_transform", {"standardscaler__sample_weight": WEIGHTS}),
]


@pytest.mark.parametrize(("estimator", "method", "given"), PASSED_ON)
def test_what_a_method_is_given_goes_to_the_last_step(
    estimator: Any, method: str, given: dict[str, Any]
) -> None:
    expected = answer(clone(estimator), method, given)
    np.testing.assert_allclose(
        answer(on_cpu(estimator), method, given), expected, rtol=1e-6, atol=1e-9
    )


def test_a_method_of_the_last_transformer_is_asked_of_scikit_learn() -> None:
    nested = make_pipeline(StandardScaler(), make_pipeline(MinMaxScaler(), PCA(2)))
    expected = answer(clone(nested), "score", {})
    np.testing.assert_allclose(answer(on_cpu(nested), "score", {}), expected)


COLUMNS = make_column_transformer((StandardScaler(), ["a"]))
STRANGE = [
    *((LogisticRegression(), m) for m in ("predict", "predict_proba", "decision_function")),
    *((scaled(LogisticRegression()), m) for m in ("predict", "predict_proba", "decision_function")),
    *((each, "score") for each in (LogisticRegression(), Ridge(), MEANS)),
    *((each, "transform") for each in (StandardScaler(), PCA(2), COLUMNS, MEANS)),
    *((scaled(each), "transform") for each in (MinMaxScaler(), PCA(2))),
    *((each, "inverse_transform") for each in (StandardScaler(), scaled(MinMaxScaler()))),
    *((each, "fit") for each in (LogisticRegression(), StandardScaler(), MEANS)),
    *((each, "fit_transform") for each in (StandardScaler(), PCA(2))),
    (SGDClassifier(), "partial_fit"),
    (PCA(2), "score_samples"),
    (CLASSIFIER, "predict_proba"),
]


@pytest.mark.parametrize(("estimator", "method"), STRANGE)
def test_what_it_does_not_take_is_refused_in_sklearns_words(estimator: Any, method: str) -> None:
    expected = answer(clone(estimator), method, {"strange": 1})
    found = answer(on_cpu(estimator), method, {"strange": 1})
    assert isinstance(expected, TypeError | ValueError)
    assert type(found) is type(expected)
    assert str(found) == str(expected)


BY_POSITION: list[tuple[Any, str, tuple[Any, ...]]] = [
    (StandardScaler(), "partial_fit", (None, WEIGHTS)),
    (SGDClassifier(random_state=0), "partial_fit", (Y, [0, 1], WEIGHTS)),
    (SGDClassifier(random_state=0), "fit", (Y, np.ones((1, 3)))),
    (Ridge(), "fit", (Y, WEIGHTS)),
    (Ridge(), "score", (Y, WEIGHTS)),
    (MEANS, "fit_predict", (None, WEIGHTS)),
    (MEANS, "fit_transform", (None, WEIGHTS)),
    (BayesianRidge(), "predict", (True,)),
    (StandardScaler(), "transform", (True,)),
    (StandardScaler(), "inverse_transform", (True,)),
    (Ridge(), "predict", (True,)),
    (Normalizer(), "partial_fit", (None, WEIGHTS)),
    (scaled(Ridge()), "fit", (Y, WEIGHTS)),
]


@pytest.mark.parametrize(("estimator", "method", "given"), BY_POSITION)
def test_what_is_given_by_position_is_what_it_is_in_sklearn(
    estimator: Any, method: str, given: tuple[Any, ...]
) -> None:
    def made(model: Any) -> Any:
        rows = X.to_numpy()
        model = model if "fit" in method else model.fit(rows, Y)
        try:
            found = getattr(model, method)(rows, *given)
        except (AttributeError, TypeError) as error:
            return type(error)
        return getattr(model, "coef_", getattr(model, "mean_", 0)) if found is model else found

    found, expected = made(on_cpu(estimator)), made(clone(estimator))
    if isinstance(expected, type):
        assert found is expected
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-9)


POSITIVE = np.exp(X["a"] + 0.3 * X["b"]).to_numpy()
SCORED: dict[str, tuple[Any, Any]] = {
    "deviance": (PoissonRegressor(), POSITIVE),
    "as asked for": (
        GridSearchCV(LogisticRegression(), {}, scoring="roc_auc", cv=2), _rng.integers(0, 2, ROWS)
    ),
    "all targets": (MultiOutputClassifier(LogisticRegression()), np.c_[Y, X["b"] > X["c"]]),
    "likelihood": (GaussianMixture(2, random_state=0), None),
    "accuracy": (scaled(LogisticRegression()), np.where(Y, "yes", "no")),
}  # fmt: skip


@pytest.mark.parametrize("name", SCORED)
def test_the_score_is_the_estimators_own(name: str) -> None:
    estimator, y = SCORED[name]
    expected = clone(estimator).fit(X, y).score(X, y)
    assert on_cpu(estimator).fit(X, y).score(X, y) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("kind", [int, float])
def test_a_ranking_is_scored_by_query(kind: type) -> None:
    queries = np.repeat(np.arange(12), 10).astype(kind)
    relevance = _rng.integers(0, 4, ROWS)
    ranker = XGBRanker(n_estimators=3, n_jobs=1)
    rows = X.assign(qid=queries)
    plain = clone(ranker).fit(rows, relevance)
    expected = plain.score(rows, relevance)
    model = on_cpu(ranker).fit(rows, relevance)
    np.testing.assert_array_equal(model.predict(rows), plain.predict(rows))
    assert model.score(rows, relevance) == expected
    for estimator in (ranker, scaled(ranker)):
        model = on_cpu(estimator).fit(X, relevance, qid=queries)
        np.testing.assert_array_equal(model.predict(X), plain.predict(rows))
        assert model.score(rows, relevance) == expected
        turned = np.argsort(-queries, kind="stable")
        found = model.score(X.iloc[turned], relevance[turned], qid=queries[turned])
        assert found == pytest.approx(expected, rel=1e-9)
        np.testing.assert_array_equal(model.predict(X), plain.predict(rows))
