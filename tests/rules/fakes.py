"""A class that speaks as cuML's estimators do, on NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

PATH = "tests.rules.fakes.CumlLogistic"


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
