"""On a GPU: cuML's estimators by table, XGBoost by its own parameter.

To add an estimator that cuML translates itself, add a row to `CUML`.
"""

from __future__ import annotations

from typing import Any

from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from pipeline.errors import Reason, Unsupported
from pipeline.optional import available
from pipeline.rules import cuml
from pipeline.rules.boosting import Boosting
from pipeline.rules.cpu import is_xgboost
from pipeline.rules.model import Model

CUML: dict[type, str] = {
    LogisticRegression: "cuml.linear_model.LogisticRegression",
    RandomForestClassifier: "cuml.ensemble.RandomForestClassifier",
}
"""scikit-learn class -> cuML class. By exact type: a subclass is another algorithm."""

XGBOOST = ("XGBClassifier",)
"""XGBoost classes that run on a GPU with ``device="cuda"``."""


def place(spec: Any, step: str) -> Model:
    """Return the estimator's twin on the GPU.

    Raises
    ------
    Unsupported
        There is none, or not for these parameters.
    """
    if is_xgboost(spec) and type(spec).__name__ in XGBOOST:
        return Boosting(spec, "cuda")
    if type(spec) in CUML:
        return cuml.Cuml(spec, CUML[type(spec)], step)
    raise Unsupported(no_twin(spec, step))


def describe(spec: Any, step: str) -> tuple[str, str]:
    """Return the name of the implementation and a note, or raise `Unsupported`."""
    if is_xgboost(spec) and type(spec).__name__ in XGBOOST:
        return f"xgboost.{type(spec).__name__}(device='cuda')", ""
    if type(spec) not in CUML:
        raise Unsupported(no_twin(spec, step))
    path = CUML[type(spec)]
    if not available("cuml"):
        return path, "cuML is not installed here: parameters not checked"
    lost = cuml.dropped(path, spec, step)
    return path, f"without effect in cuML: {', '.join(lost)}" if lost else ""


def no_twin(spec: Any, step: str) -> Reason:
    """Return the reason for an estimator that is in no table."""
    known = ", ".join(sorted([original.__name__ for original in CUML] + list(XGBOOST)))
    return Reason(
        step,
        f"{type(spec).__name__} has no rule for the GPU",
        f"use one of {known}, or device='auto' to run this step on the CPU",
    )
