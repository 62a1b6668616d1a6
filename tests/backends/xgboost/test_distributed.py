"""XGBoost on clusters: as good as in one process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from xgboost import XGBClassifier, XGBRegressor

from pipeline import Accelerated
from pipeline.errors import Unsupported
from pipeline.table import partitioned
from tests.clusters import in_process

pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")


@pytest.fixture(scope="module")
def two() -> Iterator[None]:
    with in_process(2):
        yield


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
    monkeypatch.setattr(partitioned.hardware, "memory", lambda: (1 << 30, 20_000))
    X = table()[["a", "b", "c"]]
    with pytest.raises(Unsupported, match=r"14,400 bytes .* 20,000 free.*use an XGBoost estim"):
        Accelerated(LogisticRegression(), device="cpu").fit(
            dd.from_pandas(X, npartitions=3), target(table())
        )


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
