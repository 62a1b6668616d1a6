"""What a second `fit` goes on from, and what stays fitted inside: as in scikit-learn."""

from __future__ import annotations

import copy
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    GradientBoostingRegressor,
    RandomForestRegressor,
    RandomTreesEmbedding,
    VotingRegressor,
)
from sklearn.feature_selection import SelectFromModel
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, SGDRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    QuantileTransformer,
    StandardScaler,
)
from sklearn.utils import all_estimators, get_tags

import pipeline
from pipeline import Accelerated
from tests.programs import on_cpu

_rng = np.random.default_rng(0)
X = _rng.normal(size=(60, 3))
Y = X[:, 0] - (X[:, 1] > 0)
RIDGE = Ridge().fit(X, Y)
FOREST = RandomForestRegressor(2, random_state=0, warm_start=True)


def generator() -> Any:
    return np.random.RandomState(3)


def two_that_share() -> Any:
    """A generator that two steps draw from."""
    shared = generator()
    binned = KBinsDiscretizer(
        3, subsample=40, random_state=shared, quantile_method="averaged_inverted_cdf"
    )
    return make_pipeline(binned, RandomForestRegressor(2, random_state=shared))


def predicted_by(X: Any, model: Any) -> Any:
    return model.predict(X)[:, None]


PROGRAMS: dict[str, Any] = {
    "forest": FOREST,
    "boosting": GradientBoostingRegressor(n_estimators=2, warm_start=True, random_state=0),
    "descent": SGDRegressor(max_iter=3, tol=None, warm_start=True, random_state=0),
    "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=2, warm_start=True)),
    "network": MLPRegressor(hidden_layer_sizes=(3,), max_iter=3, warm_start=True, random_state=0),
    "transformer": make_pipeline(
        RandomTreesEmbedding(2, max_depth=2, warm_start=True, random_state=0), Ridge()
    ),
    "columns, which are cloned": make_column_transformer(
        (RandomTreesEmbedding(2, max_depth=2, warm_start=True, random_state=generator()), [0, 1])
    ),
    "search, which clones": GridSearchCV(FOREST, {"max_depth": [1, 2]}, cv=2),
    "as it is": make_pipeline(FunctionTransformer(lambda rows: np.asarray(rows, float)), FOREST),
    "generator": RandomForestRegressor(2, random_state=generator()),
    "generator of two": two_that_share(),
    "generator inside": VotingRegressor(
        [("f", RandomForestRegressor(2, random_state=generator()))]
    ),
    "generator of columns": make_column_transformer(
        (QuantileTransformer(n_quantiles=5, subsample=30, random_state=generator()), [0, 1])
    ),
    "prefit": make_pipeline(SelectFromModel(RIDGE, prefit=True), Ridge()),
    "fitted keyword": make_pipeline(
        FunctionTransformer(predicted_by, kw_args={"model": RIDGE}), LinearRegression()
    ),
    "frozen": make_pipeline(FrozenEstimator(PCA(2).fit(X)), Ridge()),
}


def answer(fitted: Any) -> Any:
    made = fitted.predict(X) if hasattr(fitted, "predict") else fitted.transform(X)
    return made.toarray() if hasattr(made, "toarray") else made


def fit_twice(model: Any, parameters: Any, y: Any = Y) -> list[Any]:
    """What is predicted after one fit, and after one more of fewer rows with more trees."""
    made = []
    for trees, rows in ((2, 60), (4, 40)):
        names = [name for name in parameters.get_params() if name.endswith("n_estimators")]
        parameters.set_params(**dict.fromkeys(names, trees))
        made.append(answer(model.fit(X[:rows], y[:rows])))
    return made


def assert_fitted_twice_as_plain(estimator: Any, y: Any = Y) -> None:
    estimator, theirs = copy.deepcopy(estimator), copy.deepcopy(estimator)
    model = on_cpu(estimator)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for ours, plain in zip(
            fit_twice(model, estimator, y), fit_twice(theirs, theirs, y), strict=True
        ):
            np.testing.assert_allclose(ours, plain, rtol=1e-9)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_second_fit_goes_on_as_in_scikit_learn(name: str) -> None:
    classes = name == "logistic"
    assert_fitted_twice_as_plain(PROGRAMS[name], (Y > 0).astype(int) if classes else Y)


WARM = {
    name: kind
    for name, kind in all_estimators()
    if "warm_start" in getattr(kind, "_get_param_names", list)() and name != "MultiTaskElasticNet"
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Class PassiveAggressive")
@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("name", WARM)
def test_every_estimator_with_a_warm_start_has_it(name: str, *, alone: bool) -> None:
    estimator = WARM[name](warm_start=True)
    known = estimator.get_params(deep=False)
    few = {"n_estimators": 2, "max_iter": 3, "random_state": 0, "max_depth": 2}
    estimator.set_params(**{key: value for key, value in few.items() if key in known})
    classes = get_tags(estimator).estimator_type == "classifier" or name.startswith("Neighborhood")
    y = (Y > 0).astype(int) if classes else Y**2
    y = np.column_stack([y, y]) if name.startswith("MultiTask") else y
    assert_fitted_twice_as_plain(
        estimator if alone else make_pipeline(StandardScaler(), estimator), y
    )


def test_copies_and_saved_models_go_on(tmp_path: Path) -> None:
    plain = copy.deepcopy(FOREST).fit(X, Y)
    model = on_cpu(copy.deepcopy(FOREST)).fit(X, Y)
    saved = pipeline.load(pipeline.save(model, tmp_path / "model"), device="cpu")
    plain.set_params(n_estimators=4).fit(X, Y)
    for each in (pickle.loads(pickle.dumps(model)), saved):
        each.set_params(estimator__n_estimators=4).fit(X, Y)
        np.testing.assert_array_equal(each.predict(X), plain.predict(X))


def test_another_object_in_the_place_of_a_step_starts_anew() -> None:
    model = on_cpu(make_pipeline(StandardScaler(), copy.deepcopy(FOREST))).fit(X, Y)
    other = RandomForestRegressor(4, random_state=1, warm_start=True)
    model.set_params(estimator__randomforestregressor=other).fit(X, Y)
    plain = make_pipeline(StandardScaler(), copy.deepcopy(other)).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))


def test_numbers_are_drawn_once_where_scikit_learn_is_asked_after_a_refusal() -> None:
    text = [["1.5", "2"], ["3", "1"], ["2", "4"], ["5", "9"]] * 9
    y = np.arange(36.0)
    plain = RandomForestRegressor(3, random_state=generator()).fit(text, y)
    model = on_cpu(RandomForestRegressor(3, random_state=generator())).fit(text, y)
    np.testing.assert_array_equal(model.predict(text), plain.predict(text))


def test_what_was_fitted_elsewhere_is_not_shared() -> None:
    rows = pipeline.shared(X)
    for weight in (1.0, 9.0):
        frozen = FrozenEstimator(PCA(1, random_state=0).fit(X * [1.0, weight, 1.0]))
        scaled = make_pipeline(frozen, Ridge())
        model = Accelerated(scaled, device="cpu").fit(rows, Y)
        np.testing.assert_allclose(model.predict(X), scaled.fit(X, Y).predict(X))
