"""Guards are read where arguments decide, and left out where they do not."""

from __future__ import annotations

from typing import Any

from tests.contract.guards import Guard, guards, holds


def plain(x: Any, how: str = "left", inplace: bool = False) -> Any:
    if inplace:
        raise NotImplementedError("inplace")
    if how not in {"left", "right"}:
        raise ValueError(f"how={how}")
    return x


def chained(x: Any, axis: int = 0) -> Any:
    if axis == 0:
        return x
    if axis < 0:
        x = -x
    elif axis == 1:
        raise NotImplementedError("rows only")
    return x


def undecided(x: Any, axis: int = 0) -> Any:
    if x._columns:
        return x
    if convert(x):
        return x
    if axis:
        raise ValueError("reached only by some")
    return x


def reassigned(x: Any, axis: Any = 0) -> Any:
    axis = convert(axis)
    if axis != 0:
        raise ValueError("not what the caller passed")
    return x


def always(x: Any) -> Any:
    raise TypeError("never")


def convert(x: Any) -> Any:
    return x


def raised(function: Any, **arguments: Any) -> list[str]:
    return [guard.raises for guard in guards(function) if holds(guard, arguments)]


def test_guards_are_read_in_order() -> None:
    assert guards(plain) == [
        Guard("(inplace)", "NotImplementedError", "inplace"),
        Guard("(how not in {'left', 'right'})", "ValueError", ""),
    ]


def test_guards_hold_for_the_arguments_they_refuse() -> None:
    assert raised(plain, x=1, how="left", inplace=False) == []
    assert raised(plain, x=1, how="left", inplace=True) == ["NotImplementedError"]
    assert raised(plain, x=1, how="outer", inplace=False) == ["ValueError"]


def test_what_returns_before_is_taken_into_account() -> None:
    assert raised(chained, x=1, axis=0) == []
    assert raised(chained, x=1, axis=1) == ["NotImplementedError"]
    assert raised(chained, x=1, axis=2) == []


def test_guard_behind_an_undecidable_return_is_left_out() -> None:
    assert guards(undecided) == []


def test_guard_on_a_name_that_was_set_anew_is_left_out() -> None:
    assert guards(reassigned) == []


def test_function_that_always_raises() -> None:
    assert raised(always, x=1) == ["TypeError"]


def test_function_without_source_has_no_guards() -> None:
    assert guards(len) == []


def test_condition_that_cannot_be_evaluated_does_not_hold() -> None:
    assert not holds(Guard("(x.shape > 1)", "ValueError", ""), {"x": object()})
