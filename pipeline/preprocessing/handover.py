"""A fitted `ColumnTransformer`, made by scikit-learn from fitted parts."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator


def freeze_fit_thaw(
    spec: ColumnTransformer, fitted: dict[str, Any], head: Any
) -> ColumnTransformer:
    """Return `spec` fitted on one row, with the given transformers in place of its own."""

    def frozen(name: str, how: Any) -> Any:
        return FrozenEstimator(fitted[name]) if hasattr(fitted.get(name), "fit") else how

    whole = clone(spec).set_params(
        transformers=[
            (name, frozen(name, how), columns) for name, how, columns in spec.transformers
        ],
        remainder=frozen("remainder", spec.remainder),
    )
    whole.fit(head)
    # scikit-learn names the remainder and keeps what was given, for display.
    whole._remainder = (whole._remainder[0], spec.remainder, *whole._remainder[2:])
    whole.transformers_ = [
        (name, getattr(how, "estimator", how) if isinstance(how, FrozenEstimator) else how, columns)
        for name, how, columns in whole.transformers_
    ]
    return whole.set_params(transformers=spec.transformers, remainder=spec.remainder)
