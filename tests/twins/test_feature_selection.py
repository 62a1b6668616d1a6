"""What is special to the selection of columns; what transformers share is in `test_parity`."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.feature_selection import (
    SelectFdr,
    SelectFpr,
    SelectFwe,
    SelectKBest,
    SelectPercentile,
    VarianceThreshold,
    chi2,
    f_classif,
    f_regression,
    mutual_info_classif,
    r_regression,
)

from pipeline.compile.program import Program
from pipeline.twins import feature_selection
from tests.names import one_in, plain
from tests.twins.cases import ROWS, numbers
from tests.twins.parity import assert_both_refuse, assert_parity, cut, quiet

_rng = np.random.default_rng(7)
REAL = _rng.normal(size=ROWS)
LABELS = _rng.integers(3, 7, ROWS)
TARGETS: dict[str, tuple[Any, Any]] = {
    "two labels": (f_classif, _rng.choice(["no", "yes"], ROWS, p=[0.8, 0.2])),
    "booleans": (f_classif, _rng.random(ROWS) < 0.3),
    "three labels": (f_classif, _rng.choice(["x", "y", "z"], ROWS)),
    "one rare label": (f_classif, np.r_[["rare"], ["usual"] * (ROWS - 1)]),
    "a list": (f_classif, list("ab") * 75),
    "a category": (f_classif, pd.Series(list("ab") * 75, dtype="category")),
    "a series": (f_classif, pd.Series(LABELS)),
    "real": (f_regression, REAL),
    "far from zero": (f_regression, REAL * 3 + 1e6),
    "integers": (f_regression, _rng.integers(-5, 9, ROWS)),
    "truth as numbers": (f_regression, _rng.random(ROWS) < 0.3),
    "constant": (f_regression, np.full(ROWS, 0.5)),
}
CONSTANTS = [0.1, 1e9 / 3, 1e16 / 7]


def kept(estimator: Any, X: pd.DataFrame, y: Any = None) -> list[str]:
    return Program(estimator).fit(X, y).to_sklearn().get_feature_names_out().tolist()


@pytest.mark.parametrize("name", TARGETS)
def test_kinds_of_targets(name: str) -> None:
    score, y = TARGETS[name]
    assert_parity(SelectKBest(score, k=2), numbers(), y, new=numbers()[:7] * 2)


BAD_TARGETS: list[tuple[Any, np.ndarray]] = [
    (f_classif, np.r_[np.nan, REAL[1:]]),
    (f_regression, np.zeros((ROWS, 2))),
    (f_regression, TARGETS["two labels"][1]),
    (f_classif, np.array(["a", 1] * 75, dtype=object)),
]


@pytest.mark.parametrize(("score", "y"), BAD_TARGETS)
def test_targets_that_sklearn_refuses(score: Any, y: np.ndarray) -> None:
    message = assert_both_refuse(SelectKBest(score, k=1), numbers(), y)
    assert "\nin SelectKBest, the columns ['a', " in message


@pytest.mark.parametrize("n_blocks", one_in(2, [1, 2, 7, 64]))
@pytest.mark.parametrize("value", CONSTANTS)
@pytest.mark.parametrize("hole", [False, True])
def test_constant_is_dropped_whatever_it_is(
    value: float, n_blocks: int, hole: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = pd.DataFrame({"constant": np.full(ROWS, value), "other": np.arange(ROWS) % 7.0})
    X.loc[[3] if hole else [], "constant"] = np.nan
    cut(monkeypatch, ROWS, n_blocks)
    assert kept(VarianceThreshold(), X) == ["other"]
    assert Program(VarianceThreshold()).fit(X).to_sklearn().variances_[0] == 0.0


def test_range_counts_where_it_is_less_than_the_variance() -> None:
    X = pd.DataFrame({"wide": [0.0, 100.0, 50.0], "hole": [0.0, np.nan, 90.0]})
    assert assert_parity(VarianceThreshold(), X).to_sklearn().variances_[0] == 100.0
    assert assert_parity(VarianceThreshold(1.0), X).to_sklearn().variances_[0] > 1000.0


def test_variance_beside_a_large_offset() -> None:
    X = numbers().drop(columns="constant") + 1e9
    program = assert_parity(VarianceThreshold(0.01), X)
    exact = (X - 1e9).var(ddof=0)
    np.testing.assert_allclose(program.to_sklearn().variances_, exact, rtol=1e-12)


def test_no_column_left_names_the_way_out() -> None:
    assert assert_both_refuse(VarianceThreshold(), numbers()[["constant"]]) == (
        "No feature in X meets the variance threshold 0.00000; "
        "lower the threshold, or remove the step"
    )
    assert_both_refuse(VarianceThreshold(), numbers()[:1])


FAMILY = [
    SelectKBest(r_regression, k=2),
    SelectPercentile(f_classif, percentile=40),
    SelectPercentile(chi2, percentile=30),
    SelectFpr(chi2, alpha=0.3),
    SelectFdr(f_regression, alpha=0.9),
    SelectFwe(f_classif, alpha=0.9),
    SelectKBest(partial(mutual_info_classif, random_state=0), k=2),
]


@pytest.mark.parametrize("offset", [0, 1.7e9])
@pytest.mark.parametrize("estimator", FAMILY, ids=plain)
def test_selection_in_memory_has_the_digits_of_sklearn(
    estimator: Any, offset: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut(monkeypatch, ROWS, 7)
    X = numbers().abs().round(2) + offset
    X = pd.concat([X, X.add_prefix("as well as ")], axis=1)
    with quiet():
        expected = clone(estimator).fit(X, LABELS)
        found = Program(estimator).fit(X, LABELS).to_sklearn()
        np.testing.assert_array_equal(found.scores_, expected.scores_)
        np.testing.assert_array_equal(found.get_support(), expected.get_support())
        assert_parity(estimator, X, LABELS, new=X[::-1])


def test_selection_refuses_what_sklearn_does() -> None:
    assert_both_refuse(SelectKBest(f_classif, k=2), numbers().assign(b=np.nan), LABELS)
    said = assert_both_refuse(SelectKBest(chi2, k=2), -numbers().abs(), LABELS)
    assert "Input X must be non-negative." in said


SCORED = {
    "noise": _rng.normal(size=(ROWS, 3)) + 0.1 * LABELS[:, None],
    "far from zero": 1e9 + np.c_[REAL, LABELS + REAL, LABELS * REAL],
    "constants": np.c_[np.full((ROWS, 3), CONSTANTS), REAL],
    "the target": np.c_[LABELS, -LABELS, REAL],
}


@pytest.mark.filterwarnings(
    "ignore:Features .* are constant", "ignore:.* in divide", "ignore:.* in sqrt"
)
@pytest.mark.parametrize("score", feature_selection.ON_GPU, ids=lambda score: score.__name__)
@pytest.mark.parametrize("name", SCORED)
def test_scores_of_a_gpu_are_those_of_sklearn(name: str, score: Any) -> None:
    X, how, y = SCORED[name], feature_selection.ON_GPU[score], LABELS - LABELS.min()
    given = (y, np.bincount(y)) if how.of_classes else (y - y.mean(),)
    learnt = np.stack([how.learn(column.copy(), *given) for column in X.T], axis=1)
    found, pvalues = how.finish(learnt, y)
    centre = X.mean(axis=0) * (name == "far from zero")
    expected, wanted = score(X - centre, LABELS)
    # To scikit-learn a constant that binary fractions do not hold differs within its classes.
    known = np.ptp(X, axis=0) > 0 if score is not f_regression else slice(None)
    if name == "the target":  # whose fit is perfect, or but for rounding
        known = slice(2, None)
        assert (found[:2] > 1e9).all()
    np.testing.assert_allclose(found[known], expected[known], rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(pvalues[known], wanted[known], rtol=1e-5, atol=1e-12)
