"""Estimators with `partial_fit` on partitions that do not fit, against scikit-learn in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import IncrementalPCA
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline

from pipeline import Accelerated
from pipeline.errors import DataError, Unsupported
from pipeline.table import partitioned

da = pytest.importorskip("dask.array")
ROWS = 6000


@pytest.fixture(autouse=True)
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partitioned.hardware, "memory", lambda: (1 << 30, 20_000))


def table() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 4))
    return X, X[:, 0] - 2 * X[:, 1] + rng.normal(size=ROWS)


def parts(X: np.ndarray, rows: int = 1000) -> Any:
    return da.from_array(X, chunks=(rows, X.shape[1]))


def streamed(estimator: Any, X: np.ndarray, y: Any = None, **params: Any) -> Accelerated:
    model = Accelerated(estimator, device="cpu", dtype="float64").fit(parts(X), y, **params)
    assert "one partition after another: " in model.plan_.placements[-1].note
    return model


@pytest.mark.parametrize(
    "estimator", [GaussianNB(), MultinomialNB(), ComplementNB(), BernoulliNB(binarize=0.5)]
)
@pytest.mark.parametrize("labels", [np.array([0, 1, 2]), np.array(["a", "b", "c"])])
@pytest.mark.parametrize("weighted", [False, True])
def test_naive_bayes_is_that_of_all_rows(
    estimator: Any, labels: np.ndarray, weighted: bool
) -> None:
    X, score = table()
    X, y = np.abs(X), labels[np.digitize(score, [0.0, 2.0])]
    weights = {"sample_weight": 0.5 + (np.arange(ROWS) % 3)} if weighted else {}
    found, alone = streamed(estimator, X, y, **weights), estimator.fit(X, y, **weights)
    np.testing.assert_allclose(found.predict_proba(X), alone.predict_proba(X), rtol=1e-6)
    assert found.predict(X).tolist() == alone.predict(X).tolist()


def test_components_are_those_of_the_same_batches_and_rows_flow_on_behind_them() -> None:
    X, score = table()
    X, y = X * [5, 3, 1, 0.5], (score > 1).astype("int64")
    estimator = make_pipeline(IncrementalPCA(2, batch_size=500), GaussianNB())
    found, alone = streamed(estimator, X, y), estimator.fit(X, y)
    components = [model[0].components_ for model in (found.to_sklearn(), alone)]
    np.testing.assert_allclose(*components, rtol=1e-9)
    np.testing.assert_allclose(found.predict_proba(X), alone.predict_proba(X), rtol=1e-6)
    found, alone = streamed(estimator[0], X), clone(estimator[0]).fit(X)
    np.testing.assert_allclose(found.transform(X), alone.transform(X), rtol=1e-9)


def test_what_has_no_such_way_is_refused_with_sizes() -> None:
    X, y = table()
    with pytest.raises(Unsupported, match="learns from all rows in one process: 192,000 bytes"):
        Accelerated(LogisticRegression(), device="cpu").fit(parts(X), y > 0)
    with pytest.raises(DataError, match="y has 5999 values, but X has 6000 rows"):
        Accelerated(GaussianNB(), device="cpu").fit(parts(X), y[:-1] > 0)
