"""On a GPU: cuML's estimators by table, XGBoost by its own parameter.

To add an estimator that cuML translates itself, add a row to `CUML`.
"""

from __future__ import annotations

from typing import Any

from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from pipeline.errors import Reason, Unsupported
from pipeline.optional import available
from pipeline.rules import cuml, text
from pipeline.rules.boosting import Boosting
from pipeline.rules.cpu import is_xgboost
from pipeline.rules.model import Model

CUML: dict[type, str] = {
    LogisticRegression: "cuml.linear_model.LogisticRegression",
    RandomForestClassifier: "cuml.ensemble.RandomForestClassifier",
}
"""scikit-learn class -> cuML class. By exact type: a subclass is another algorithm."""

TAKES_SPARSE = frozenset({LogisticRegression})
"""Those of `CUML` that take sparse rows."""

XGBOOST = ("XGBClassifier",)
"""XGBoost classes that run on a GPU with ``device="cuda"``."""


def place(spec: Any, step: str, dtype: str = "float32") -> Model:
    """Return the estimator's twin on the GPU.

    Parameters
    ----------
    spec : estimator
    step : str
        Path of the step, for messages.
    dtype : {"float32", "float64"}
        Type of the matrix that a text vectorizer hands on, where its own cannot be had.

    Raises
    ------
    Unsupported
        There is none, or not for these parameters.
    """
    if is_xgboost(spec) and type(spec).__name__ in XGBOOST:
        return Boosting(spec, "cuda")
    if text.handles(spec):
        return text.Vectorizer(spec, step, dtype)
    if type(spec) in CUML:
        return cuml.Cuml(spec, CUML[type(spec)], step)
    raise Unsupported(no_twin(spec, step))


def describe(spec: Any, step: str) -> tuple[str, str]:
    """Return the name of the implementation and a note, or raise `Unsupported`."""
    if is_xgboost(spec) and type(spec).__name__ in XGBOOST:
        return f"xgboost.{type(spec).__name__}(device='cuda')", ""
    if text.handles(spec):
        return text.describe(spec, step)
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


def needs_dense(spec: Any, step: str) -> Reason | None:
    """Return the reason against an estimator after a text vectorizer, if there is one."""
    if type(spec) in TAKES_SPARSE or text.handles(spec):
        return None
    known = ", ".join(sorted(original.__name__ for original in TAKES_SPARSE))
    return Reason(
        step,
        f"{type(spec).__name__} takes no sparse rows on the GPU, which text makes",
        f"use {known}, or device='auto' to run this step on the CPU",
    )
