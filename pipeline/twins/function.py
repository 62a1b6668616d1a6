"""FunctionTransformer, for functions that NumPy and CuPy have under the same name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.preprocessing import FunctionTransformer

from pipeline.blocks.block import Categories, Numbers
from pipeline.errors import Reason
from pipeline.table import frames
from pipeline.table.output import container
from pipeline.twins.scalers import require_finite
from pipeline.twins.twin import ANY, MANY, Twin
from pipeline.typing import Estimator

UFUNCS = frozenset(
    [
        *("absolute", "fabs", "negative", "positive", "sign", "signbit", "reciprocal"),
        *("ceil", "floor", "rint", "trunc", "cbrt", "sqrt", "square"),
        *("exp", "exp2", "expm1", "log", "log10", "log1p", "log2"),
        *("arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh"),
        *("cos", "cosh", "sin", "sinh", "tan", "tanh"),
        *("deg2rad", "degrees", "rad2deg", "radians"),
        *("isfinite", "isinf", "isnan", "logical_not"),
    ]
)
"""Elementwise functions of one array that both NumPy and CuPy have."""

SUGGESTION = "use None or a NumPy ufunc of one array, such as np.log1p, or scikit-learn's own step"


class FunctionTransformerTwin(Twin[np.ndarray]):
    """Apply a NumPy ufunc of one array, or nothing, to every value.

    Other functions may do anything, so nothing says that they run on a device.

    The columns of a block are of one type, the one they have together, as in
    an array; scikit-learn applies the function to each column of a frame in the
    column's own type.
    """

    sklearn_class = FunctionTransformer
    takes_sparse = True
    supported_params = {
        "func": (None, "a NumPy ufunc of one array"),
        "inverse_func": ANY,
        "validate": ANY,
        "accept_sparse": ANY,
        "check_inverse": ANY,
        "feature_names_out": (None, "one-to-one"),
        "inv_kw_args": (None,),
    }
    slower = {"F": MANY, "C": MANY}
    selects = True
    takes_infinite = True

    @classmethod
    def unsupported_reasons(cls, estimator: BaseEstimator, step: str) -> list[Reason]:
        """Return the reasons why this estimator is not supported; none when it is."""
        reasons = super().unsupported_reasons(estimator, step)
        reasons = [each for each in reasons if each.parameter not in ("func", "inverse_func")]
        if estimator.feature_names_out is None and container(estimator) != "default":
            why = "set_output asks for a frame, but only its function can name the columns"
            reasons.append(Reason(step, why, "use 'one-to-one'", "feature_names_out"))
        asked = ("func", "inverse_func") if _needs_inverse(estimator) else ("func",)
        for name in asked:
            function = getattr(estimator, name)
            if function is not None and not is_ufunc(function):
                shown = getattr(function, "__name__", repr(function))
                why = f"{shown} is not known to run on the device"
                reasons.append(Reason(step, why, SUGGESTION, name))
        return reasons

    def form(self, numeric: Callable[[], bool]) -> type:
        """Return `Categories` where the columns, text among them, are left as they are."""
        return Categories if self.keeps_columns() and not numeric() else Numbers

    def keeps_names(self) -> bool:
        """Return whether a frame comes out as a frame: checking makes an array of it."""
        return not self.estimator.validate

    def keeps_columns(self) -> bool:
        """Return whether there is no function, and nothing is checked."""
        return self.estimator.func is None and not self.estimator.validate

    def statistics(self, block: Numbers | Categories, *aligned: Any) -> np.ndarray:
        """Check the block as `validate` asks for; return rows for `check_inverse` to look at."""
        if self.estimator.validate and isinstance(block, Numbers):
            require_finite(self, block.values)
        if isinstance(block, Categories) or not _needs_inverse(self.estimator):
            return np.zeros((1, block.width))
        some: np.ndarray = frames.to_host(block.values[:: max(1, len(block.values) // 100)])
        return some

    def merge(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return the rows of both."""
        return np.concatenate([a, b])

    def finalize(self, stats: np.ndarray) -> None:
        """Note the columns; scikit-learn warns where the inverse is none."""
        self.fitted = clone(self.estimator).fit(stats)

    def apply(self, block: Numbers | Categories) -> Numbers | Categories:
        """Return the function of every value, once `validate` has looked at them."""
        if self.estimator.validate and isinstance(block, Numbers):
            require_finite(self, block.values)
        return self.apply_training(block)

    def apply_training(self, block: Numbers | Categories, *aligned: Any) -> Numbers | Categories:
        """Return the function of every value, in the type it has in NumPy."""
        if isinstance(block, Categories) or self.estimator.func is None:
            return block
        xp = frames.xp(block.values)
        values = getattr(xp, self.estimator.func.__name__)(block.values)
        # Functions of bytes come in half precision, which cuDF lacks.
        half = values.dtype == "float16" and xp is not np
        return Numbers(values.astype("float32") if half else values)


def is_ufunc(function: Any) -> bool:
    """Return whether a function is one of NumPy's in `UFUNCS`.

    >>> is_ufunc(np.log1p), is_ufunc(np.abs), is_ufunc(np.sort), is_ufunc(abs)
    (True, True, False, False)
    """
    known = isinstance(function, np.ufunc) and function.__name__ in UFUNCS
    return known and getattr(np, function.__name__) is function


def _needs_inverse(estimator: Estimator) -> bool:
    both = estimator.func is not None and estimator.inverse_func is not None
    return bool(estimator.check_inverse and both)
