"""XGBoost from the disk, against XGBoost in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier, XGBRegressor

from pipeline import Accelerated
from pipeline.errors import DataError
from pipeline.table import partitioned

da = pytest.importorskip("dask.array")
ROWS = 6000


@pytest.fixture(autouse=True)
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partitioned.hardware, "memory", lambda: (1 << 30, 20_000))


def table() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 4))
    return X, X[:, 0] + X[:, 1] ** 2 + rng.normal(size=ROWS)


def fitted(estimator: Any, y: Any, **params: Any) -> Accelerated:
    X = da.from_array(table()[0], chunks=(1000, 4))
    return Accelerated(make_pipeline(StandardScaler(), estimator), device="cpu").fit(X, y, **params)


@pytest.mark.slow
def test_a_classifier_is_as_good_as_in_memory_and_the_same_again() -> None:
    X, score = table()
    y = (score > 1).astype("int64")
    estimator = XGBClassifier(n_estimators=10, max_depth=3, random_state=0)
    short, again = fitted(estimator, y), fitted(estimator, y)
    note = short.plan_.placements[-1].note
    assert note == "external memory: 96,000 bytes of rows, 20,000 free"
    answers = short.predict_proba(X)[:, 1]
    np.testing.assert_array_equal(again.predict_proba(X)[:, 1], answers)
    parts = da.from_array(X, chunks=(700, 4))
    np.testing.assert_array_equal(short.predict_proba(parts)[:, 1], answers)
    alone = Accelerated(make_pipeline(StandardScaler(), estimator), device="cpu").fit(X, y)
    wanted = roc_auc_score(y, alone.predict_proba(X)[:, 1])
    for model in (short, fitted(estimator, y)):
        found = roc_auc_score(y, model.predict_proba(X)[:, 1])
        assert found == pytest.approx(wanted, abs=0.002)


@pytest.mark.slow
def test_a_regressor_learns_from_weighted_rows() -> None:
    X, y = table()
    weights = np.where(np.arange(ROWS) < 3000, 0.0, 1.0)
    estimator = XGBRegressor(n_estimators=10, max_depth=3)
    wrong = np.where(weights == 0, -50.0, y)
    found = fitted(estimator, wrong, sample_weight=weights).predict(X)
    assert np.corrcoef(found, y)[0, 1] > 0.6
    assert abs(found.mean() - y[3000:].mean()) < 0.2


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("estimator", "y", "why"),
    [
        (XGBRegressor(n_estimators=1), np.ones(ROWS - 1), "y has 5999 values, but X has 6000 rows"),
        (
            XGBClassifier(n_estimators=1),
            np.arange(ROWS) % 2 + 3,
            "needs the classes 0, 1, …, n - 1",
        ),
    ],
    ids=["length", "labels"],
)
def test_a_target_that_does_not_fit_is_refused(estimator: Any, y: np.ndarray, why: str) -> None:
    with pytest.raises(DataError, match=why):
        fitted(estimator, y)
