"""An estimator as the expression that creates it."""

from __future__ import annotations

from inspect import signature
from pprint import pformat
from typing import Any

from sklearn.base import BaseEstimator

from pipeline.backends.xgboost.xgboost_model import heard
from pipeline.typing import Array

_WIDTH = 96


def code(value: Array, indent: int = 0) -> str:
    """Return an estimator as an expression, with each parameter that is not the default.

    Its repr would not do: scikit-learn leaves out what is after 700 characters.

    >>> from sklearn.linear_model import LogisticRegression
    >>> code(LogisticRegression(C=0.5, max_iter=100))
    'LogisticRegression(C=0.5)'
    """
    if isinstance(value, BaseEstimator):
        changed = _changed(value).items()
        parts = [f"{name}={code(part, indent + 4)}" for name, part in changed]
        return _enclosed(f"{type(value).__name__}(", parts, ")", indent)
    if isinstance(value, list | tuple) and any(isinstance(v, BaseEstimator | tuple) for v in value):
        opening, closing = "[]" if isinstance(value, list) else "()"
        return _enclosed(opening, [code(part, indent + 4) for part in value], closing, indent)
    return pformat(value, width=_WIDTH - indent, compact=True).replace("\n", "\n" + " " * indent)


def _changed(estimator: BaseEstimator) -> dict[str, Any]:
    known = signature(type(estimator)).parameters
    defaults = {name: parameter.default for name, parameter in known.items()}
    if "kwargs" in known:
        # XGBoost's classes do not name the parameters that they inherit.
        with heard():
            defaults |= type(estimator)().get_params(deep=False)
    found = estimator.get_params(deep=False).items()
    return {name: v for name, v in found if repr(v) != repr(defaults.get(name))}


def _enclosed(opening: str, parts: list[str], closing: str, indent: int) -> str:
    line = opening + ", ".join(parts) + closing
    if "\n" not in line and len(line) + indent <= _WIDTH:
        return line
    inner = "".join(f"{' ' * (indent + 4)}{part},\n" for part in parts)
    return f"{opening}\n{inner}{' ' * indent}{closing}"
