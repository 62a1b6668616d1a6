"""What is read of an estimator at a time is compared with what it holds later."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pipeline.table.borrowed import Held


class Holder(BaseEstimator):
    def __init__(self, part: Any = None) -> None:
        self.part = part


class Stored(BaseEstimator):
    """Keeps a parameter under its own name, and returns another form of it."""

    def __init__(self, a: float = 1) -> None:
        self.__dict__["a"] = str(a)

    @property
    def a(self) -> float:
        return float(self.__dict__["a"])


class Slotted:
    """Has parameters and no `__dict__`."""

    __slots__ = ("a",)

    def __init__(self, a: int = 1) -> None:
        self.a = a

    def get_params(self, deep: bool = False) -> dict[str, Any]:
        return {"a": self.a}


def test_lists_inside_fitted_attributes_are_compared() -> None:
    holder: Any = Holder()
    holder.a_ = [([1], 2)]
    held = Held(holder, fitted=True)
    assert not held.changed
    holder.a_[0][0].append(3)
    assert held.changed == "a_ of Holder"
    holder.b_ = 1
    holder.a_ = [([1], 2)]
    assert held.changed == "b_ of Holder"


def test_properties_and_slots_are_no_change() -> None:
    for part in (Stored(2), Slotted()):
        assert not Held(Holder(part)).changed
    slotted = Slotted()
    held = Held(Holder(slotted))
    slotted.a = 2
    assert held.changed == "a of Slotted"


def test_steps_that_are_replaced_are_a_change() -> None:
    whole = make_pipeline(StandardScaler(), StandardScaler())
    held = Held(whole)
    assert not held.changed
    whole.steps[1] = ("standardscaler-2", StandardScaler())
    assert held.changed == "steps of Pipeline"
