"""Twins whose medians and quantiles may be off by a share of the ranks that the user chose."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import (
    KBinsDiscretizer,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
)

from pipeline.errors import ConfigError
from pipeline.preprocessing.engine import table
from pipeline.preprocessing.engine.program import Program
from tests.preprocessing.parity import quiet
from tests.preprocessing.test_invariance import assert_same

ROWS = 3000
RANK_ERROR = 0.02
LEVELS = np.linspace(0, 1, 6)

SPECS = {
    "median": SimpleImputer(strategy="median", add_indicator=True),
    "between quantiles": RobustScaler(quantile_range=(10, 90)),
    "bins": KBinsDiscretizer(5, subsample=None, quantile_method="linear"),
    "quantiles": QuantileTransformer(n_quantiles=6, subsample=None),
    "normal": QuantileTransformer(n_quantiles=6, subsample=None, output_distribution="normal"),
    "splines": SplineTransformer(6, knots="quantile"),
}


def numbers(n_rows: int = ROWS) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"normal": rng.normal(3, 7, n_rows), "tail": np.exp(rng.normal(size=n_rows))})
    X["sorted"] = np.arange(n_rows) / 7
    X["int"] = rng.integers(0, 1000, n_rows)
    return X


def holes(n_rows: int = ROWS) -> pd.DataFrame:
    X = numbers(n_rows)
    return X.mask(np.random.default_rng(1).random(X.shape) < 0.3)


def fitted(estimator: Any, X: pd.DataFrame, rank_error: float = RANK_ERROR) -> Any:
    with quiet():
        return Program(estimator, "float64", rank_error=rank_error).fit(X).to_sklearn()


def assert_near(found: np.ndarray, X: pd.DataFrame, levels: Any) -> None:
    """Assert that the ranks of the found quantiles, a row a level, are within the bound."""
    for j, name in enumerate(X):
        known = np.sort(X[name].dropna().to_numpy("float64"))
        wanted = np.asarray(levels) * (len(known) - 1)
        # A quantile lies between two values: its rank is that of either.
        first = np.searchsorted(known, found[:, j], side="left") - 1
        last = np.searchsorted(known, found[:, j], side="right")
        off = np.maximum(first - wanted, wanted - last)
        assert off.max() <= RANK_ERROR * len(known), name


@pytest.fixture(params=[1, 7, 64], ids="{} blocks".format)
def blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "CHUNK_ROWS", -(-ROWS // request.param))


@pytest.mark.usefixtures("blocks")
def test_fitted_quantiles_are_within_the_bound() -> None:
    assert_near(fitted(SPECS["median"], holes()).statistics_[None], holes(), [0.5])
    assert_near(fitted(SPECS["quantiles"], holes()).quantiles_, holes(), LEVELS)
    scaler = fitted(SPECS["between quantiles"], holes())
    assert_near(scaler.center_[None], holes(), [0.5])
    edges = fitted(SPECS["bins"], numbers()).bin_edges_
    assert_near(np.stack(list(edges), axis=1), numbers(), LEVELS)
    splines = fitted(SPECS["splines"], numbers()).bsplines_
    assert_near(np.stack([spline.t[3:-3] for spline in splines], axis=1), numbers(), LEVELS)


@pytest.mark.usefixtures("blocks")
def test_scale_is_that_of_near_quantiles() -> None:
    found = fitted(SPECS["between quantiles"], holes()).scale_
    share = RANK_ERROR + 1 / ROWS
    narrow, wide = (
        holes().quantile(0.9 + sign * share) - holes().quantile(0.1 - sign * share)
        for sign in (-1, 1)
    )
    assert (narrow <= found).all()
    assert (found <= wide).all()


@pytest.mark.parametrize("name", SPECS)
def test_few_rows_are_exact(name: str) -> None:
    X = numbers(200)
    assert_same(fitted(SPECS[name], X), fitted(SPECS[name], X, 0.0), name)


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("name", SPECS)
def test_program_and_handed_over_transformer_agree(name: str) -> None:
    X = numbers()
    program = Program(SPECS[name], "float64", rank_error=RANK_ERROR).fit(X)
    theirs = program.to_sklearn().transform(X)
    theirs = theirs.toarray() if hasattr(theirs, "toarray") else np.asarray(theirs)
    np.testing.assert_allclose(program.transform(X), theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", SPECS)
def test_many_rows_are_not(name: str) -> None:
    """Else the tests above would say nothing."""
    X = numbers()
    with pytest.raises(AssertionError):
        assert_same(fitted(SPECS[name], X), fitted(SPECS[name], X, 0.0), name)


@pytest.mark.parametrize(
    "estimator",
    [
        PowerTransformer(),
        StandardScaler(),
        KBinsDiscretizer(strategy="uniform", subsample=None),
        SplineTransformer(knots="uniform"),
        SimpleImputer(),
    ],
    ids=repr,
)
def test_all_else_stays_exact(estimator: Any) -> None:
    assert_same(fitted(estimator, numbers()), fitted(estimator, numbers(), 0.0), "it")


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", ["bins", "quantiles"])
def test_nothing_is_drawn(name: str, seed: int) -> None:
    estimator = clone(SPECS[name]).set_params(subsample=50, random_state=seed)
    ours, of_all = fitted(estimator, numbers()), fitted(SPECS[name], numbers())
    attribute = "bin_edges_" if name == "bins" else "quantiles_"
    found, expected = getattr(ours, attribute), getattr(of_all, attribute)
    np.testing.assert_array_equal(np.stack(list(found)), np.stack(list(expected)))


def test_column_without_values() -> None:
    X = numbers().assign(empty=np.nan)
    assert np.isnan(fitted(SPECS["median"], X).statistics_[4])
    assert np.isnan(fitted(SPECS["between quantiles"], X).center_[4])
    assert np.isnan(fitted(SPECS["quantiles"], X).quantiles_[:, 4]).all()


@pytest.mark.parametrize("name", SPECS)
def test_bound_of_no_sense_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=r"rank_error=1\.5 is no share of the rows"):
        fitted(SPECS[name], numbers(), 1.5)
