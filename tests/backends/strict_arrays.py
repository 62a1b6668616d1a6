"""scikit-learn on arrays that refuse to come to the host; run by `test_array_api.py`.

    python -m tests.backends.strict_arrays

Prints how far each estimator is from NumPy. The arrays of array-api-strict on
its second device stand for CuPy's: turning one into a NumPy array is an error.
"""

from __future__ import annotations

import json
import pickle
from typing import Any

import array_api_strict as xp
import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from pipeline.backends import array_api
from pipeline.backends.base import METHODS
from pipeline.backends.gpu_rules import rule
from tests.estimators import CASES, Case, named

DEVICE = xp.Device("device1")
STRICT = type(xp.asarray(0))


class Frames:
    """What `pipeline.table.frames` offers to the rule, with strict arrays for CuPy's."""

    matrix = staticmethod(lambda X, order="C", dtype="auto": X)
    device_of = staticmethod(lambda X: "cuda" if isinstance(X, STRICT) else "cpu")
    xp = staticmethod(lambda X: xp)

    @staticmethod
    def to_device(value: Any, device: str) -> Any:
        if device == "cuda":
            return xp.asarray(value, device=DEVICE)
        if isinstance(value, STRICT):
            return np.asarray(xp.asarray(value, device=xp.Device("CPU_DEVICE")))
        return value


class Answers:
    """A rule's model with the manners of an estimator, answers on the host."""

    def __init__(self, model: array_api.ArrayApiModel) -> None:
        self.model = model

    def __getattr__(self, method: str) -> Any:
        if method == "score":
            return lambda X: float(Frames.to_device(self.model.call(method, up(X)), "cpu"))
        return lambda X: Frames.to_device(self.model.call(method, up(X)), "cpu")


def up(X: np.ndarray) -> Any:
    """Return an array on the device."""
    return xp.asarray(X, device=DEVICE)


def narrowed(case: Case) -> dict[str, float]:
    """Return how far the lift of what learnt float32 is from it, of NumPy's float64, by method."""
    X, y = case.data()
    X = X.astype("float64") * (1 + 2.0**-30)
    model = array_api.ArrayApiModel(case.estimator, "step")
    model.asked_for("float32")
    model.fit(X, y)
    lifted = Pipeline([model.cast(), ("last", model.to_sklearn())])
    asked = [name for name in METHODS if hasattr(case.estimator, name)]
    return {
        name: float(np.abs(model.call(name, X) - getattr(lifted, name)(X)).max()) for name in asked
    }


def main() -> None:
    """Print the differences."""
    cases = [case for case in CASES if rule(case.estimator).runner == "cupy"]
    narrow = {named(case): narrowed(case) for case in cases}
    array_api.frames = Frames  # type: ignore[assignment]
    found = {}
    for case in cases:
        X, y = case.data()
        reference = clone(case.estimator).fit(X, y)
        model = array_api.ArrayApiModel(case.estimator, "step")
        model.fit(up(X), y)
        device = case.compare(Answers(model), reference, X, y)
        lifted = model.to_sklearn()
        text = None if y is None or y.dtype.kind != "i" else np.array(["a", "b", "c"])[y]
        others = 0.0
        if text is not None:
            model.fit(up(X), text)
            wanted = clone(case.estimator).fit(X, text).predict(X)
            others = float((Answers(model).predict(X) != wanted).mean())
        found[named(case)] = {
            "device": device,
            "narrow": narrow[named(case)],
            "others": others,
            "free": b"array_api_strict" not in pickle.dumps(lifted),
            "lifted": case.compare(lifted, reference, X, y),
            "labels": None if text is None else [str(each) for each in model.to_sklearn().classes_],
        }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
