"""Redundant columns in a linear regression, on a solver like cuML's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from pipeline.backends.cuml.least_squares import scale_matrix
from tests.contract.least_squares import solve


def redundant(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return two full sets of one-hot columns beside two numbers, and a target."""
    random = np.random.default_rng(0)
    a, b = random.integers(0, 12, n_rows), random.integers(0, 30, n_rows)
    X = np.column_stack([np.eye(12)[a], np.eye(30)[b], random.normal(size=(n_rows, 2))])
    y = random.normal(size=12)[a] + random.normal(size=30)[b] + X[:, -2:] @ [1, 2]
    return X.astype("float32"), y + random.normal(size=n_rows)


def difference(X: np.ndarray, y: np.ndarray, rows: Any, factor: float, **options: Any) -> float:
    """Return the largest difference of a prediction, for rows without a category as well."""
    reference = LinearRegression(fit_intercept=options.get("intercept", True))
    reference.fit(X.astype("float64"), y, options.get("weights"))
    found, intercept = solve(rows, y, **options)
    asked = np.vstack([X[:1000], np.zeros_like(X[:1])])
    made = asked @ (found * factor).T + intercept
    return float(np.abs(made - reference.predict(asked)).max() / y.std())


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [True, False])
def test_matrix_of_the_right_size_has_the_optimum_of_scikit_learn(
    weighted: bool, intercept: bool
) -> None:
    X, y = redundant(2000)
    weights = np.random.default_rng(1).uniform(0, 2, len(y)) if weighted else None
    rows, factor = scale_matrix(X, weights, centred=intercept)
    if intercept:  # or else the rounding happens to fall short of the cutoff
        assert difference(X, y, X, 1.0, weights=weights) > 0.01
    assert difference(X, y, rows, factor, weights=weights, intercept=intercept) < 1e-6


@pytest.mark.parametrize(("size", "weight"), [(1e9, 0.0), (1.0, 1e6)])
@pytest.mark.parametrize("intercept", [True, False])
def test_a_row_counts_as_much_as_its_weight(size: float, weight: float, intercept: bool) -> None:
    X, y = redundant(2000)
    X, weights = X.astype("float64"), np.ones(len(X))
    X[-1, -1], weights[-1] = size, weight
    rows, factor = scale_matrix(X, weights, centred=intercept)
    assert difference(X, y, rows, factor, weights=weights, intercept=intercept) < 1e-6


def test_of_millions_of_rows_float64_alone_is_not_enough() -> None:
    X, y = redundant(20_000)
    as_many = X.astype("float64") * 1000**0.5  # as a thousand rows of each kind have it
    assert difference(X, y, as_many, 1000**0.5) > 1e-3
    rows, factor = scale_matrix(as_many)
    assert difference(X, y, rows, factor * 1000**0.5) < 1e-6


def seconds(span: float, n_rows: int = 2000) -> tuple[np.ndarray, np.ndarray]:
    """Return seconds since 1970 within a span, beside shares and a flag, and a target."""
    random = np.random.default_rng(0)
    begun = 1.7e9 + random.uniform(0, span, n_rows)
    X = np.column_stack([begun, random.uniform(size=(n_rows, 2)), random.integers(0, 2, n_rows)])
    return X, X @ [1 / span, 1, 2, 3] + random.normal(size=n_rows)


@pytest.mark.parametrize("n_targets", [1, 2])
@pytest.mark.parametrize("tol", [1e-6, 1e-4])
@pytest.mark.parametrize("span", [2e3, 2e5, 3e6, 4e8])
def test_what_is_small_beside_another_column_is_nothing_where_it_is_to_scikit_learn(
    span: float, tol: float, n_targets: int
) -> None:
    X, y = seconds(span)
    y = np.column_stack([y, -y])[:, :n_targets].squeeze()
    rows, factor = scale_matrix(X, tol=tol, n_targets=n_targets)
    found, intercept = solve(rows, y)
    wanted = LinearRegression(tol=tol).fit(X, y)
    far = np.abs(X @ (found * factor).T + intercept - wanted.predict(X)).max()
    assert far < 1e-6 * y.std()


@pytest.mark.parametrize("n_rows", [40, 50, 200])
@pytest.mark.parametrize("n_targets", [1, 2])
def test_columns_that_are_redundant_but_for_rounding_are_dropped_of_wide_rows_too(
    n_rows: int, n_targets: int
) -> None:
    random = np.random.default_rng(0)
    few = random.normal(size=(n_rows, 10))
    X = np.float32(np.column_stack([few, few @ random.normal(size=(10, 40))]))
    y = random.normal(size=(n_rows, n_targets)).squeeze()
    rows, factor = scale_matrix(X, n_targets=n_targets)
    found, intercept = solve(rows, y)
    wanted = LinearRegression(tol=1e-6).fit(X.astype("float64"), y)
    np.testing.assert_allclose(found * factor, wanted.coef_, atol=1e-3)
    made = X @ (found * factor).T + intercept
    np.testing.assert_allclose(made, wanted.predict(X.astype("float64")), atol=1e-3)
