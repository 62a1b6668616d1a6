"""On the CPU an estimator is its own implementation."""

from __future__ import annotations

from typing import Any

from pipeline.backends.base import Model, Placement, Plain
from pipeline.backends.xgboost.estimator import Boosting


def place(spec: Any, step: str, dtype: str = "float32") -> Model:
    """Return the estimator, placed on the CPU; its types are its own."""
    return Boosting(spec, "cpu") if is_xgboost(spec) else Plain(spec)


def describe(spec: Any, step: str) -> Placement:
    """Return what runs an estimator."""
    asked = getattr(spec, "device", None) if is_xgboost(spec) else None
    note = f"device={asked!r} of the spec is replaced" if asked not in (None, "cpu") else ""
    package = type(spec).__module__.partition(".")[0]
    return Placement(step, f"{package}.{type(spec).__name__}", "cpu", note)


def is_xgboost(spec: Any) -> bool:
    """Return whether an estimator is one of XGBoost's own classes.

    >>> is_xgboost(object())
    False
    """
    return type(spec).__module__.partition(".")[0] == "xgboost"
