from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from pipeline.backends.base import Placement
from pipeline.planning.plan import Plan, Step

X = pd.DataFrame({"a": [0.0, 1.0, 2.0]})
SPEC = Pipeline([("s", StandardScaler()), ("off", "passthrough"), ("m", LogisticRegression())])


class Adder:
    """A worker that writes down what it is asked for."""

    def __init__(self, log: list[Any], amount: float) -> None:
        self.log, self.amount = log, amount

    def fit(self, X: Any, y: Any, **params: Any) -> None:
        self.log.append(("fit", self.amount, X["a"].tolist(), y, params))

    def fit_transform(self, X: Any, y: Any) -> Any:
        self.log.append(("fit_transform", self.amount, X["a"].tolist(), y))
        return X + self.amount

    def call(self, method: str, X: Any) -> Any:
        self.log.append((method, self.amount, X["a"].tolist()))
        return X + self.amount

    def to_sklearn(self) -> str:
        return f"fitted {self.amount}"


@pytest.fixture
def log() -> list[Any]:
    return []


@pytest.fixture
def plan(log: list[Any]) -> Plan:
    steps = [Step(name, Adder(log, i + 1), "cpu") for i, name in enumerate(["s", "m"])]
    steps[0].placements = [
        Placement("s.inner", "NumPy", "cpu"),
        Placement("s.more", "NumPy", "cpu"),
    ]
    steps[1].placements = [Placement("m", "sklearn", "cpu", "a note")]
    return Plan(SPEC, steps)


def test_fit_goes_through_the_steps_and_parameters_to_the_last(plan: Plan, log: list[Any]) -> None:
    plan.fit(X, "y", sample_weight="w")
    assert log == [
        ("fit_transform", 1, [0.0, 1.0, 2.0], "y"),
        ("fit", 2, [1.0, 2.0, 3.0], "y", {"sample_weight": "w"}),
    ]
    assert plan.call("predict_proba", X)["a"].tolist() == [3.0, 4.0, 5.0]
    assert [entry[:2] for entry in log[2:]] == [("transform", 1), ("predict_proba", 2)]
    assert [p.step for p in plan.placements] == ["s.inner", "s.more", "m"]


def test_hand_over_keeps_the_order_and_steps_left_out(plan: Plan) -> None:
    plain = plan.to_sklearn()
    assert type(plain) is Pipeline
    assert plain.steps == [("s", "fitted 1"), ("off", "passthrough"), ("m", "fitted 2")]
