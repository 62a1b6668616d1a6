"""The flights on clusters: the same model whenever it is trained, and as good as in one process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from xgboost import XGBClassifier, XGBRegressor, XGBRFClassifier

import pipeline
from pipeline import Accelerated
from pipeline.data import partitioned
from pipeline.errors import DataError, Unsupported
from pipeline.system import hardware
from tasks.flights import TASK
from tests.clusters import in_process

pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
TRAIN, TEST = [("month", "<=", 9)], [("month", ">", 9)]
FEATURES = list(TASK.features)


@pytest.fixture(scope="module")
def flights(flights_home: Path) -> Path:
    return flights_home / "flights" / "flights.parquet"


def as_good(found: float, flights: Path) -> bool:
    """Return whether a score is as one process has it on one table, with these bins or those.

    The bins of a cluster are others again, and a score depends on them by more than the margin.
    """
    frame = pd.read_parquet(flights)
    train, test = frame[frame.month <= 9], frame[frame.month > 9]
    scores = []
    for bins in (240, 256, 257):
        estimator = TASK.pipeline("boosting", 0).set_params(xgbclassifier__max_bin=bins)
        model = Accelerated(estimator, device="cpu").fit(train[FEATURES], train["late"].to_numpy())
        scores.append(roc_auc_score(test["late"], model.predict_proba(test[FEATURES])[:, 1]))
    margin = TASK.margins["roc_auc"]
    return min(scores) - margin <= found <= max(scores) + margin


def fitted(path: Path) -> Accelerated:
    """Return a model trained on the cluster."""
    X, y = pipeline.scan(path, FEATURES, TASK.target, rows=TRAIN, partition_bytes=2**20)
    assert X.npartitions >= 8
    return Accelerated(TASK.pipeline("boosting", 0), device="cpu").fit(X, y)


def score(model: Accelerated, path: Path) -> float:
    X, y = pipeline.scan(path, FEATURES, TASK.target, rows=TEST)
    return float(roc_auc_score(y, model.predict_proba(X)[:, 1]))


def learnt(model: Accelerated) -> tuple[bytes, np.ndarray]:
    """Return the booster and the statistics of a model."""
    lifted = model.to_sklearn()
    encodings = lifted[0].named_transformers_["targetencoder"].encodings_
    return bytes(lifted[-1].get_booster().save_raw("ubj")), np.concatenate(encodings)


@pytest.fixture(scope="module")
def two() -> Iterator[None]:
    with in_process(2):
        yield


@pytest.mark.slow
def test_flights_are_as_good_on_two_workers_and_the_same_again(two: None, flights: Path) -> None:
    model = fitted(flights)
    booster, statistics = learnt(model)
    again = learnt(fitted(flights))
    assert as_good(score(model, flights), flights)
    assert again[0] == booster
    np.testing.assert_array_equal(again[1], statistics)


def table(rows: int = 600) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    made = pd.DataFrame(rng.normal(size=(rows, 3)), columns=list("abc"))
    # Each third has its own text, so that no partition has all categories.
    made["t"] = [f"{chr(112 - 3 * i // rows)}{i % 5}" for i in range(rows)]
    return made


def target(X: pd.DataFrame) -> np.ndarray:
    return ((X["a"] + X["t"].str[1].astype(int) % 2) > 0.5).to_numpy().astype("int64")


@pytest.mark.slow
def test_categories_are_those_of_all_partitions(two: None) -> None:
    X = table()
    estimator = XGBClassifier(n_estimators=5, enable_categorical=True)
    many = Accelerated(estimator, device="cpu").fit(dd.from_pandas(X, npartitions=3), target(X))
    one = Accelerated(estimator, device="cpu").fit(X, target(X))
    known = many.to_sklearn().get_booster().get_categories(export_to_arrow=True)
    expected = one.to_sklearn().get_booster().get_categories(export_to_arrow=True)
    assert known.to_arrow()[-1][1].to_pylist() == expected.to_arrow()[-1][1].to_pylist()
    np.testing.assert_allclose(many.predict_proba(X), one.predict_proba(X), atol=0.02)
    parts = dd.from_pandas(X, npartitions=4)
    np.testing.assert_allclose(many.predict_proba(parts), many.predict_proba(X))


@pytest.mark.slow
def test_weights_go_with_their_rows_and_there_may_be_several_classes(two: None) -> None:
    X = table()[["a", "b"]]
    y = np.digitize(X["a"], [-0.5, 0.5])
    weights = np.where(np.arange(len(y)) < 300, 0.0, 1.0)
    estimator = XGBClassifier(n_estimators=3)
    parts = dd.from_pandas(X, npartitions=4)
    wrong = np.where(weights == 0, 2 - y, y)
    weighted = Accelerated(estimator, device="cpu").fit(parts, wrong, sample_weight=weights)
    half = Accelerated(estimator, device="cpu").fit(X[300:], y[300:])
    assert weighted.predict_proba(X).shape == (600, 3)
    assert (weighted.predict(X) == half.predict(X)).mean() > 0.97


def test_other_estimators_have_the_rows_gathered_and_say_so(two: None) -> None:
    X = table()
    estimator = make_pipeline(OrdinalEncoder(), PCA(2), LogisticRegression())
    parts = dd.from_pandas(X, npartitions=3)
    many = Accelerated(estimator, device="cpu", dtype="float64").fit(parts, target(X))
    one = Accelerated(estimator, device="cpu", dtype="float64").fit(X, target(X))
    np.testing.assert_allclose(many.predict_proba(parts), one.predict_proba(X), rtol=1e-9)
    pca = many.plan_.steps[1].placements[0]
    assert "gathered to one process: 19,200 bytes of rows" in pca.note
    assert "gather" in [entry.call for entry in many.execution_log_.entries]


def test_rows_that_do_not_fit_are_refused_with_their_size(
    two: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = hardware.Hardware("", "", 1, 1, 1 << 30, 20_000)
    monkeypatch.setattr(partitioned.hardware, "describe", lambda: small)
    X = table()[["a", "b", "c"]]
    with pytest.raises(Unsupported, match=r"14,400 bytes .* 20,000 free.*use an XGBoost estim"):
        Accelerated(LogisticRegression(), device="cpu").fit(
            dd.from_pandas(X, npartitions=3), target(table())
        )


@pytest.mark.parametrize("estimator", [XGBClassifier(n_estimators=1), LogisticRegression()])
def test_a_target_of_another_length_is_refused(two: Any, estimator: Any) -> None:
    parts = dd.from_pandas(table()[["a"]], npartitions=3)
    with pytest.raises(DataError, match="y has 599 values and X has 600 rows"):
        Accelerated(estimator, device="cpu").fit(parts, target(table())[:-1])


def test_labels_that_xgboost_does_not_take_are_refused(two: None) -> None:
    parts = dd.from_pandas(table()[["a"]], npartitions=3)
    with pytest.raises(DataError, match=r"takes the classes 0, 1, …, n - 1"):
        Accelerated(XGBClassifier(), device="cpu").fit(parts, target(table()) + 5)


def learn(estimator: Any, X: Any, y: np.ndarray, **params: Any) -> Any:
    return Accelerated(estimator, device="cpu").fit(X, y, **params).to_sklearn()


@pytest.mark.parametrize("tree_method", ["hist", pytest.param("approx", marks=pytest.mark.slow)])
def test_what_a_user_gives_counts_on_every_worker(two: None, tree_method: str) -> None:
    X = np.array(table()[["a", "b", "c"]])
    y = X[:, 1] * 2
    X[::5, 0] = -9.0
    X[:, 2] = np.arange(len(X)) % 3

    def squared(y_true: np.ndarray, y_pred: np.ndarray, sample_weight: np.ndarray) -> Any:
        return (y_pred - y_true) * sample_weight, sample_weight

    estimator = XGBRegressor(
        n_estimators=3,
        tree_method=tree_method,
        objective=squared,
        missing=-9.0,
        feature_types=["q", "q", "c"],
        feature_weights=[1, 1, 0],
        colsample_bytree=0.6,
    )
    parts, weights = da.from_array(X, chunks=(150, 3)), np.ones(len(y))
    booster = learn(estimator, parts, y, sample_weight=weights).get_booster()
    assert booster.feature_types == ["q", "q", "c"]
    assert not {"f2"} & set(booster.get_score()), "a weight of 0 keeps a column out"
    assert np.corrcoef(booster.inplace_predict(X, missing=-9.0), y)[0, 1] > 0.9


@pytest.mark.slow
def test_random_forests_are_trained_together(two: None) -> None:
    X = da.from_array(table()[["a", "b", "c"]].to_numpy(), chunks=(150, 3))
    y = (table()["a"] > 0).to_numpy().astype("int64")
    forest = learn(XGBRFClassifier(n_estimators=4, random_state=0), X, y).get_booster()
    assert (forest.num_boosted_rounds(), len(forest.get_dump())) == (1, 4)


@pytest.mark.filterwarnings("ignore:.*gblinear.* is deprecated:UserWarning")  # by XGBoost 3.4
def test_a_booster_that_no_cluster_trains_learns_from_gathered_rows(two: None) -> None:
    X = da.from_array(table()[["a"]].to_numpy(), chunks=(150, 1))
    model = Accelerated(XGBRegressor(n_estimators=2, booster="gblinear"), device="cpu")
    model.fit(X, table()["a"].to_numpy())
    assert "gathered to one process" in model.plan_.placements[-1].note
