"""What is special to the selection of columns; what transformers share is in `test_parity`."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.feature_selection import (
    GenericUnivariateSelect,
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
    mutual_info_regression,
    r_regression,
)

from pipeline.preprocessing.engine.program import Program
from pipeline.preprocessing.transformers.feature_selection import (
    UnivariateTwin,
)
from tests.names import one_in, plain
from tests.preprocessing.cases import ROWS, numbers
from tests.preprocessing.parity import (
    assert_both_refuse,
    assert_parity,
    cut,
    quiet,
)

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
SCORES = [f_classif, f_regression]
CONSTANTS = [0.1, 1e9 / 3, -7e-9, 1e16 / 7]


@pytest.fixture
def by_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have scores computed as of partitions, and on a GPU."""
    other = property(lambda twin: False, lambda twin, value: None)
    monkeypatch.setattr(UnivariateTwin, "in_memory", other)


def kept(estimator: Any, X: pd.DataFrame, y: Any = None) -> list[str]:
    return Program(estimator).fit(X, y).to_sklearn().get_feature_names_out().tolist()


@pytest.mark.parametrize("k", one_in(2, [2, 1, "all", 3]))
@pytest.mark.parametrize("name", TARGETS)
def test_kinds_of_targets(k: Any, name: str) -> None:
    score, y = TARGETS[name]
    assert_parity(SelectKBest(score, k=k), numbers(), y, new=numbers()[:7] * 2)


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_few_rows(score: Any, rows: int) -> None:
    X = numbers()[["int", "b", "constant"]][:rows].round()
    assert_parity(SelectKBest(score, k="all"), X, np.array([0, 1, 0])[:rows], new=X)


@pytest.mark.usefixtures("by_sums")
@pytest.mark.filterwarnings("ignore:Features .* are constant", "ignore:.* in divide")
def test_column_that_separates_the_classes_is_best() -> None:
    X = pd.DataFrame({"noise": REAL, "class": [0.1, 0.7, 0.3] * 50})
    fitted = Program(SelectKBest(k=1), "float64").fit(X, np.arange(ROWS) % 3).to_sklearn()
    assert (fitted.scores_[1], fitted.pvalues_[1]) == (np.inf, 0.0)
    assert fitted.get_feature_names_out().tolist() == ["class"]


@pytest.mark.usefixtures("by_sums")
@pytest.mark.filterwarnings("ignore:Features .* are constant", "ignore:.* in divide")
@pytest.mark.parametrize("n_blocks", one_in(2, [1, 2, 7, 64]))
@pytest.mark.parametrize("value", CONSTANTS)
@pytest.mark.parametrize("score", SCORES)
def test_constant_is_the_worst_whatever_it_is(
    score: Any, value: float, n_blocks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = pd.DataFrame({"constant": np.full(ROWS, value), "noise": REAL})
    cut(monkeypatch, ROWS, n_blocks)
    fitted = Program(SelectKBest(score, k=1)).fit(X, LABELS).to_sklearn()
    assert fitted.get_feature_names_out().tolist() == ["noise"]
    constant = np.nan_to_num([fitted.scores_[0], fitted.pvalues_[0]]).tolist()
    assert constant == ([0.0, 0.0] if score is f_classif else [0.0, 1.0])


@pytest.mark.usefixtures("by_sums")
@pytest.mark.parametrize(
    ("x", "near"),
    [(REAL + 1e9, REAL + 1e9 - 1e9), (np.r_[1e8, REAL[1:]], np.r_[1e8, REAL[1:]] - 1e8 / ROWS)],
    ids=["a large offset", "an outlier"],
)
@pytest.mark.parametrize("score", SCORES)
def test_scores_keep_their_digits_beside(score: Any, x: Any, near: Any) -> None:
    """The first row is what deviations are taken from; it may lie far off."""
    fitted = Program(SelectKBest(score, k=1)).fit(x[:, None], LABELS).to_sklearn()
    scores, pvalues = score(near[:, None], LABELS)
    np.testing.assert_allclose(fitted.scores_, scores, rtol=1e-9)
    np.testing.assert_allclose(fitted.pvalues_, pvalues, rtol=1e-9)


@pytest.mark.parametrize("score", SCORES)
def test_of_equal_columns_the_last_is_kept(score: Any) -> None:
    """In f_regression, scikit-learn's own scores of equal columns differ by rounding."""
    two = pd.DataFrame({"int": numbers()["int"], "flag": np.arange(ROWS) % 5 == 0}).astype(float)
    X = pd.concat([two] * 3, axis=1).set_axis(list("uvwxyz"), axis=1)
    best = "uwy" if score(X, LABELS)[0][0] > score(X, LABELS)[0][1] else "vxz"
    for k in (1, 2, 3):
        assert kept(SelectKBest(score, k=k), X, LABELS) == list(best[-k:])
    if score is f_classif:
        for k in (1, 2, 4, 5):
            assert_parity(SelectKBest(k=k), X, LABELS)


@pytest.mark.parametrize(
    ("score", "y", "said"),
    [
        *((score, np.r_[bad, REAL[1:]], "") for score in SCORES for bad in (np.nan, np.inf)),
        *((score, np.zeros((ROWS, 2)), "") for score in SCORES),
        (
            f_regression,
            TARGETS["two labels"][1],
            "",
        ),
        (f_classif, np.array(["a", 1] * 75, dtype=object), ""),
    ],
)
def test_targets_that_sklearn_refuses(score: Any, y: np.ndarray, said: str) -> None:
    message = assert_both_refuse(SelectKBest(score, k=1), numbers(), y)
    assert message.startswith(said or "SelectKBest on the columns ['a', ")


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
        "lower the threshold, or leave the step out"
    )
    assert_both_refuse(VarianceThreshold(), numbers()[:1])


