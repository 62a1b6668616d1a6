from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier, RandomTreesEmbedding
from sklearn.feature_selection import SelectPercentile
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OrdinalEncoder, StandardScaler
from xgboost import XGBClassifier

from pipeline.errors import ConfigError
from pipeline.preprocessing.engine import table
from pipeline.system import threads
from tests.programs import MODELS, NUMBERS, TABLE, WORDS, on_cpu, preprocessing, program


@pytest.mark.parametrize("name", MODELS)
def test_predicts_what_sklearn_predicts(name: str) -> None:
    estimator = program(MODELS[name])
    model = on_cpu(estimator, dtype="float64").fit(TABLE, NUMBERS)
    reference = clone(estimator).fit(TABLE, NUMBERS)
    np.testing.assert_array_equal(model.predict(TABLE), reference.predict(TABLE))
    probabilities = reference.predict_proba(TABLE)
    np.testing.assert_allclose(model.predict_proba(TABLE), probabilities, rtol=1e-5, atol=1e-6)
    assert model.score(TABLE, NUMBERS) == reference.score(TABLE, NUMBERS)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_hand_over_predicts_alike(name: str, dtype: str) -> None:
    model = on_cpu(program(MODELS[name]), dtype=dtype).fit(TABLE, NUMBERS)
    plain = pickle.loads(pickle.dumps(model.to_sklearn()))
    assert type(plain) is Pipeline
    np.testing.assert_array_equal(plain.predict(TABLE), model.predict(TABLE))
    np.testing.assert_allclose(
        plain.predict_proba(TABLE), model.predict_proba(TABLE), rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("name", ["logistic", "forest"])
def test_labels_may_be_words(name: str) -> None:
    model = on_cpu(program(MODELS[name])).fit(TABLE, WORDS)
    assert model.classes_.tolist() == ["no", "yes"]
    assert set(model.predict(TABLE)) == {"no", "yes"}
    assert 0.5 < model.score(TABLE, WORDS) <= 1
    assert model.to_sklearn().predict(TABLE).tolist() == model.predict(TABLE).tolist()


def test_xgboost_takes_the_frame_as_it_is() -> None:
    estimator = XGBClassifier(n_estimators=5, n_jobs=1, enable_categorical=True)
    model = on_cpu(estimator).fit(TABLE, NUMBERS)
    typed = TABLE.astype({"c1": "category", "c2": "category"})
    expected = clone(estimator).fit(typed, NUMBERS).predict_proba(typed)
    np.testing.assert_array_equal(model.predict_proba(TABLE), expected)
    np.testing.assert_array_equal(model.to_sklearn().predict_proba(typed), expected)


def test_xgboost_is_told_the_types_of_a_matrix() -> None:
    encode = make_column_transformer((OrdinalEncoder(), ["c1", "c2"]), remainder="passthrough")
    types = ["c", "c", "q", "q"]
    boosting = XGBClassifier(n_estimators=5, n_jobs=1, enable_categorical=True, feature_types=types)
    estimator = make_pipeline(encode, boosting)
    model = on_cpu(estimator).fit(TABLE, NUMBERS)
    expected = clone(estimator).fit(TABLE, NUMBERS).predict_proba(TABLE)
    np.testing.assert_allclose(model.predict_proba(TABLE), expected, rtol=1e-6)
    np.testing.assert_allclose(model.to_sklearn().predict_proba(TABLE), expected, rtol=1e-6)


def test_a_transformer_alone() -> None:
    model = on_cpu(preprocessing(), dtype="float64").fit(TABLE, NUMBERS)
    reference = preprocessing().fit(TABLE, NUMBERS)
    np.testing.assert_allclose(model.transform(TABLE), reference.transform(TABLE), atol=1e-12)
    assert not hasattr(model, "predict")
    assert not hasattr(model, "score")


def test_a_regressor_alone() -> None:
    X = TABLE[["n2"]].to_numpy("float64")
    y = X[:, 0] * 2 + 1
    model = on_cpu(LinearRegression()).fit(X, y)
    assert model.score(X, y) == pytest.approx(1.0)
    assert not hasattr(model, "predict_proba")
    assert not hasattr(model, "classes_")
    assert is_regressor(model)


def test_methods_are_those_of_the_spec() -> None:
    logistic, forest = on_cpu(), on_cpu(RandomForestClassifier())
    assert hasattr(logistic, "decision_function")
    assert not hasattr(forest, "decision_function")
    assert not hasattr(logistic, "transform")
    assert is_classifier(logistic)


def test_a_step_without_a_twin_runs_as_it_is() -> None:
    estimator = make_pipeline(
        SimpleImputer(), SelectPercentile(percentile=50), LogisticRegression()
    )
    X = TABLE[["n1", "n2"]]
    model = on_cpu(estimator, dtype="float64").fit(X, WORDS)
    expected = clone(estimator).fit(X, WORDS).predict_proba(X)
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-6)
    assert [p.note for p in model.plan_.placements][
        1
    ] == "as it is: SelectPercentile has no twin yet"


@pytest.mark.parametrize(
    "selector", [lambda X: ["n2"], lambda X: X.columns[:2][X.nunique()[:2] < 9]]
)
def test_functions_that_select_columns_give_what_sklearn_gives(selector: Any) -> None:
    estimator = make_pipeline(
        make_column_transformer((StandardScaler(), selector), ("passthrough", ["n2"])),
        LogisticRegression(),
    )
    expected = clone(estimator).fit(TABLE, WORDS).predict_proba(TABLE)
    np.testing.assert_allclose(on_cpu(estimator).fit(TABLE, WORDS).predict_proba(TABLE), expected)


