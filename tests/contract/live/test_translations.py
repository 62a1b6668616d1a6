"""The frozen translation against the installed cuML: value by value, and values together."""

from __future__ import annotations

from itertools import islice
from typing import Any

import pytest
from sklearn.base import BaseEstimator

from pipeline.backends.cuml import cuml_model as cuml_estimator
from pipeline.backends.cuml import translations
from pipeline.compile.compile import compile_step
from pipeline.compile.spec import RowSpec
from pipeline.optional import load
from tests.contract import probes
from tests.contract.estimators import LOST, REFUSED

pytestmark = pytest.mark.filterwarnings("ignore")

NAMES = probes.translated()


def test_it_is_that_of_the_installed_packages() -> None:
    for name, version in translations.load_frozen().versions.items():
        assert load(name).__version__ == version, "renew pipeline/backends/cuml/translations.json"


def in_order(given: dict[str, Any] | None, why: str | None) -> str:
    """Return an answer as text, whatever the order of its parameters."""
    return repr((sorted((given or {}).items()), why))


@pytest.mark.parametrize("name", NAMES)
def test_values_are_translated_as_by_cuml(name: str) -> None:
    differing = []
    for each in probes.answers(name):
        ours: Any
        try:
            ours = translations.translate_frozen(name, each.params), None
        except ValueError as error:
            ours = None, str(error)
        if in_order(*ours) != in_order(each.given, each.why):
            differing.append((each.params, ours, each.given, each.why))
    assert differing == []


def placed(estimator: BaseEstimator) -> str:
    """Return the placement on a GPU; where there is none, the reasons."""
    op = compile_step(estimator, "model", RowSpec("cuda"))
    return repr(op.reasons or op.placements[0])


def test_placements_are_the_same_with_cuml_and_without(monkeypatch: pytest.MonkeyPatch) -> None:
    every = [estimator for estimator, _ in [*REFUSED, *LOST]]
    here = [name for name in NAMES if name not in probes.USUAL]
    every += [
        probes.make(n, **each.params) for n in here for each in islice(probes.answers(n), 200)
    ]
    with_cuml = [placed(estimator) for estimator in every]
    monkeypatch.setattr(cuml_estimator, "available", lambda package: False)
    assert [placed(estimator) for estimator in every] == with_cuml
