"""The frozen translation against the installed cuML: value by value, and two values together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from sklearn.base import BaseEstimator

from pipeline.backends.base import Placement
from pipeline.backends.cuml import estimator as cuml_estimator
from pipeline.backends.cuml import translations
from pipeline.backends.cuml.tables import CUML, public_name
from pipeline.backends.cuml.translations import Case
from pipeline.planning.classify import classify_step
from tests.contract import learning, probes
from tests.contract.estimators import HONOURED, LOST, REFUSED

pytestmark = pytest.mark.filterwarnings("ignore")

NAMES = probes.translated()
HERE = [name for name in NAMES if name not in probes.USUAL]
"""Whose packages are installed."""
OURS = [name for name, row in CUML.items() if row.translation]
"""What we translate ourselves."""
OF_TESTS = [*HONOURED, *(estimator for estimator, _ in [*REFUSED, *LOST])]


def in_order(given: dict[str, Any] | None, why: str | None) -> str:
    """Return an answer as text, whatever the order of its parameters."""
    return repr((sorted((given or {}).items()), why))


def differing(name: str, answers: Iterator[probes.Answer]) -> tuple[int, list[Any]]:
    """Return how many answers were compared, and those that the frozen translation has not."""
    compared, found = 0, []
    for each in answers:
        compared += 1
        ours: Any
        try:
            ours = translations.translate_frozen(name, each.params), None
        except ValueError as error:
            ours = None, str(error)
        if in_order(*ours) != in_order(each.given, each.why):
            found.append((each.params, ours, each.given, each.why))
    return compared, found


@pytest.mark.parametrize("name", NAMES)
def test_each_value_alone_is_translated_as_by_cuml(name: str) -> None:
    compared, found = differing(name, probes.singles(name))
    assert found == []
    assert compared > len(probes.defaults(name))


@pytest.mark.parametrize("name", NAMES)
def test_two_values_together_are_translated_as_by_cuml(name: str) -> None:
    compared, found = differing(name, probes.pairs(name))
    assert found == []
    assert compared >= len(list(probes.singles(name))) / 5


def placed(estimator: BaseEstimator) -> Placement | str:
    """Return the placement on a GPU; where there is none, the reasons."""
    node = classify_step(estimator, "model", "cuda")
    return repr(node.reasons) if node.reasons else node.placements[0]


def specs_of_all() -> list[BaseEstimator]:
    """Return an estimator of each value that is tried alone, and those of the tests."""
    tried = [(name, each.params) for name in HERE for each in probes.singles(name)]
    tried += [
        (name, {param: value})
        for name in OURS
        for param in probes.defaults(name)
        for value in probes.values(name, param)
    ]
    return [*(probes.make(name, **params) for name, params in tried), *OF_TESTS]


def test_placements_are_the_same_with_cuml_and_without(monkeypatch: pytest.MonkeyPatch) -> None:
    every = specs_of_all()
    with_cuml = [placed(estimator) for estimator in every]
    monkeypatch.setattr(cuml_estimator, "available", lambda package: False)
    without = [placed(estimator) for estimator in every]
    unlike = [
        (estimator, ours, theirs)
        for estimator, ours, theirs in zip(every, without, with_cuml, strict=True)
        if repr(ours) != repr(theirs)
    ]
    assert unlike == []
    assert len(every) > 4000
    assert sum(isinstance(each, str) for each in with_cuml) > 400


def test_the_frozen_translation_is_what_is_learnt_from_the_packages() -> None:
    learnt = learning.render(learning.take())
    assert translations.PATH.read_text("utf-8") == learnt, "run `make contract-snapshot`"


@pytest.mark.parametrize("at", [0, 1])
def test_a_refusal_that_is_forgotten_shows(at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "sklearn.linear_model.Ridge"
    record = translations.load_frozen()
    found = record.estimators[name]
    refused = [case for number, case in enumerate(found.refused) if number != at]
    changed = {name: msgspec.structs.replace(found, refused=refused)}
    damaged = msgspec.structs.replace(record, estimators={**record.estimators, **changed})
    monkeypatch.setattr(translations, "load_frozen", lambda: damaged)
    assert differing(name, probes.singles(name))[1]


def test_cumls_own_answer_counts_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    (estimator, _), *_ = ((estimator, why) for estimator, why in REFUSED if "positive" in why)
    refuses_nothing = msgspec.structs.replace(
        translations.load_frozen().estimators[public_name(estimator)], refused=[Case(None)]
    )
    monkeypatch.setitem(
        translations.load_frozen().estimators, public_name(estimator), refuses_nothing
    )
    assert "positive=True" in str(placed(estimator))
    monkeypatch.setattr(cuml_estimator, "available", lambda package: False)
    assert isinstance(placed(estimator), Placement)
