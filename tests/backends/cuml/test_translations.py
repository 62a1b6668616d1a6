from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pipeline.backends.cuml import translations
from pipeline.backends.cuml.tables import CUML
from pipeline.backends.cuml.translations import Case, TranslationOutcome, first, holds

RIDGE = {
    "alpha": 0.5,
    "fit_intercept": True,
    "solver": "svd",
    "tol": 1e-4,
    "max_iter": None,
    "copy_X": True,
    "positive": False,
    "random_state": 0,
}


def translate(**params: Any) -> dict[str, Any]:
    return translations.translate_frozen("sklearn.linear_model.Ridge", RIDGE | params)


def test_an_estimator_is_given_what_cuml_takes() -> None:
    taken = ("alpha", "fit_intercept", "solver", "tol", "max_iter", "copy_X")
    assert translate() == {name: RIDGE[name] for name in taken}


def test_the_first_refusal_is_in_cumls_words_with_the_value() -> None:
    with pytest.raises(ValueError, match=r"^`solver='lbfgs'` is not supported$"):
        translate(solver="lbfgs")
    with pytest.raises(ValueError, match=r"^`positive=True` is not supported$"):
        translate(solver="lbfgs", positive=True)


def test_every_estimator_that_cuml_translates_itself_is_frozen() -> None:
    assert set(translations.load_frozen().estimators) == {
        n for n, row in CUML.items() if not row.translation
    }


@pytest.mark.parametrize(
    ("test", "against", "yes", "no"),
    [
        ("none", [], None, 0),
        ("not none", [], [], None),
        ("true", [], {"a": 1}, {}),
        ("callable", [], len, "rbf"),
        ("text", [], "rbf", len),
        ("integer", [], 3, 3.0),
        ("in", [0], 0.0, None),
        ("in", [True], True, 1),
        ("not in", [False], [1.0], False),
        ("other text", ["random"], "pca", 0),
        ("below", [2], 1, None),
        ("above", [1024], 1025, 1024),
    ],
)
def test_tests_tell_values_apart(test: str, against: list[Any], yes: Any, no: Any) -> None:
    assert holds(test, against, yes)
    assert not holds(test, against, no)


def test_outcomes_are_constants_values_and_simple_calculations() -> None:
    params = {"tol": 0.01, "min_samples": 5, "knn": (1, 2, 3)}
    assert TranslationOutcome(constant="qn")(params) == "qn"
    assert TranslationOutcome(of="tol", times=10)(params) == 0.1
    assert TranslationOutcome(of="min_samples", plus=-1)(params) == 4
    assert TranslationOutcome(of="knn", first=2)(params) == (1, 2)
    cases = [Case("few", "n", "below", [3]), Case("many", "n", "above", [9]), Case(None)]
    assert [first(cases, {"n": n}) for n in (1, 20, 5)] == ["few", "many", None]


@pytest.mark.parametrize("value", [None, np.array([None, None]), np.zeros(1), "l2"], ids=repr)
def test_a_value_is_one_of_several_and_an_array_is_none(value: Any) -> None:
    assert translations.one_of(None, "l2")(value) is (value is None or isinstance(value, str))
