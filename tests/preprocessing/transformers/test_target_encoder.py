"""What is special to the encoder by the target: its folds, and the target itself."""

from __future__ import annotations

import gc
import threading
import weakref
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit, StratifiedKFold
from sklearn.preprocessing import LabelEncoder, StandardScaler, TargetEncoder
from sklearn.utils.multiclass import type_of_target

from pipeline import Accelerated
from pipeline.data.target import encode_labels
from pipeline.errors import ConfigError, DataError
from pipeline.preprocessing.engine.program import Program
from pipeline.preprocessing.transformers.target_encoder import ahead, encode_target
from tests.names import one_in
from tests.preprocessing.parity import (
    assert_both_refuse,
    assert_parity,
    close,
    cut,
    sklearn_fit,
)
from tests.strategies import tables

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


LISTS = {
    "all": [["zz", *"cabdgef", np.nan], range(-2, 9), [-2.5, 1.5, 2.5, np.nan]],
    "some": [["d", "b"], [0, 3, 4], [1.5]],
    "none that occurs": [["x"], [77], [0.25]],
}
HALVES = [(np.arange(100, ROWS), np.arange(100)), (np.arange(100), np.arange(100, ROWS))]
STRATA = StratifiedKFold(4, shuffle=True, random_state=2)
SEEDED: list[dict[str, Any]] = [
    {"cv": 4, "random_state": 3},
    {"cv": 4, "shuffle": False},
    {"cv": 3, "random_state": 0},
]
STRATIFIED = [(TargetEncoder(cv=STRATA), target) for target in CLASSES]
EQUAL: list[tuple[TargetEncoder, str]] = [
    *((TargetEncoder(smooth=s, cv=FOLDS), target) for s, target in product(SMOOTH, TARGETS)),
    *((TargetEncoder(**p), target) for p, target in product(SEEDED, THREE)),
    *(
        (TargetEncoder(categories=lists, smooth=smooth, cv=FOLDS), target)
        for lists, smooth, target in product(LISTS.values(), ["auto", 0.0, 5.0], THREE)
    ),
    (TargetEncoder(cv=HALVES), "real"),
    (TargetEncoder(target_type="continuous", cv=FOLDS), "four numbers"),
]