def test_a_sparse_step_before_a_twin() -> None:
    trees = RandomTreesEmbedding(5, max_depth=2, random_state=0)
    estimator = make_pipeline(trees, StandardScaler(with_mean=False), LogisticRegression())
    X = TABLE[["n2"]]
    expected = clone(estimator).fit(X, WORDS).predict_proba(X)
    model = on_cpu(estimator, dtype="float64").fit(X, WORDS)
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-4)


def test_the_last_step_may_be_left_out() -> None:
    estimator = Pipeline([("s", StandardScaler()), ("m", "passthrough")])
    found = on_cpu(estimator, dtype="float64").fit(TABLE[["n2"]]).transform(TABLE[["n2"]])
    np.testing.assert_allclose(found, StandardScaler().fit_transform(TABLE[["n2"]]))


def test_clone_and_nested_parameters() -> None:
    model = on_cpu(dtype="float64", fallback=True)
    twin = clone(model).set_params(estimator__logisticregression__C=7.0)
    assert twin.get_params()["estimator__logisticregression__C"] == 7.0
    assert model.get_params()["estimator__logisticregression__C"] == 1.0
    assert (twin.device, twin.dtype, twin.fallback) == ("cpu", "float64", True)


def test_the_spec_is_not_fitted() -> None:
    estimator = program()
    model = on_cpu(estimator).fit(TABLE, WORDS)
    assert model.estimator is estimator
    assert not hasattr(estimator[-1], "coef_")
    assert not hasattr(estimator[0], "transformers_")


def test_grid_search_and_cross_validation() -> None:
    grid = {"estimator__logisticregression__C": [1e-4, 1.0]}
    search = GridSearchCV(on_cpu(dtype="float64"), grid, cv=3).fit(TABLE, WORDS)
    plain = GridSearchCV(program(), {"logisticregression__C": [1e-4, 1.0]}, cv=3).fit(TABLE, WORDS)
    assert search.best_params_ == {"estimator__logisticregression__C": 1.0}
    ours, theirs = search.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"]
    np.testing.assert_allclose(ours, theirs)
    np.testing.assert_allclose(
        cross_val_score(on_cpu(dtype="float64"), TABLE, WORDS, cv=3),
        cross_val_score(program(), TABLE, WORDS, cv=3),
    )


def test_pickles() -> None:
    model = on_cpu().fit(TABLE, WORDS)
    again = pickle.loads(pickle.dumps(model))
    assert again.execution_log_ == model.execution_log_
    np.testing.assert_array_equal(again.predict_proba(TABLE), model.predict_proba(TABLE))


@pytest.mark.parametrize("name", MODELS)
def test_threads_predict_alike_and_keep_their_own_books(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "CHUNK_ROWS", 50)
    model = on_cpu(program(MODELS[name])).fit(TABLE, NUMBERS)
    expected = model.predict_proba(TABLE)
    wanted = [entry.call for entry in model.execution_log_.entries]

    def serve(start: int) -> None:
        for _ in range(4):
            found = model.predict_proba(TABLE[start:])
            np.testing.assert_allclose(found, expected[start:], rtol=1e-6)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(serve, range(8)))
    assert [entry.call for entry in model.execution_log_.entries] == wanted


def test_number_of_cores_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "CHUNK_ROWS", 16)
    found = []
    for cores in (1, 4):
        monkeypatch.setattr(threads.os, "sched_getaffinity", lambda pid, n=cores: range(n))
        found.append(on_cpu().fit(TABLE, NUMBERS).predict_proba(TABLE).tobytes())
    assert found[0] == found[1]


def test_the_execution_log_tells_of_the_fit_and_of_the_last_call() -> None:
    model = on_cpu().fit(TABLE, WORDS)
    fit = [("columntransformer", "fit_transform"), ("logisticregression", "fit")]
    call = [("columntransformer", "transform"), ("logisticregression", "predict")]
    assert [(e.step, e.call) for e in model.execution_log_.entries] == fit
    for _ in range(2):
        model.predict(TABLE)
        assert [(e.step, e.call) for e in model.execution_log_.entries] == fit + call
    for entry in model.execution_log_.entries:
        assert (entry.device, entry.to_device_bytes, entry.to_host_bytes) == ("cpu", 0, 0)
        assert entry.seconds > 0


def test_parameters_of_fit_go_to_the_last_step() -> None:
    weights = np.where(WORDS == "yes", 9.0, 1.0)
    model = on_cpu(dtype="float64").fit(TABLE, WORDS, sample_weight=weights)
    expected = program().fit(TABLE, WORDS, logisticregression__sample_weight=weights)
    found = model.predict_proba(TABLE)
    np.testing.assert_allclose(found, expected.predict_proba(TABLE), rtol=1e-4)


def test_parameters_of_fit_may_name_their_step() -> None:
    weights = np.where(WORDS == "yes", 9.0, 1.0)
    model = on_cpu(dtype="float64").fit(TABLE, WORDS, logisticregression__sample_weight=weights)
    same = on_cpu(dtype="float64").fit(TABLE, WORDS, sample_weight=weights)
    np.testing.assert_array_equal(model.predict_proba(TABLE), same.predict_proba(TABLE))


def test_a_negative_budget_is_refused() -> None:
    with pytest.raises(ConfigError, match="host_bytes=-1 is less than 0"):
        on_cpu(LogisticRegression(), host_bytes=-1).fit(TABLE[["n2"]], WORDS)
