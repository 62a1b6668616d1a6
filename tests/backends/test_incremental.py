"""Estimators with `partial_fit` on partitions that do not fit, against scikit-learn in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import IncrementalPCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Perceptron, SGDClassifier, SGDRegressor
from sklearn.metrics import roc_auc_score
from sklearn.naive_bayes import BernoulliNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pipeline import Accelerated
from pipeline.backends import incremental
from pipeline.data import partitioned
from pipeline.errors import DataError, Unsupported
from pipeline.system import hardware

da = pytest.importorskip("dask.array")
ROWS = 6000


@pytest.fixture(autouse=True)
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    small = hardware.Hardware("", "", 1, 1, 1 << 30, 20_000)
    monkeypatch.setattr(partitioned.hardware, "describe", lambda: small)


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


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    "estimator",
    [
        SGDClassifier(loss="log_loss", random_state=0),
        SGDClassifier(loss="log_loss", average=True, early_stopping=True, random_state=0),
        SGDClassifier(
            loss="log_loss", class_weight="balanced", max_iter=7, tol=None, random_state=0
        ),
        Perceptron(penalty="l2", alpha=1e-3, random_state=0),
        MLPClassifier((8,), max_iter=100, tol=1e-2, random_state=0),
    ],
)
def test_what_takes_steps_ranks_rows_as_well_as_in_memory(estimator: Any) -> None:
    X, score = table()
    y = np.where(score > 1, "yes", "no")
    pipe = make_pipeline(StandardScaler(), estimator)
    found = streamed(pipe, X, y)
    alone = pipe.fit(X, y)
    assert area(found, X, y) > area(alone, X, y) - 0.005
    assert found.to_sklearn()[-1].get_params() == estimator.get_params()
    assert found.predict(X).tolist() == streamed(pipe, X, y).predict(X).tolist()


def area(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    how = "decision_function" if hasattr(model, "decision_function") else "predict_proba"
    scores = getattr(model, how)(X)
    return float(roc_auc_score(y, scores if scores.ndim == 1 else scores[:, 1]))


def epochs(estimator: Any) -> float:
    """Return how often the rows were passed over; `t_` counts steps from 1."""
    return float((estimator.t_ - 1) / ROWS)


def test_epochs_end_when_the_score_grows_no_more() -> None:
    X, score = table()
    y = (score > 1).astype("int64")
    patient = streamed(SGDClassifier(random_state=0, n_iter_no_change=9), X, y).to_sklearn()
    hasty = streamed(SGDClassifier(random_state=0, n_iter_no_change=2), X, y).to_sklearn()
    assert 2 < epochs(hasty) < epochs(patient) < 40
    most = SGDClassifier(random_state=0, tol=None, max_iter=6)
    assert epochs(streamed(most, X, y).to_sklearn()) == 6


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
    with pytest.raises(Unsupported, match="192,000 bytes"):
        Accelerated(SGDClassifier(), device="cpu").fit(parts(X), y > 0, coef_init=np.zeros(4))
    with pytest.raises(DataError, match="y has 5999 values and X has 6000 rows"):
        Accelerated(SGDRegressor(), device="cpu").fit(parts(X), y[:-1])


def test_what_was_prepared_is_gone_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    X, y = table()
    seen: list[int] = []
    epoch = incremental._fit_epoch
    monkeypatch.setattr(
        incremental,
        "_fit_epoch",
        lambda *a: (seen.append(len([*tmp_path.rglob("*.npy")])), epoch(*a))[1],
    )
    with pytest.warns(ConvergenceWarning, match="still growing after max_iter=2 epochs"):
        streamed(SGDRegressor(max_iter=2), X, y)
    assert seen == [6, 6]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("least", "lengths"), [(0, [3, 1, 5]), (4, [4, 5]), (99, [9])])
def test_short_partitions_are_one_batch(least: int, lengths: list[int], tmp_path: Path) -> None:
    X, y = np.arange(18.0).reshape(9, 2), np.arange(9)
    parts = da.from_array(X, chunks=((3, 1, 5), 2))
    for folder in (None, tmp_path):
        found = incremental.read_batches(parts, y, None, folder, least)
        assert [len(batch.y) for batch in found] == lengths
        np.testing.assert_array_equal(np.vstack([batch.read() for batch in found]), X)
        np.testing.assert_array_equal(np.concatenate([batch.y for batch in found]), y)