@pytest.mark.quick(18)
@pytest.mark.parametrize(
    "case", [*STRATIFIED, *one_in(2, EQUAL)], ids=lambda case: f"{case[1]}: {case[0]!r}"
)
def test_equals_sklearn(
    case: tuple[TargetEncoder, str],
    table: pd.DataFrame,
    new: pd.DataFrame,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    estimator, name = case
    assert_parity(estimator, table, TARGETS[name], new)
    if estimator.categories != "auto":
        cut(monkeypatch, 7, 1)
        assert_parity(estimator, table, TARGETS[name], new)


def test_training_rows_do_not_see_their_own_target(table: pd.DataFrame) -> None:
    y = TARGETS["real"].copy()
    before = Program(TargetEncoder(cv=FOLDS), "float64").fit_transform(table, y)
    y[7] += 1000.0
    after = Program(TargetEncoder(cv=FOLDS), "float64").fit_transform(table, y)
    # The sums are of all rows less those of the fold, so rounding is all that passes.
    np.testing.assert_allclose(before[7], after[7], rtol=1e-9)
    assert np.abs(before - after).max() > 1.0


def test_pure_categories_of_classes_are_exactly_zero_or_one() -> None:
    X = pd.DataFrame({"c": list("aabbb") * 20})
    y = (X["c"] == "a").to_numpy()
    program = Program(TargetEncoder(smooth=0, cv=FOLDS), "float64").fit(X, y)
    assert program.transform(X[:3]).ravel().tolist() == [1.0, 1.0, 0.0]


@pytest.mark.parametrize(
    "cv",
    [
        ShuffleSplit(3, random_state=0),
        [(np.arange(100), np.arange(100, ROWS))],
        [(np.arange(50), np.arange(100, ROWS)), (np.arange(100, ROWS), np.arange(100))],
    ],
    ids=["overlap", "rows left out", "trained on less"],
)
def test_folds_that_are_no_partition_are_refused(cv: Any, table: pd.DataFrame) -> None:
    with pytest.raises(ConfigError, match="cv must hold out every row exactly once"):
        Program(TargetEncoder(cv=cv)).fit(table, TARGETS["real"])


@pytest.mark.parametrize(
    ("params", "target"),
    [
        ({"cv": KFold(ROWS + 1)}, TARGETS["real"]),
        ({"cv": StratifiedKFold(3)}, TARGETS["real"]),
        ({"cv": GroupKFold(3)}, TARGETS["real"]),
        ({"target_type": "continuous"}, TARGETS["two labels"]),
        ({}, _rng.integers(0, 2, (ROWS, 2))),
    ],
    ids=["too many folds", "strata of reals", "no groups", "words as reals", "two columns"],
)
def test_targets_and_folds_that_sklearn_refuses(
    params: dict[str, Any], target: np.ndarray, table: pd.DataFrame
) -> None:
    assert "TargetEncoder" in assert_both_refuse(TargetEncoder(**params), table, target)


def test_target_is_needed(table: pd.DataFrame) -> None:
    with pytest.raises(DataError, match="requires y to be passed"):
        Program(TargetEncoder()).fit(table)


def test_forced_multiclass_needs_three_labels(table: pd.DataFrame) -> None:
    with pytest.raises(DataError, match="target_type='multiclass' and y has 2 labels"):
        Program(TargetEncoder(target_type="multiclass")).fit(table, TARGETS["two labels"])


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


DTYPES = ("bool", "int8", "uint8", "int32", "int64", "uint64", "float64")


def target(n_rows: int, n_classes: int, seed: int) -> np.ndarray:
    """Return labels of which some are rare and any comes first."""
    return np.random.default_rng(seed).geometric(2 / (n_classes + 1), n_rows) % n_classes


@given(
    n_rows=st.integers(1, 400),
    n_classes=st.integers(1, 300),
    cv=st.integers(2, 12),
    seed=st.none() | st.integers(0, 2**32 - 1),
    dtype=st.sampled_from(DTYPES),
)
@pytest.mark.filterwarnings("ignore:The least populated class")
@pytest.mark.filterwarnings("ignore:The number of unique classes")
def test_folds_are_those_of_sklearn(
    n_rows: int, n_classes: int, cv: int, seed: int | None, dtype: str
) -> None:
    y = target(n_rows, n_classes, n_rows).astype(dtype)
    ours, theirs = (
        StratifiedKFold(cv, shuffle=seed is not None, random_state=seed) for _ in range(2)
    )
    try:
        expected = theirs._make_test_folds(None, y)
    except ValueError as error:
        with pytest.raises(DataError, match=str(error)):
            encode_target(TargetEncoder(cv=ours), y)
        return
    np.testing.assert_array_equal(encode_target(TargetEncoder(cv=ours), y).folds, expected)


@pytest.mark.parametrize("kind", [KFold, StratifiedKFold])
def test_a_generator_is_left_where_sklearn_leaves_it(kind: Any) -> None:
    y = target(500, 3, 0)
    ours, theirs = np.random.RandomState(5), np.random.RandomState(5)
    folds = encode_target(TargetEncoder(cv=kind(4, shuffle=True, random_state=ours)), y).folds
    expected = kind(4, shuffle=True, random_state=theirs).split(y, y)
    for number, (_, held_out) in enumerate(expected):
        np.testing.assert_array_equal(np.flatnonzero(folds == number), held_out)
    assert ours.randint(2**31) == theirs.randint(2**31)


@given(n_rows=st.integers(1, 60), cv=st.integers(2, 12), seed=st.none() | st.integers(0, 9))
def test_folds_of_a_real_target_are_those_of_sklearn(
    n_rows: int, cv: int, seed: int | None
) -> None:
    y = np.arange(n_rows) + 0.5
    splitter = KFold(cv, shuffle=seed is not None, random_state=seed)
    try:
        expected = list(splitter.split(y))
    except ValueError as error:
        with pytest.raises(ValueError, match=str(error)):
            encode_target(TargetEncoder(cv=splitter), y)
        return
    folds = encode_target(TargetEncoder(cv=splitter), y).folds
    for number, (_, held_out) in enumerate(expected):
        np.testing.assert_array_equal(np.flatnonzero(folds == number), held_out)


OTHERS: dict[str, np.ndarray] = {
    "words": np.array(["no", "yes", "no"] * 20, dtype=object),
    "three words": np.array(["no", "yes", "x"] * 20),
    "a column": np.array([["no"], ["yes"]] * 20, dtype=object),
    "whole": np.array([0.0, -0.0, 1.0] * 20),
    "three whole": np.array([0.0, 3.0, 1e6] * 20),
    "real": np.linspace(0, 1, 60),
    "real at the end": np.append(np.zeros(200), [1.0, 2.0, 0.5]),
}


@pytest.mark.parametrize("name", OTHERS)
def test_types_are_those_of_sklearn(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    y, sizes, unique = OTHERS[name], [], np.unique

    def counted(values: np.ndarray, *args: Any, **kwargs: Any) -> Any:
        sizes.append(len(values))
        return unique(values, *args, **kwargs)

    expected = type_of_target(y)
    monkeypatch.setattr(np, "unique", counted)
    assert encode_target(TargetEncoder(cv=2), y).kind == expected
    assert max(sizes, default=0) <= 3, "all rows are sorted"


MIXED = {
    "words and numbers": np.array(["a", 1, "b"], dtype=object),
    "bytes": np.array([b"a", b"b"]),
    "lists": np.array([["a", "b"], ["b"]], dtype=object),
    "a word and a list": np.array(["a", ["b"]], dtype=object),
    "missing": np.array([0.0, np.nan, 1.0]),
    "missing, all whole": np.array([0.0, np.inf, 1.0]),
    "objects": np.array([1, 2], dtype=object),
}


@pytest.mark.parametrize("name", MIXED)
@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")
def test_targets_without_a_type_are_refused(name: str) -> None:
    with pytest.raises((TypeError, ValueError)):
        TargetEncoder(cv=2).fit(np.zeros((len(MIXED[name]), 1)), MIXED[name])
    with pytest.raises((TypeError, ValueError)):
        encode_target(TargetEncoder(cv=2), MIXED[name])


LABELS = {
    "near": [3, 1, 2, 3],
    "gaps": [40_000, 7, 40_000, 7],
    "far": [2**62, 0, -5, 2**62],
    "one": [9, 9, 9],
    "extremes": [-(2**63), -(2**63) + 1],
}


@pytest.mark.parametrize("name", LABELS)
def test_labels_are_those_of_sklearn(name: str) -> None:
    y = np.array(LABELS[name])
    encoder = LabelEncoder().fit(y)
    codes, classes = encode_labels(y)
    np.testing.assert_array_equal(codes, encoder.transform(y))
    np.testing.assert_array_equal(classes, encoder.classes_)
    assert classes.dtype == y.dtype
    assert encode_target(TargetEncoder(cv=2), np.repeat(y, 4)).kind == type_of_target(y)


@pytest.mark.parametrize(
    "y", [np.array([True, False]), np.array([2**64 - 1, 2**64 - 2], dtype="uint64")]
)
def test_bools_and_the_greatest_integers_are_labels(y: np.ndarray) -> None:
    codes, classes = encode_labels(y)
    np.testing.assert_array_equal(classes[codes], y)
    assert (classes.dtype, classes.tolist()) == (y.dtype, sorted(y.tolist()))


SEVERAL = {
    "numbers": [TargetEncoder(cv=3, random_state=4), TargetEncoder(cv=3, random_state=4, smooth=1)],
    "in order": [TargetEncoder(cv=3, shuffle=False) for _ in range(2)],
    "folds": [TargetEncoder(cv=KFold(3)) for _ in range(2)],
    "strata": [TargetEncoder(cv=StratifiedKFold(3, shuffle=True, random_state=1)) for _ in "ab"],
}
APART = {
    "drawn": [TargetEncoder(cv=3) for _ in range(2)],
    "generator": [TargetEncoder(cv=3, random_state=np.random.RandomState(0)) for _ in range(2)],
    "seeds": [TargetEncoder(cv=3, random_state=seed) for seed in (0, 1)],
    "numbers of folds": [TargetEncoder(cv=n, random_state=0) for n in (2, 3)],
    "kinds of folds": [TargetEncoder(cv=kind(3)) for kind in (KFold, StratifiedKFold)],
    "types": [TargetEncoder(cv=KFold(3), target_type=kind) for kind in ("binary", "continuous")],
    "shuffled or not": [TargetEncoder(cv=KFold(3)), TargetEncoder(cv=KFold(3, shuffle=True))],
    "listed": [TargetEncoder(cv=[(np.arange(9), np.arange(9, 99))]) for _ in range(2)],
}


@pytest.mark.parametrize("name", SEVERAL)
def test_encoders_that_read_a_target_alike_read_it_once(name: str) -> None:
    y = target(99, 2, 0)
    first, second = SEVERAL[name]
    expected = encode_target(first, y)
    with ahead([first, StandardScaler(), second], y):
        found = encode_target(first, y)
        assert encode_target(second, y) is found
        other = encode_target(first, y.copy())
    assert other is not found
    for one in (found, other):
        np.testing.assert_array_equal(one.folds, expected.folds)
        np.testing.assert_array_equal(one.values, expected.values)
    assert encode_target(first, y) is not found


@pytest.mark.parametrize("name", APART)
def test_encoders_that_do_not_read_a_target_alike_read_it_apart(name: str) -> None:
    y = target(99, 2, 0)
    first, second = APART[name]
    with ahead([first, StandardScaler(), second], y):
        if name == "listed":
            with pytest.raises(ConfigError, match="exactly once"):
                encode_target(first, y)
        else:
            assert encode_target(second, y) is not encode_target(first, y)


def test_no_thread_and_no_folds_stay_when_a_fit_fails() -> None:
    y, before, kept = target(99, 2, 0), threading.active_count(), []
    estimators = [TargetEncoder(cv=n, random_state=0) for n in (3, 4)]

    def fail() -> None:
        with ahead(estimators, y):
            kept.append(weakref.ref(encode_target(estimators[0], y).folds))
            raise KeyError("another step")

    with pytest.raises(KeyError, match="another step"):
        fail()
    gc.collect()
    assert threading.active_count() == before
    assert kept[0]() is None
