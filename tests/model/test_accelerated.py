from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import DBSCAN, KMeans
from sklearn.decomposition import PCA
from sklearn.ensemble import AdaBoostClassifier, StackingClassifier
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier, LocalOutlierFactor
from sklearn.pipeline import Pipeline, make_pipeline, make_union
from sklearn.preprocessing import Normalizer, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import has_fit_parameter
from xgboost import XGBClassifier

from pipeline import Accelerated
from pipeline.blocks import table
from pipeline.errors import DataError
from tests.programs import MODELS, NUMBERS, TABLE, WORDS, on_cpu, program


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_it_and_what_it_lifts_to_predict_what_sklearn_predicts(name: str, dtype: str) -> None:
    estimator = program(MODELS[name])
    model = on_cpu(estimator, dtype=dtype).fit(TABLE, NUMBERS)
    lifted = pickle.loads(pickle.dumps(model.to_sklearn()))
    assert type(lifted) is Pipeline
    reference = clone(estimator).fit(TABLE, NUMBERS)
    near = {"rtol": 1e-4, "atol": 1e-5} if dtype == "float32" else {"rtol": 1e-5, "atol": 1e-6}
    for plain in [lifted] if dtype == "float32" else [lifted, reference]:
        np.testing.assert_array_equal(model.predict(TABLE), plain.predict(TABLE))
        probabilities = plain.predict_proba(TABLE)
        np.testing.assert_allclose(model.predict_proba(TABLE), probabilities, **near)
        assert model.score(TABLE, NUMBERS) == plain.score(TABLE, NUMBERS)


NAMES = (
    *("predict", "predict_proba", "predict_log_proba", "decision_function", "score"),
    *("score_samples", "fit_predict", "fit_transform", "transform", "inverse_transform"),
    *("set_output", "get_feature_names_out", "kneighbors", "radius_neighbors_graph"),
)
MEANS = KMeans(2, n_init=1, random_state=0)
ENDS: dict[str, Any] = {
    "passthrough": make_pipeline("passthrough"),
    "a step that is left out": make_pipeline(MEANS, "passthrough"),
    "no way back": make_pipeline(Normalizer(), PCA(2)),
    "a way back": make_pipeline(StandardScaler(), PCA(2)),
    "a union": make_pipeline(make_union(StandardScaler()), StandardScaler()),
    "logistic": make_pipeline(StandardScaler(), LogisticRegression()),
    "regression": make_pipeline("passthrough", LinearRegression()),
    "neighbours": make_pipeline(StandardScaler(), KNeighborsClassifier()),
    "clusters for these rows alone": make_pipeline(StandardScaler(), DBSCAN()),
    "outliers": make_pipeline(StandardScaler(), LocalOutlierFactor()),
    "novelties": make_pipeline(StandardScaler(), LocalOutlierFactor(novelty=True)),
    "a stack": make_pipeline(StandardScaler(), StackingClassifier([("a", LogisticRegression())])),
    "a search": make_pipeline(StandardScaler(), GridSearchCV(SVC(), {"C": [1.0]}, cv=2)),
    "boosting": make_pipeline(StandardScaler(), XGBClassifier(n_estimators=2, n_jobs=1)),
}


@pytest.mark.parametrize("name", ENDS)
def test_methods_are_those_of_the_estimator(name: str) -> None:
    X, y = np.random.default_rng(0).normal(size=(20, 3)), np.arange(20) % 2
    plain, model = clone(ENDS[name]), on_cpu(ENDS[name])
    for fitted in (False, True):
        if fitted:
            plain.fit(X, y), model.fit(X, y)
        found, expected = ([n for n in NAMES if hasattr(m, n)] for m in (model, plain))
        assert found == expected, fitted


