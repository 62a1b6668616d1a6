from __future__ import annotations

from typing import Any

import pytest

from pipeline.backends.cuml import translations
from pipeline.backends.cuml.translations import holds
from pipeline.backends.gpu_rules import CUML

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
