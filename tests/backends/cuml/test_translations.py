from __future__ import annotations

from typing import Any

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


def test_a_spec_is_given_what_cuml_takes() -> None:
    found = translations.translate_frozen("sklearn.linear_model.Ridge", RIDGE)
    taken = ("alpha", "fit_intercept", "solver", "tol", "max_iter", "copy_X")
    assert found == {name: RIDGE[name] for name in taken}


def test_a_refusal_is_in_cumls_words_with_the_value() -> None:
    with pytest.raises(ValueError, match=r"^`solver='lbfgs'` is not supported$"):
        translations.translate_frozen("sklearn.linear_model.Ridge", {**RIDGE, "solver": "lbfgs"})


def test_the_first_refusal_counts() -> None:
    both = {**RIDGE, "solver": "lbfgs", "positive": True}
    with pytest.raises(ValueError, match=r"^`positive=True` is not supported$"):
        translations.translate_frozen("sklearn.linear_model.Ridge", both)


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


def test_the_last_case_is_of_all_that_are_left() -> None:
    cases = [Case("few", "n", "below", [3]), Case("many", "n", "above", [9]), Case(None)]
    assert [first(cases, {"n": n}) for n in (1, 20, 5)] == ["few", "many", None]
