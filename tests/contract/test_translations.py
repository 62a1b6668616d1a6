from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from pipeline.backends.cuml.translations import Case, TranslationOutcome
from tests.contract.learning import Nothing, Row, cases, outcomes, reasons

METRICS = ["l1", "l2", "cosine", "yule", "dice", len]
SIZES = [0, 1, 2, 3, 1023, 1024, 1025, None]


def rows(answer: Any) -> list[Row]:
    """Return what an answer is to each metric and size."""
    found = []
    for (i, metric), (j, size) in product(enumerate(METRICS), enumerate(SIZES)):
        changed = frozenset(each for each in (("metric", i), ("size", j)) if each[1])
        found.append(Row(changed, {"metric": metric, "size": size}, answer(metric, size)))
    return found


def refusal(metric: Any, size: Any) -> Any:
    if metric not in ("l1", "l2"):
        return f"`metric={metric!r}` is not supported"
    if size is not None and size > 1024:
        return f"`size={size}` is too much"
    return Nothing


def test_refusals_are_learnt_in_their_order() -> None:
    assert cases(rows(refusal), reasons, [1024]) == [
        Case("`metric={metric!r}` is not supported", "metric", "not in", ["l1", "l2"]),
        Case("`size={size!r}` is too much", "size", "above", [1024]),
        Case(None),
    ]


def test_a_number_that_the_source_does_not_name_is_no_limit() -> None:
    with pytest.raises(LookupError, match="do not tell what"):
        cases(rows(refusal), reasons, [])


def test_what_is_given_may_depend_on_two_parameters() -> None:
    found = cases(rows(lambda m, n: m if n is None else n - 1), outcomes, [1])
    assert found == [
        Case(TranslationOutcome(of="size", plus=-1), "size", "not none"),
        Case(TranslationOutcome(of="metric")),
    ]


def test_what_is_not_given_and_what_is_given_as_none_are_two_things() -> None:
    left_out = cases(rows(lambda m, n: Nothing if n is None else n), outcomes, [])
    given = cases(rows(lambda m, n: None), outcomes, [])
    assert left_out[-1] == Case(None)
    assert given == [Case(TranslationOutcome(constant=None))]
