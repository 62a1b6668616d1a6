"""The importance of columns is measured beside scikit-learn's function, and held to its numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tools.bench_records import cell, results
from tools.bench import claim, importance, report
from tools.bench.claim import Ask


@pytest.mark.slow
def test_importance_is_measured(small_home: Path) -> None:
    settings = {"rows": (150,), "trained": (300,), "permutations": (1,)}
    asked = Ask(settings, 2, data=small_home, cases=["boosting"])
    found = claim.measure("importance", importance.CLAIM, asked)
    assert [each.variant for each in found.cells] == [v.name for v in importance.CLAIM.variants]
    assert all(len(each.values) == 30 for each in found.cells)
    text = importance.CLAIM.part(found)
    assert "AUC of 150 flights" in text
    assert "| boosting | losses of AUC | method/function | the same | 0.0e+00 | yes |" in text


@pytest.mark.parametrize(
    ("function", "plain", "met"),
    [(0.25, 0.25, ["yes", "yes"]), (0.2500001, 0.25, ["**no**", "yes"]),
     (0.25, 0.2503, ["yes", "**no**"])],
)  # fmt: skip
def test_numbers_are_held_to_those_of_sklearn(
    function: float, plain: float, met: list[str]
) -> None:
    losses = {importance.METHOD: 0.25, importance.FUNCTION: function, importance.PLAIN: plain}
    made = results(*(
        cell(name, {"importance": [1.0] * 3}, **{"column 00 repeat 0": loss, "other": 0.0})
        for name, loss in losses.items()
    ))  # fmt: skip
    lines = report.verdicts(made, importance.CLAIM.targets[1:]).splitlines()[2:]
    assert [line.split(" | ")[-1].removesuffix(" |") for line in lines] == met
