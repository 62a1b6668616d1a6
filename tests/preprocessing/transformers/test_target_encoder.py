from __future__ import annotations

from threading import active_count, get_ident
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit, StratifiedKFold
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import OrdinalEncoder, StandardScaler, TargetEncoder

from pipeline import Accelerated
from pipeline.errors import ConfigError, DataError
from pipeline.preprocessing.engine.program import Program
from pipeline.preprocessing.transformers import target_encoder
from pipeline.preprocessing.transformers.target_encoder import shrink
from tests.preprocessing.columns import CATEGORICAL, OURS_ALONE, frame
from tests.preprocessing.parity import (
    assert_both_refuse,
    assert_parity,
    close,
    quiet,
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


@pytest.mark.parametrize("smooth", SMOOTH)
@pytest.mark.parametrize("target", TARGETS)
def test_equals_sklearn(smooth: Any, target: str, table: pd.DataFrame, new: pd.DataFrame) -> None:
    assert_parity(TargetEncoder(smooth=smooth, cv=FOLDS), table, TARGETS[target], new)


@pytest.mark.parametrize("target", CLASSES)
def test_stratified_folds_equal_sklearn(
    target: str, table: pd.DataFrame, new: pd.DataFrame
) -> None:
    folds = StratifiedKFold(4, shuffle=True, random_state=2)
    assert_parity(TargetEncoder(cv=folds), table, TARGETS[target], new)


@pytest.mark.parametrize("target", ["two labels", "three labels", "real"])
@pytest.mark.parametrize(
    "params",
    [{"cv": 4, "random_state": 3}, {"cv": 4, "shuffle": False}, {"cv": 3, "random_state": 0}],
    ids=str,
)
def test_numbers_of_folds_equal_sklearn(
    params: dict[str, Any], target: str, table: pd.DataFrame
) -> None:
    assert_parity(TargetEncoder(**params), table, TARGETS[target])


def test_listed_folds_equal_sklearn(table: pd.DataFrame) -> None:
    first, second = np.arange(100), np.arange(100, ROWS)
    estimator = TargetEncoder(cv=[(second, first), (first, second)])
    assert_parity(estimator, table, TARGETS["real"])


def test_integers_as_a_real_target(table: pd.DataFrame) -> None:
    estimator = TargetEncoder(target_type="continuous", cv=FOLDS)
    assert_parity(estimator, table, TARGETS["four numbers"])


def test_column_vector_as_target(table: pd.DataFrame) -> None:
    y = TARGETS["real"]
    estimator = TargetEncoder(cv=FOLDS)
    with quiet():
        assert_parity(estimator, table, y[:, None])
    np.testing.assert_array_equal(
        Program(estimator).fit_transform(table, y),
        Program(estimator).fit_transform(table, y[:, None]),
    )


@pytest.mark.parametrize("kind", CATEGORICAL)
def test_kinds_of_columns(kind: str) -> None:
    X = frame(kind)
    assert_parity(TargetEncoder(cv=FOLDS), X, TARGETS["real"][: len(X)])


@pytest.mark.parametrize("kind", OURS_ALONE)
def test_none_and_na_are_missing_too(kind: str) -> None:
    X = frame(kind, OURS_ALONE)
    y = TARGETS["real"][: len(X)]
    nan_only = X.astype(object).where(X.notna(), np.nan)
    estimator = TargetEncoder(cv=FOLDS)
    close(Program(estimator, "float64").fit_transform(X, y), sklearn_fit(estimator, nan_only, y)[1])


def test_training_rows_do_not_see_their_own_target(table: pd.DataFrame) -> None:
    y = TARGETS["real"].copy()
    before = Program(TargetEncoder(cv=FOLDS), "float64").fit_transform(table, y)
    y[7] += 1000.0
    after = Program(TargetEncoder(cv=FOLDS), "float64").fit_transform(table, y)
    # The sums are of all rows less those of the fold, so rounding is all that passes.
    np.testing.assert_allclose(before[7], after[7], rtol=1e-9)
    assert np.abs(before - after).max() > 1.0


def test_fit_then_transform_uses_all_rows(table: pd.DataFrame) -> None:
    estimator, y = TargetEncoder(cv=FOLDS), TARGETS["real"]
    with quiet():
        expected = estimator.fit(table, y).transform(table)
    close(Program(estimator, "float64").fit(table, y).transform(table), expected)


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


def test_inside_a_pipeline_the_next_step_sees_the_held_out_encodings(
    table: pd.DataFrame, new: pd.DataFrame
) -> None:
    estimator = make_pipeline(
        SimpleImputer(strategy="most_frequent"), TargetEncoder(cv=FOLDS), StandardScaler()
    )
    assert_parity(estimator, table[["k", "f"]], TARGETS["real"], new[["k", "f"]])


@pytest.mark.parametrize("target", ["two labels", "three labels", "real"])
def test_encoders_with_the_same_folds_draw_them_once(
    target: str, table: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn, draw = [], target_encoder._drawn

    def counted(seen: Any) -> Any:
        drawn.append(get_ident())
        return draw(seen)

    monkeypatch.setattr(target_encoder, "_drawn", counted)
    seeded = TargetEncoder(cv=StratifiedKFold(4) if target != "real" else KFold(4))
    estimator = make_pipeline(
        make_column_transformer(
            (make_pipeline(SimpleImputer(strategy="most_frequent"), seeded), ["k"]),
            (make_union(clone(seeded), TargetEncoder(cv=FOLDS)), ["c", "f"]),
        )
    )
    y = TARGETS[target]
    found = Accelerated(estimator, device="cpu", dtype="float64").fit_transform(table, y)
    assert len(drawn) == 2
    assert get_ident() not in drawn
    close(found, sklearn_fit(estimator, table, y)[1])


def test_encoders_that_draw_from_the_same_generator_draw_in_order(table: pd.DataFrame) -> None:
    chosen = [(TargetEncoder(cv=KFold(4, shuffle=True)), [name]) for name in ("c", "k")]
    estimator = make_column_transformer(*chosen, (TargetEncoder(cv=FOLDS), ["f"]))
    y = TARGETS["real"]
    np.random.seed(0)  # noqa: NPY002 - what scikit-learn draws from where it is given nothing
    expected = sklearn_fit(estimator, table, y)[1]
    np.random.seed(0)  # noqa: NPY002
    close(Accelerated(estimator, device="cpu", dtype="float64").fit_transform(table, y), expected)


def test_an_earlier_step_is_at_fault_first(table: pd.DataFrame) -> None:
    before, y = active_count(), TARGETS["two labels"]
    bad = TargetEncoder(target_type="continuous", cv=FOLDS)
    step = (OrdinalEncoder(categories=[["a"]]), ["c"])
    for steps, fault in (
        ((step, (bad, ["k"])), "OrdinalEncoder has handle_unknown"),
        (((bad, ["k"]), step), "TargetEncoder on the columns"),
    ):
        with pytest.raises(DataError, match=fault):
            Accelerated(make_column_transformer(*steps), device="cpu").fit(table, y)
    assert active_count() == before


def test_two_rows() -> None:
    X = pd.DataFrame({"c": ["a", "b"]})
    assert_parity(TargetEncoder(cv=KFold(2)), X, np.array([1.0, 2.0]))


def test_shrink_without_smoothing_is_the_mean_of_the_category() -> None:
    sums = np.array([[[4.0, 0.0]], [[2.0, 0.0]], [[2.0, 0.0]]])
    totals = np.array([[8.0], [6.0], [6.0]])
    np.testing.assert_allclose(shrink(sums, totals, 0.0), [[0.5, 0.75]])


@given(X=tables(), seed=st.integers(0, 9), smooth=st.sampled_from(SMOOTH))
def test_any_table(X: pd.DataFrame, seed: int, smooth: Any) -> None:
    X = pd.concat([X, X], ignore_index=True)
    y = np.random.default_rng(seed).normal(size=len(X))
    folds = KFold(2, shuffle=True, random_state=seed)
    assert_parity(TargetEncoder(smooth=smooth, cv=folds), X, y)