@pytest.mark.quick(2)
@pytest.mark.parametrize("name", MODELS)
def test_threads_predict_alike_and_keep_their_own_books(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "CHUNK_ROWS", 50)
    model = on_cpu(program(MODELS[name])).fit(TABLE, NUMBERS)
    fit = len(model.execution_log_.entries)
    expected = {method: getattr(model, method)(TABLE) for method in ("predict", "predict_proba")}
    tails: list[list[str]] = []

    def serve(start: int) -> None:
        method = ("predict", "predict_proba")[start % 2]
        for _ in range(4):
            found = getattr(model, method)(TABLE[start:])
            tails.append([entry.call for entry in model.execution_log_.entries[fit:]])
            np.testing.assert_allclose(found, expected[method][start:], rtol=1e-6)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(serve, range(8)))
    assert len(tails) == 32
    assert {tuple(tail) for tail in tails} <= {("transform", method) for method in expected}


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
    same = on_cpu(dtype="float64").fit(TABLE, WORDS, logisticregression__sample_weight=weights)
    np.testing.assert_array_equal(same.predict_proba(TABLE), found)


X = TABLE[["n2"]].assign(n3=TABLE["n1"].fillna(0.0)).to_numpy()


def exact(estimator: Any = None) -> Accelerated:
    return on_cpu(estimator, dtype="float64")


GRID = {"logisticregression__C": [1e-3, 1.0]}
AROUND = {
    "grid": lambda of, prefix: GridSearchCV(of, {f"{prefix}{k}": v for k, v in GRID.items()}, cv=2),
    "stacking": lambda of, prefix: StackingClassifier([("a", of)], cv=2),
    "one-vs-rest": lambda of, prefix: OneVsRestClassifier(of),
}


@pytest.mark.parametrize("name", AROUND)
def test_around_it_as_around_a_plain_pipeline(name: str) -> None:
    """On matrices, since some of these convert tables before they pass them on."""
    plain = make_pipeline(StandardScaler(), LogisticRegression())
    ours = AROUND[name](exact(plain), "estimator__").fit(X, WORDS)
    theirs = AROUND[name](plain, "").fit(X, WORDS)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-6)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_weights_are_shown_where_the_spec_has_them() -> None:
    assert has_fit_parameter(exact(LogisticRegression()), "sample_weight")
    assert not has_fit_parameter(exact(KNeighborsClassifier()), "sample_weight")
    boosted = AdaBoostClassifier(exact(DecisionTreeClassifier(max_depth=1)), n_estimators=3)
    plain = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=3)
    ours, theirs = boosted.fit(X, WORDS).predict(X), plain.fit(X, WORDS).predict(X)
    np.testing.assert_array_equal(ours, theirs)


def boosted() -> Pipeline:
    model = XGBClassifier(
        n_estimators=30, max_depth=2, learning_rate=0.9, early_stopping_rounds=2, n_jobs=1
    )
    return program(model)


def test_eval_sets_are_prepared_as_the_training_rows_are() -> None:
    seen, held = TABLE[:160], TABLE[160:]
    labels, held_labels = NUMBERS[:160], NUMBERS[160:]
    model = exact(boosted()).fit(seen, labels, eval_set=[(held, held_labels)], verbose=False)
    prepare, last = boosted().named_steps["columntransformer"], boosted()[-1]
    ready = prepare.fit_transform(seen, labels)
    last.fit(ready, labels, eval_set=[(prepare.transform(held), held_labels)], verbose=False)
    assert 0 < last.best_iteration < 29
    expected = last.predict_proba(prepare.transform(held))
    np.testing.assert_allclose(model.predict_proba(held), expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        ([TABLE], "not a list of pairs"),
        ([(TABLE.drop(columns="n2"), NUMBERS)], "n2"),
        ([(TABLE, NUMBERS[1:])], "239 values"),
    ],
    ids=["no pair", "other columns", "other rows"],
)
def test_bad_eval_sets_are_refused(sets: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        exact(boosted()).fit(TABLE, NUMBERS, eval_set=sets)


@pytest.mark.parametrize(
    "estimator", [DBSCAN(eps=1.0), KMeans(2, n_init=1, random_state=0)], ids=str
)
def test_fit_predict_labels_the_training_rows(estimator: Any) -> None:
    whole = make_pipeline(StandardScaler(), estimator)
    model = exact(whole)
    np.testing.assert_array_equal(model.fit_predict(X), clone(whole).fit_predict(X))
    assert [entry.step for entry in model.execution_log_.entries][-1] == type(
        estimator
    ).__name__.lower()
    assert not hasattr(exact(LogisticRegression()), "fit_predict")