def distance(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return a score without p-values."""
    return abs((X * (y - y.mean())[:, None]).sum(axis=0))


FAMILY = [
    *(SelectKBest(score, k=2) for score in (chi2, r_regression, distance)),
    *(SelectPercentile(score, percentile=40) for score in (f_classif, chi2, f_regression)),
    *(SelectFpr(score, alpha=0.3) for score in (f_classif, chi2, f_regression)),
    *(SelectFdr(score, alpha=0.9) for score in (f_classif, chi2, f_regression)),
    *(SelectFwe(score, alpha=0.9) for score in (f_classif, chi2, f_regression)),
    *(
        GenericUnivariateSelect(chi2, mode=mode, param=param)
        for mode, param in [("percentile", 30), ("k_best", 3), ("fpr", 0.9), ("fwe", 0.9)]
    ),
    SelectKBest(partial(mutual_info_classif, random_state=0), k=2),
    SelectKBest(partial(mutual_info_regression, random_state=0), k=3),
    SelectPercentile(partial(r_regression, center=False), percentile=30),
    SelectKBest(lambda X, y: (X.var(axis=0), np.zeros(X.shape[1])), k=2),
]


@pytest.mark.quick(29)
@pytest.mark.usefixtures("by_sums")
@pytest.mark.parametrize("labels", [2, 3, 1])
@pytest.mark.parametrize("n_blocks", one_in(2, [7, 1]))
@pytest.mark.parametrize("estimator", FAMILY, ids=plain)
def test_selection_by_sums(
    estimator: Any, n_blocks: int, labels: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut(monkeypatch, ROWS, n_blocks)
    X = numbers().abs().round(2)
    with quiet():
        assert_parity(estimator, X, LABELS % labels, new=X[::-1])


@pytest.mark.quick(38)
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


@pytest.mark.parametrize("estimator", FAMILY[:1] + FAMILY[3:-1], ids=plain)
def test_selection_refuses_what_sklearn_does(estimator: Any) -> None:
    X = numbers().assign(b=np.nan)
    assert_both_refuse(estimator, X, LABELS)
    assert_both_refuse(estimator, numbers().round())
    if estimator.score_func is chi2:
        said = assert_both_refuse(estimator, -numbers().abs(), LABELS)
        assert "Input X must be non-negative." in said


def test_labels_may_be_several() -> None:
    y = np.stack([LABELS % 2, LABELS % 3 > 0], axis=1).astype(int)
    assert_parity(SelectKBest(chi2, k=2), numbers().abs(), y)
