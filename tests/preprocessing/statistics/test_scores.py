from __future__ import annotations

from fractions import Fraction
from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.preprocessing.statistics.moments import Moments
from pipeline.preprocessing.statistics.scores import Joint, analysis, by_class, jointly, regression
from tests.strategies import cuts, tables


def test_scores_of_columns_that_equal_the_target_are_perfect_in_any_block() -> None:
    y = np.random.default_rng(0).normal(3, 9, 50)
    parts = [jointly(np.stack([y, -y], axis=1)[rows], y[rows]) for rows in (slice(9), slice(9, 50))]
    scores, pvalues = regression(reduce(Joint.merge, parts))
    assert scores.tolist() == [np.finfo("float64").max] * 2
    assert pvalues.tolist() == [0.0, 0.0]


def test_classes_that_a_block_lacks_count_nothing() -> None:
    X, y = np.array([[1e9 + 1], [1e9 + 2], [5.0], [7.0]]), np.array([0, 0, 2, 2])
    for parts in ([slice(2), slice(2, 4)], [slice(2, 4), slice(2)]):
        found = reduce(Moments.merge, [by_class(X[rows], y[rows], 3) for rows in parts])
        assert found.rows.ravel().tolist() == [2, 0, 2]
        assert (found.origin + found.rest)[[0, 2]].ravel().tolist() == [1e9 + 1.5, 6.0]
        assert found.squares.ravel().tolist() == [0.5, 0.0, 2.0]


def test_two_rows_have_no_p_value() -> None:
    scores, pvalues = regression(jointly(np.array([[1.0], [3.0]]), np.array([0.0, 1.0])))
    assert scores.tolist() == [0.0]
    assert np.isnan(pvalues).all()


def squares(values: list[Fraction], other: list[Fraction] | None = None) -> Fraction:
    """Return the sum of products of deviations from the mean, exactly."""
    other = values if other is None else other
    mean, other_mean = sum(values) / len(values), sum(other) / len(other)
    pairs = zip(values, other, strict=True)
    return sum(((a - mean) * (b - other_mean) for a, b in pairs), Fraction(0))


@pytest.mark.filterwarnings("ignore:Features .* are constant", "ignore:.* in divide")
@given(data=st.data())
def test_analysis_of_any_table_is_exact(data: st.DataObject) -> None:
    X = data.draw(tables("numbers")).fillna(1.5).to_numpy("float64")
    y = np.array(data.draw(st.lists(st.integers(0, 2), min_size=len(X), max_size=len(X))))
    labels, codes = np.unique(y, return_inverse=True)
    parts = [by_class(X[rows], codes[rows], len(labels)) for rows in data.draw(cuts(len(X)))]
    scores, _ = analysis(reduce(Moments.merge, parts))
    for j in range(X.shape[1]):
        column = [Fraction(x) for x in X[:, j]]
        groups = [[x for x, c in zip(column, y, strict=True) if c == label] for label in labels]
        within = sum(map(squares, groups), Fraction(0))
        between = squares(column) - within
        # The share of the squares between the classes is free of degrees of freedom.
        free, rest = len(labels) - 1, len(X) - len(labels)
        if within + between == 0 or not free or not rest:
            assert np.isnan(scores[j]) or scores[j] in (0, np.inf)
        elif within == 0:
            assert scores[j] == np.inf
        else:
            share = scores[j] * free / (scores[j] * free + rest)
            assert share == pytest.approx(float(between / (within + between)), abs=1e-12)


@given(data=st.data())
def test_regression_on_any_table_is_exact(data: st.DataObject) -> None:
    X = data.draw(tables("numbers")).fillna(1.5).to_numpy("float64")
    y = np.array(data.draw(st.lists(st.integers(-9, 9), min_size=len(X), max_size=len(X))))
    parts = [jointly(X[rows], y[rows].astype("float64")) for rows in data.draw(cuts(len(X)))]
    scores, pvalues = regression(reduce(Joint.merge, parts))
    target = [Fraction(int(value)) for value in y]
    for j in range(X.shape[1]):
        column = [Fraction(x) for x in X[:, j]]
        whole = squares(column) * squares(target)
        if len(y) < 3 or whole == 0:
            assert scores[j] == 0.0
        else:
            explained = squares(column, target) ** 2 / whole
            share = scores[j] / (scores[j] + len(y) - 2)
            assert share == pytest.approx(float(explained), abs=1e-12)
            assert 0.0 <= pvalues[j] <= 1.0
