"""The folds and labels of a target, against scikit-learn's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.preprocessing import LabelEncoder, TargetEncoder
from sklearn.utils.multiclass import type_of_target

from pipeline.errors import DataError
from pipeline.preprocessing.targets import labels, read_target

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
            read_target(TargetEncoder(cv=ours), y)
        return
    np.testing.assert_array_equal(read_target(TargetEncoder(cv=ours), y).folds, expected)


@pytest.mark.parametrize("kind", [KFold, StratifiedKFold])
def test_a_generator_is_left_where_sklearn_leaves_it(kind: Any) -> None:
    y = target(500, 3, 0)
    ours, theirs = np.random.RandomState(5), np.random.RandomState(5)
    folds = read_target(TargetEncoder(cv=kind(4, shuffle=True, random_state=ours)), y).folds
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
            read_target(TargetEncoder(cv=splitter), y)
        return
    folds = read_target(TargetEncoder(cv=splitter), y).folds
    for number, (_, held_out) in enumerate(expected):
        np.testing.assert_array_equal(np.flatnonzero(folds == number), held_out)


def test_nobody_asks_a_kfold_for_the_rows_to_train_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("all rows but those of the fold are listed")

    monkeypatch.setattr(KFold, "split", refuse)
    y = np.random.default_rng(0).normal(size=100)
    assert read_target(TargetEncoder(cv=3), y).kind == "continuous"


def test_labels_that_are_numbers_are_not_sorted(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("all rows are sorted")

    monkeypatch.setattr(np, "sort", refuse)
    monkeypatch.setattr(StratifiedKFold, "_make_test_folds", refuse)
    y = target(1000, 3, 0)
    assert read_target(TargetEncoder(random_state=0), y).kind == "multiclass"


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
    assert read_target(TargetEncoder(cv=2), y).kind == expected
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
        read_target(TargetEncoder(cv=2), MIXED[name])


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
    codes, classes = labels(y)
    np.testing.assert_array_equal(codes, encoder.transform(y))
    np.testing.assert_array_equal(classes, encoder.classes_)
    assert classes.dtype == y.dtype
    assert read_target(TargetEncoder(cv=2), np.repeat(y, 4)).kind == type_of_target(y)


@pytest.mark.parametrize(
    "y", [np.array([True, False]), np.array([2**64 - 1, 2**64 - 2], dtype="uint64")]
)
def test_bools_and_the_greatest_integers_are_labels(y: np.ndarray) -> None:
    codes, classes = labels(y)
    np.testing.assert_array_equal(classes[codes], y)
    assert (classes.dtype, classes.tolist()) == (y.dtype, sorted(y.tolist()))
