"""The flights on clusters: the same model whenever it is trained, and as good as in one process."""

from __future__ import annotations

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
from xgboost import XGBClassifier

import pipeline
from pipeline import Accelerated
from pipeline.data import partitioned
from pipeline.errors import DataError, Unsupported
from pipeline.system import hardware
from tasks.flights import TASK

pytest.importorskip("distributed")
dd = pytest.importorskip("dask.dataframe")
TRAIN, TEST = [("month", "<=", 9)], [("month", ">", 9)]
FEATURES = list(TASK.features)


@pytest.fixture(scope="module")
def flights(flights_home: Path) -> Path:
    return flights_home / "flights" / "flights.parquet"


@pytest.fixture(scope="module")
def alone(flights: Path) -> tuple[float, float]:
    """Return between which scores one process is on one table, with these bins or those.

    The bins of a cluster are others again, and a score depends on them by more than the margin.
    """
    frame = pd.read_parquet(flights)
    train, test = frame[frame.month <= 9], frame[frame.month > 9]
    scores = []
    for bins in (240, 256, 257):
        estimator = TASK.pipeline("boosting", 0).set_params(xgbclassifier__max_bin=bins)
        model = Accelerated(estimator, device="cpu").fit(train[FEATURES], train["late"].to_numpy())
        scores.append(roc_auc_score(test["late"], model.predict_proba(test[FEATURES])[:, 1]))
    return min(scores), max(scores)


def as_good(found: float, alone: tuple[float, float]) -> bool:
    margin = TASK.margins["roc_auc"]
    return alone[0] - margin <= found <= alone[1] + margin


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
def two() -> Any:
    with pipeline.cluster("local", workers=2) as cluster:
        yield cluster


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 4])
def test_flights_are_as_good_as_in_one_process(
    workers: int, flights: Path, alone: tuple[float, float]
) -> None:
    with pipeline.cluster("local", workers=workers):
        assert as_good(score(fitted(flights), flights), alone)


@pytest.mark.slow
def test_flights_are_as_good_on_two_workers_and_the_same_again(
    two: Any, flights: Path, alone: tuple[float, float]
) -> None:
    model = fitted(flights)
    booster, statistics = learnt(model)
    again = learnt(fitted(flights))
    assert as_good(score(model, flights), alone)
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


def test_categories_are_those_of_all_partitions(two: Any) -> None:
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


def test_weights_go_with_their_rows(two: Any) -> None:
    X = table()[["a", "b"]]
    y = target(table())
    weights = np.where(np.arange(len(y)) < 300, 0.0, 1.0)
    estimator = XGBClassifier(n_estimators=3)
    parts = dd.from_pandas(X, npartitions=4)
    weighted = Accelerated(estimator, device="cpu").fit(parts, 1 - y * (weights == 1), weights)
    half = Accelerated(estimator, device="cpu").fit(X[300:], 1 - y[300:])
    assert (weighted.predict(X) == half.predict(X)).mean() > 0.97


def test_other_estimators_have_the_rows_gathered_and_say_so(two: Any) -> None:
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
    two: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = hardware.Machine("", "", 1, 1, 1 << 30, 20_000)
    monkeypatch.setattr(partitioned.machine, "describe", lambda: small)
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


def test_labels_that_xgboost_does_not_take_are_refused(two: Any) -> None:
    parts = dd.from_pandas(table()[["a"]], npartitions=3)
    with pytest.raises(DataError, match=r"takes the classes 0, 1, …, n - 1"):
        Accelerated(XGBClassifier(), device="cpu").fit(parts, target(table()) + 5)
