"""On the CPU an estimator is its own implementation."""

from __future__ import annotations

from typing import Any

from pipeline.rules.boosting import Boosting
from pipeline.rules.model import Model, Plain


def place(spec: Any, step: str, dtype: str = "float32") -> Model:
    """Return the estimator, placed on the CPU; its types are its own."""
    return Boosting(spec, "cpu") if is_xgboost(spec) else Plain(spec)


def describe(spec: Any, step: str) -> tuple[str, str]:
    """Return the name of the implementation and a note."""
    asked = getattr(spec, "device", None) if is_xgboost(spec) else None
    note = f"device={asked!r} of the spec is replaced" if asked not in (None, "cpu") else ""
    return f"{type(spec).__module__.partition('.')[0]}.{type(spec).__name__}", note


def is_xgboost(spec: Any) -> bool:
    """Return whether an estimator is one of XGBoost's own classes.

    >>> is_xgboost(object())
    False
    """
    return type(spec).__module__.partition(".")[0] == "xgboost"
