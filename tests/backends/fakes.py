"""Classes that speak as cuML's estimators do, on NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression

PATH = "tests.backends.fakes.CumlLogistic"


class UnsupportedOnGPU(ValueError):
    """What cuML raises for a value it cannot honour."""


class CumlLogistic:
    """Honours C and fit_intercept, refuses dual, drops everything else in silence."""

    def __init__(self, *, C: float, fit_intercept: bool) -> None:
        self.C, self.fit_intercept = C, fit_intercept

    @classmethod
    def _params_from_cpu(cls, model: LogisticRegression) -> dict[str, Any]:
        if model.dual:
            raise UnsupportedOnGPU("`dual=True` is not supported")
        return {"C": model.C, "fit_intercept": model.fit_intercept}

    def fit(self, X: np.ndarray, y: np.ndarray) -> CumlLogistic:
        self.model = LogisticRegression(C=self.C, fit_intercept=self.fit_intercept).fit(X, y)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.model.predict(X)

    def as_sklearn(self) -> LogisticRegression:
        plain = LogisticRegression(C=self.C)
        vars(plain).update({n: v for n, v in vars(self.model).items() if n.endswith("_")})
        return plain


class Part(CumlLogistic):
    """What came of the logistic regression of several workers; its labels are codes."""

    classes_: np.ndarray
    trained_on: set[str]

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.classes_[self.model.predict(X).astype(int)]

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        return self.model.predict_proba(X)


def _block(X: np.ndarray, y: np.ndarray | None = None) -> tuple[str, Any, Any]:
    from distributed import get_worker

    return get_worker().address, X, y


class _Together:
    """The manners of cuml.dask: any keyword is taken, and y lies beside X."""

    def __init__(self, *, client: Any, **kwargs: Any) -> None:
        self.client, self.kwargs = client, kwargs

    def _blocks(self, *given: Any) -> list[tuple[str, Any, Any]]:
        from dask import delayed

        columns = [each.to_delayed().ravel() for each in given]
        tasks = [delayed(_block)(*parts) for parts in zip(*columns, strict=True)]
        return self.client.gather(self.client.compute(tasks))

    def get_combined_model(self) -> Any:
        return self.model


class TogetherLogistic(_Together):
    def fit(self, X: Any, y: Any) -> TogetherLogistic:
        found = self._blocks(X, y)
        assert {part.dtype for _, _, part in found} == {X.dtype}
        self.model = Part(**self.kwargs)
        self.model.fit(
            *(np.concatenate(parts) for parts in zip(*(f[1:] for f in found), strict=True))
        )
        self.model.trained_on = {address for address, _, _ in found}
        return self


class CumlClusters:
    def __init__(self, *, n_clusters: int) -> None:
        self.n_clusters = n_clusters

    @classmethod
    def _params_from_cpu(cls, model: KMeans) -> dict[str, Any]:
        return {"n_clusters": model.n_clusters}

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.transform(X).argmin(axis=1)

    def transform(self, X: np.ndarray) -> np.ndarray:
        return np.sqrt(((X[:, None] - self.cluster_centers_) ** 2).sum(axis=2))


class TogetherClusters(_Together):
    """Its model has the labels of the last worker alone, as cuML's has those of the first."""

    def fit(self, X: Any) -> TogetherClusters:
        blocks = [part for _, part, _ in self._blocks(X)]
        self.model = CumlClusters(**self.kwargs)
        fitted = KMeans(self.model.n_clusters, n_init=1, random_state=0)
        fitted.fit(np.concatenate(blocks))
        self.model.cluster_centers_ = fitted.cluster_centers_
        self.model.labels_ = self.model.predict(blocks[-1])
        self.inertia_ = fitted.inertia_
        return self


TOGETHER = {
    "sklearn.cluster.KMeans": "TogetherClusters",
    "sklearn.linear_model.LogisticRegression": "TogetherLogistic",
}
"""Name of the estimator -> the class that trains in the place of that of cuml.dask."""
