"""The folds and labels of a target, against scikit-learn's own."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.preprocessing import LabelEncoder, StandardScaler, TargetEncoder
from sklearn.utils.multiclass import type_of_target

from pipeline.data.target import encode_labels
from pipeline.errors import ConfigError, DataError
from pipeline.preprocessing.transformers import target_encoder
from pipeline.preprocessing.transformers.target_encoder import ahead, read_target

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
    codes, classes = encode_labels(y)
    np.testing.assert_array_equal(codes, encoder.transform(y))
    np.testing.assert_array_equal(classes, encoder.classes_)
    assert classes.dtype == y.dtype
    assert read_target(TargetEncoder(cv=2), np.repeat(y, 4)).kind == type_of_target(y)


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
    expected = read_target(first, y)
    with ahead([first, StandardScaler(), second], y):
        found = read_target(first, y)
        assert read_target(second, y) is found
        other = read_target(first, y.copy())
    assert other is not found
    for one in (found, other):
        np.testing.assert_array_equal(one.folds, expected.folds)
        np.testing.assert_array_equal(one.values, expected.values)
    assert read_target(first, y) is not found


@pytest.mark.parametrize("name", APART)
def test_encoders_that_do_not_read_a_target_alike_read_it_apart(name: str) -> None:
    y = target(99, 2, 0)
    first, second = APART[name]
    with ahead([first, StandardScaler(), second], y):
        if name == "listed":
            with pytest.raises(ConfigError, match="exactly once"):
                read_target(first, y)
        else:
            assert read_target(second, y) is not read_target(first, y)


def test_folds_are_drawn_while_the_caller_works(monkeypatch: pytest.MonkeyPatch) -> None:
    draw, working, y = target_encoder._drawn, threading.Event(), target(99, 2, 0)

    def patient(*args: Any) -> Any:
        assert working.wait(60), "the caller waits"
        return draw(*args)

    monkeypatch.setattr(target_encoder, "_drawn", patient)
    with ahead([TargetEncoder(random_state=0)], y):
        working.set()
        assert read_target(TargetEncoder(random_state=0), y).kind == "binary"


def test_no_thread_and_no_folds_stay_when_a_fit_fails() -> None:
    y, before, kept = target(99, 2, 0), threading.active_count(), []
    estimators = [TargetEncoder(cv=n, random_state=0) for n in (3, 4)]

    def fail() -> None:
        with ahead(estimators, y):
            kept.append(weakref.ref(read_target(estimators[0], y).folds))
            raise KeyError("another step")

    with pytest.raises(KeyError, match="another step"):
        fail()
    gc.collect()
    assert threading.active_count() == before
    assert kept[0]() is None


@pytest.mark.parametrize(
    ("estimator", "y"),
    [
        (TargetEncoder(random_state=0), np.array([0.5, np.nan])),
        (TargetEncoder(target_type="multiclass", random_state=0), np.array([0, 1] * 9)),
        (TargetEncoder(cv=20, random_state=0), np.array([0, 1] * 9)),
        (TargetEncoder(cv=KFold(20)), np.array([0, 1] * 9)),
        (TargetEncoder(cv=StratifiedKFold(2)), np.arange(20) / 3),
        (TargetEncoder(cv=1, random_state=0), np.array([0, 1] * 9)),
    ],
    ids=["missing", "two labels", "too many strata", "too many folds", "reals", "one fold"],
)
@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")
def test_errors_are_raised_where_the_target_is_needed(
    estimator: TargetEncoder, y: np.ndarray
) -> None:
    with pytest.raises((TypeError, ValueError)) as expected:
        read_target(estimator, y)
    with ahead([estimator], y), pytest.raises(type(expected.value)) as found:
        read_target(estimator, y)
    assert str(found.value) == str(expected.value)


def test_warnings_reach_the_thread_that_needs_the_target() -> None:
    estimator, y = TargetEncoder(cv=5, random_state=0), np.array([0, 1] * 9 + [2] * 3)
    with ahead([estimator], y), pytest.warns(UserWarning, match="The least populated class"):
        read_target(estimator, y)


def test_what_others_draw_from_is_not_touched_ahead() -> None:
    y = target(99, 2, 0)
    np.random.seed(0)  # noqa: NPY002 - a part of what is tested
    expected = [read_target(estimator, y).folds for estimator in APART["drawn"]]
    np.random.seed(0)  # noqa: NPY002
    with ahead(APART["drawn"], y):
        found = [read_target(estimator, y).folds for estimator in APART["drawn"]]
    np.testing.assert_array_equal(found, expected)


def test_shuffling_lets_other_threads_work() -> None:
    rows, turns = np.arange(2_000_000), []
    shuffled = threading.Event()

    def shuffle() -> None:
        target_encoder.shuffler(0).shuffle(rows)
        shuffled.set()

    thread = threading.Thread(target=shuffle)
    thread.start()
    while not shuffled.wait(0.0005):
        turns.append(0)
    thread.join()
    expected = np.arange(2_000_000)
    np.random.RandomState(0).shuffle(expected)
    np.testing.assert_array_equal(rows, expected)
    assert len(turns) > 1
