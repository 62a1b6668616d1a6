from __future__ import annotations

import json
import math

import numpy as np

from pipeline.backends.base import Placement, list_changes
from pipeline.errors import Reason


def test_remarks_are_parameters_and_note() -> None:
    assert Placement("s", "a", "cpu").remarks == ""
    assert Placement("s", "a", "cpu", "why").remarks == "why"
    both = Placement("s", "a", "cuda", "why", {"tol": 0.1, "init": "random"})
    assert both.remarks == "takes tol=0.1, init='random'; why"


def test_data_is_json_whatever_the_parameters_are() -> None:
    parameters = {"a": 1, "b": None, "c": math.nan, "d": np.ones(2), "e": math.inf, "f": "x"}
    place = Placement("s", "a", "cuda", "", parameters, ("g=2",), (Reason("s", "why", "out", "p"),))
    found = json.loads(json.dumps(place.to_dict(), allow_nan=False))
    assert found["parameters"] == {
        "a": 1,
        "b": None,
        "c": "nan",
        "d": "array([1., 1.])",
        "e": "inf",
        "f": "x",
    }
    assert found["dropped"] == ["g=2"]
    assert found["reasons"] == [{"step": "s", "why": "why", "instead": "out", "parameter": "p"}]


def test_equal_values_of_other_types_are_told() -> None:
    assert list_changes({"a": 1, "b": np.zeros(2)}, {"a": 1.0, "b": np.zeros(2)}) == {"a": 1.0}
