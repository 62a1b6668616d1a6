from __future__ import annotations

from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from threadpoolctl import ThreadpoolController, threadpool_limits
from xgboost import XGBRegressor

from pipeline import Accelerated
from pipeline.backends.base import HostModel
from pipeline.backends.cpu import HOST
from pipeline.backends.xgboost.xgboost_model import XGBoostModel
from pipeline.system.threads import scipy_blas

X = pd.DataFrame({"a": [0.0, 1.0, 2.0], "b": [1.0, 0.0, 5.0]})
y = np.array([0.0, 1.0, 2.0])


class Counting(LogisticRegression):
    """Remembers the threads of SciPy's own BLAS while it learnt."""

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> Counting:
        self.threads_ = [each.num_threads for each in scipy_blas().lib_controllers]
        return super().fit(X, y)


class CountingRidge(Ridge):
    """Remembers the same."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> CountingRidge:
        self.threads_ = [each.num_threads for each in scipy_blas().lib_controllers]
        return super().fit(X[:9], y[:9])


@pytest.mark.parametrize(
    ("solver", "size", "threads"),
    [("auto", 2_000, 1), ("cholesky", 3, 1), ("svd", 3, 2), ("auto", 2_001, 2)],
)
def test_normal_equations_of_a_few_columns_or_rows_have_one_thread_of_scipy(
    solver: str, size: int, threads: int
) -> None:
    model = HostModel(CountingRidge(solver=solver))
    with threadpool_limits(2, "blas"):
        model.fit(np.zeros((2_001, size), "float32"), np.zeros(2_001))
        assert model.to_sklearn().threads_ == [threads] * len(scipy_blas())


@pytest.mark.parametrize(("solver", "threads"), [("lbfgs", 1), ("newton-cg", 2)])
def test_a_solver_that_calls_numpy_and_scipy_by_turns_has_one_thread_of_scipy(
    solver: str, threads: int
) -> None:
    model = HostModel(Counting(solver=solver))
    with threadpool_limits(2, "blas"):
        model.fit(X, y > 1)
        assert model.to_sklearn().threads_ == [threads] * len(scipy_blas())
        assert all(each.num_threads == 2 for each in scipy_blas().lib_controllers)


class HistGradientBoostingCounting(HistGradientBoostingRegressor):
    """Remembers the threads that OpenMP had while it predicted."""

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        self.threads = openmp_threads()
        return super().predict(X)


class XGBCounting(XGBRegressor):
    """Remembers the same."""

    def predict(self, X: np.ndarray) -> np.ndarray:
        self.threads = openmp_threads()
        return super().predict(X)


class RandomForestCounting(RandomForestRegressor):
    """Remembers those of joblib."""

    def predict(self, X: np.ndarray) -> np.ndarray:
        self.threads = {joblib.effective_n_jobs(2)}
        return super().predict(X)


def openmp_threads() -> set[int]:
    runtimes = ThreadpoolController().select(user_api="openmp")
    return {each.num_threads for each in runtimes.lib_controllers}


@pytest.mark.parametrize(
    "trees",
    [
        HistGradientBoostingCounting(max_iter=9),
        XGBCounting(n_estimators=9),
        RandomForestCounting(n_estimators=1_000, max_depth=1, n_jobs=2, random_state=0),
    ],
    ids=str,
)
def test_trees_predict_few_rows_by_one_thread(trees: Any) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(500, 3)), rng.integers(9, size=500).astype("float64")
    with threadpool_limits(2, "openmp"):
        model = Accelerated(trees, device="cpu").fit(X, y)
        whole = model.predict(X)
        assert model.plan_.steps[-1].worker.native.threads == {2}
        # Threads add the trees of a forest in any order.
        few = 1e-12 if isinstance(trees, RandomForestRegressor) else 0
        np.testing.assert_allclose(model.predict(X[:128]), whole[:128], rtol=few, atol=0)
        assert model.plan_.steps[-1].worker.native.threads == {1}
        assert openmp_threads() == {2}


@pytest.mark.parametrize("device", [None, "cpu", "cuda", "cuda:1"])
def test_xgboost_is_told_to_run_on_the_cpu(device: str | None) -> None:
    estimator = XGBRegressor(device=device)
    placed = HOST.place(estimator, "model")
    assert isinstance(placed, XGBoostModel)
    assert placed.native.device == "cpu"
    assert estimator.device == device
    replaced = device not in (None, "cpu")
    assert bool(HOST.describe(estimator, "model").note) is replaced
