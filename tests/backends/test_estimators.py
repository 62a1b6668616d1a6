"""Every estimator that has a rule, on the CPU, against scikit-learn and XGBoost."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.base import clone

from pipeline import Accelerated
from pipeline.backends.gpu_rules import APART, RULES, public_name
from tests.estimators import CASES, Case, named


def test_every_rule_has_a_case() -> None:
    rules = {name for name, rule in RULES.items() if rule.runner != "text"}
    # What is no dependency has its case in the tests that need a GPU.
    assert {public_name(case.estimator) for case in CASES} == rules - set(APART)


@pytest.mark.quick(8)
@pytest.mark.parametrize("case", CASES, ids=named)
def test_equals_the_reference_and_so_does_the_lifted_model(case: Case) -> None:
    X, y = case.data()
    reference = clone(case.estimator).fit(X, y, **case.params)
    ours = Accelerated(clone(case.estimator), device="cpu").fit(X, y, **case.params)
    assert case.compare(ours, reference, X, y) == 0
    lifted: Any = ours.to_sklearn()
    assert type(lifted) is type(case.estimator)
    assert case.compare(lifted, reference, X, y) == 0
