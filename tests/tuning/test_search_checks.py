"""scikit-learn's own checks of an estimator, over `Search`."""

from __future__ import annotations

import pytest
from optuna.distributions import FloatDistribution
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.utils.estimator_checks import check_estimator

from pipeline import Accelerated, Search

pytestmark = pytest.mark.filterwarnings("ignore")

DECADE = FloatDistribution(0.1, 10)
SETTINGS = {"trials": 2, "cv": 2}
SEARCHES = {
    "logistic": Search(LogisticRegression(), {"C": DECADE}, **SETTINGS),
    "ridge": Search(Ridge(), {"alpha": DECADE}, **SETTINGS),
    "accelerated": Search(
        Accelerated(LogisticRegression(), device="cpu", dtype="float64"),
        {"estimator__C": DECADE},
        **SETTINGS,
    ),
}
_ONE_COLUMN = {"check_supervised_y_2d": "GridSearchCV's too: Ridge takes several targets"}
_CELL = {"check_dtype_object": "no trial is complete, and the error says so in its own words"}
EXPECTED = {"logistic": _CELL, "ridge": _CELL | _ONE_COLUMN, "accelerated": _CELL}


@pytest.mark.parametrize(
    "name", ["logistic", *(pytest.param(each, marks=pytest.mark.slow) for each in SEARCHES)]
)
def test_scikit_learn_is_content(name: str) -> None:
    results = check_estimator(
        SEARCHES[name], expected_failed_checks=EXPECTED[name], on_skip=None, on_fail=None
    )
    outcomes = {True: ("xfail", "skipped"), False: ("passed", "skipped")}
    wrong = [r for r in results if r["status"] not in outcomes[r["expected_to_fail"]]]
    assert [(r["check_name"], r["status"], r["exception"]) for r in wrong] == []
