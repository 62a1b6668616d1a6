"""What is special to the encoder by the target: its folds, and the target itself."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.preprocessing import TargetEncoder

from pipeline import Accelerated
from pipeline.compile.program import Program
from pipeline.errors import DataError
from pipeline.twins.target_encoder import OWN, _folds
from tests.names import one_in
from tests.strategies import tables
from tests.twins.parity import assert_both_refuse, assert_parity, close, sklearn_fit

ROWS = 240
_rng = np.random.default_rng(3)
TARGETS: dict[str, np.ndarray] = {
    "two labels": _rng.choice(["no", "yes"], ROWS, p=[0.8, 0.2]),
    "zero and one": _rng.integers(0, 2, ROWS),
    "booleans": _rng.random(ROWS) < 0.3,
    "three labels": _rng.choice(["x", "y", "z"], ROWS),
    "four numbers": _rng.integers(3, 7, ROWS),
    "real": _rng.normal(size=ROWS),
    "real, far from zero": _rng.normal(size=ROWS) * 3 + 1e6,
    "constant": np.full(ROWS, 0.1),
}
CLASSES = [name for name in TARGETS if name not in ("real", "real, far from zero", "constant")]
THREE = ["two labels", "three labels", "real"]
FOLDS = KFold(3, shuffle=True, random_state=3)
SMOOTH = ["auto", 0, 1.0, 37.5]


@pytest.fixture
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rare = [0.4, 0.2, 0.15, 0.1, 0.1, 0.04, 0.01]
    X = pd.DataFrame({"c": rng.choice(list("gabdcef"), ROWS, p=rare)})
    X["k"] = rng.integers(0, 6, ROWS)
    X["f"] = rng.choice([1.5, 2.5, np.nan], ROWS)
    X.loc[::9, "c"] = np.nan
    return X


@pytest.fixture
def new(table: pd.DataFrame) -> pd.DataFrame:
    return table[:6].assign(c=["a", "unseen", np.nan, "b", "c", "g"], k=[0, 99, 1, 2, 3, -1])


STRATA = StratifiedKFold(4, shuffle=True, random_state=2)
SEEDED: list[dict[str, Any]] = [
    {"cv": 4, "random_state": 3},
    {"cv": 4, "shuffle": False},
    {"cv": 3, "random_state": 0},
]
EQUAL: list[tuple[TargetEncoder, str]] = [
    *((TargetEncoder(cv=STRATA), target) for target in CLASSES),
    *((TargetEncoder(smooth=s, cv=FOLDS), target) for s, target in product(SMOOTH, TARGETS)),
    *((TargetEncoder(**p), target) for p, target in product(SEEDED, THREE)),
    (TargetEncoder(target_type="continuous", cv=FOLDS), "four numbers"),
]


@pytest.mark.quick(14)
@pytest.mark.parametrize("case", one_in(2, EQUAL), ids=lambda case: f"{case[1]}: {case[0]!r}")
def test_equals_sklearn(
    case: tuple[TargetEncoder, str], table: pd.DataFrame, new: pd.DataFrame
) -> None:
    estimator, name = case
    assert_parity(estimator, table, TARGETS[name], new)


def test_training_rows_do_not_see_their_own_target(table: pd.DataFrame) -> None:
    y = TARGETS["real"].copy()
    before = Program(TargetEncoder(cv=FOLDS), "float64").fit_transform(table, y)
    y[7] += 1000.0
    after = Program(TargetEncoder(cv=FOLDS), "float64").fit_transform(table, y)
    # The sums are of all rows less those of the fold, so rounding is all that passes.
    np.testing.assert_allclose(before[7], after[7], rtol=1e-9)
    assert np.abs(before - after).max() > 1.0


LABELS = [
    *(TARGETS[name] for name in ("two labels", "four numbers", "real")),
    _rng.integers(0, 5, ROWS) ** 2 - 3,  # in another order than they appear
    np.array([1, 0, 0, 1, 0, 0, 0]),  # few of one label
    np.array([1, 0, 0, 1]),  # few of each
    np.array([1, 0]),  # fewer than folds
]


@pytest.mark.parametrize("labels", LABELS, ids=lambda y: f"{len(y)} {y.dtype}")
@pytest.mark.parametrize("seed", [None, 0, "a generator"])
@pytest.mark.parametrize("kind", OWN)
def test_folds_are_those_that_sklearn_splits(kind: Any, seed: Any, labels: np.ndarray) -> None:
    def made(fold: Callable[[Any], Any]) -> tuple[Any, ...]:
        generator = np.random.RandomState(1) if isinstance(seed, str) else seed
        splitter = kind(3, shuffle=seed is not None, random_state=generator)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            try:
                found = [rows.tolist() for rows in fold(splitter)]
            except ValueError:
                return (None,)
        drawn = generator.randint(1000) if isinstance(seed, str) else None
        return found, [str(each.message) for each in told], drawn

    def ours(splitter: Any) -> Any:
        real = labels.dtype.kind == "f"
        y = labels if real else np.unique(labels, return_inverse=True)[1]
        folds, n_folds = _folds(TargetEncoder(cv=splitter), y, labels=not real)
        return [np.flatnonzero(folds == number) for number in range(n_folds)]

    expected = made(lambda splitter: [rows for _, rows in splitter.split(labels, labels)])
    assert made(ours) == expected


@pytest.mark.parametrize(
    ("params", "target"),
    [
        ({"cv": KFold(ROWS + 1)}, TARGETS["real"]),
        ({"cv": StratifiedKFold(3)}, TARGETS["real"]),
        ({"target_type": "continuous"}, TARGETS["two labels"]),
        ({}, _rng.integers(0, 2, (ROWS, 2))),
    ],
    ids=["too many folds", "strata of reals", "words as reals", "two columns"],
)
def test_targets_and_folds_that_sklearn_refuses(
    params: dict[str, Any], target: np.ndarray, table: pd.DataFrame
) -> None:
    assert "TargetEncoder" in assert_both_refuse(TargetEncoder(**params), table, target)


def test_target_is_needed(table: pd.DataFrame) -> None:
    with pytest.raises(DataError, match="requires y to be passed"):
        Program(TargetEncoder()).fit(table)


def test_encoders_that_draw_from_the_same_generator_draw_in_order(table: pd.DataFrame) -> None:
    chosen = [(TargetEncoder(cv=KFold(4, shuffle=True)), [name]) for name in ("c", "k")]
    estimator = make_column_transformer(*chosen, (TargetEncoder(cv=FOLDS), ["f"]))
    y = TARGETS["real"]
    np.random.seed(0)  # noqa: NPY002 - what scikit-learn draws from where it is given nothing
    expected = sklearn_fit(estimator, table, y)[1]
    np.random.seed(0)  # noqa: NPY002
    close(Accelerated(estimator, device="cpu", dtype="float64").fit_transform(table, y), expected)


@given(X=tables(), seed=st.integers(0, 9), smooth=st.sampled_from(SMOOTH))
def test_any_table(X: pd.DataFrame, seed: int, smooth: Any) -> None:
    X = pd.concat([X, X], ignore_index=True)
    y = np.random.default_rng(seed).normal(size=len(X))
    folds = KFold(2, shuffle=True, random_state=seed)
    assert_parity(TargetEncoder(smooth=smooth, cv=folds), X, y)
