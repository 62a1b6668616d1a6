from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.model_selection import KFold
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline, make_union
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler, TargetEncoder

from pipeline.errors import ConfigError, DataError
from pipeline.preprocessing.engine.build import leaves, reasons
from pipeline.preprocessing.engine.program import Program
from tests.preprocessing.parity import assert_parity, quiet, sklearn_fit

ROWS = 150
SCALED = make_pipeline(SimpleImputer(), StandardScaler())
ONE_HOT = OneHotEncoder(handle_unknown="ignore")
TARGET = TargetEncoder(cv=KFold(3))


def numbers() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(5, 2, ROWS), "b": rng.integers(0, 9, ROWS)})
    X.loc[::6, "a"] = np.nan
    return X


def words() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return pd.DataFrame({"c": rng.choice(list("xyz"), ROWS), "d": rng.choice(["p", "q"], ROWS)})


def union(*parts: tuple[str, Any], **params: Any) -> FeatureUnion:
    return FeatureUnion(list(parts), **params)


def columns(*parts: tuple[str, Any, Any], **params: Any) -> ColumnTransformer:
    return ColumnTransformer(list(parts), **params)


BOTH = union(("s", SCALED), ("m", MissingIndicator(features="all")))
NUMERIC = {
    "two": BOTH,
    "weighted": union(
        ("s", SCALED), ("p", "passthrough"), transformer_weights={"s": 3.0, "p": 0.5}
    ),
    "weighted by whole numbers, and by nothing": union(
        ("s", SCALED), ("m", MinMaxScaler()), transformer_weights={"s": 2, "m": None}
    ),
    "passed through first": union(("p", "passthrough"), ("s", SCALED)),
    "dropped": union(("d", "drop"), ("s", SCALED), ("e", "drop")),
    "union in a union": union(
        ("u", BOTH), ("s", MinMaxScaler()), transformer_weights={"u": 10.0, "s": 2.0}
    ),
    "made": make_union(SCALED, MinMaxScaler(), n_jobs=1),
    "short names": union(("s", SCALED), verbose_feature_names_out=False),
    "first in a pipeline": make_pipeline(BOTH, StandardScaler()),
    "behind a step": make_pipeline(
        SimpleImputer(strategy="median"),
        union(("s", StandardScaler()), ("p", "passthrough"), ("m", MinMaxScaler())),
    ),
    "behind a union": make_pipeline(
        BOTH,
        union(("s", StandardScaler()), ("p", "passthrough"), transformer_weights={"p": -1.0}),
    ),
    "behind a step left out": Pipeline([("off", "passthrough"), ("u", BOTH)]),
    "of column transformers": union(
        ("one", columns(("s", SCALED, ["b", "a"]))),
        ("two", columns(("m", MinMaxScaler(), ["b"]), remainder="passthrough")),
        transformer_weights={"two": 0.1},
    ),
    "in a column transformer": columns(
        ("u", union(("s", SCALED), ("p", "passthrough")), ["a"]), remainder=MinMaxScaler()
    ),
    "in both": columns(
        ("u", union(("ct", columns(("s", SCALED, ["a"]))), ("p", "passthrough")), ["b", "a"]),
        transformer_weights={"u": 4},
    ),
}


@pytest.mark.parametrize("name", NUMERIC)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_equals_sklearn(name: str, dtype: str) -> None:
    new = pd.DataFrame({"a": [np.nan, 1.0, 7.0], "b": [3, 2, 11]})
    assert_parity(NUMERIC[name], numbers(), None, new, dtype)


@pytest.mark.parametrize(
    "estimator",
    [
        union(("o", ONE_HOT), ("t", TARGET)),
        union(("o", ONE_HOT), ("t", TARGET), transformer_weights={"o": 2.0, "t": 0.25}),
        make_pipeline(
            SimpleImputer(strategy="most_frequent"), union(("o", ONE_HOT), ("t", TARGET))
        ),
        columns(("u", union(("o", ONE_HOT), ("t", TARGET)), ["c"]), ("d", ONE_HOT, ["d"])),
    ],
    ids=["first", "weighted", "behind an imputer", "in a column transformer"],
)
def test_text_equals_sklearn(estimator: Any) -> None:
    y = np.random.default_rng(2).normal(size=ROWS)
    assert_parity(estimator, words(), y, pd.DataFrame({"c": ["x", "new"], "d": ["q", "p"]}))


def test_arrays_equal_sklearn() -> None:
    for name in ("two", "weighted", "passed through first", "union in a union", "behind a step"):
        assert_parity(NUMERIC[name], numbers().to_numpy())


def test_columns_with_numbers_for_names_equal_sklearn() -> None:
    assert_parity(NUMERIC["passed through first"], numbers().set_axis([7, 8], axis=1))


@pytest.mark.parametrize("n_blocks", [1, 2, 7, 64])
def test_blocks_do_not_matter(n_blocks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.preprocessing.engine.table.CHUNK_ROWS", -(-ROWS // n_blocks))
    assert_parity(NUMERIC["behind a union"], numbers())


def test_all_dropped_is_a_matrix_without_columns() -> None:
    estimator = union(("d", "drop"))
    assert Program(estimator).fit_transform(numbers()).shape == (ROWS, 0)
    assert sklearn_fit(estimator, numbers())[1].shape == (ROWS, 0)


def test_names_of_the_columns_say_the_branch() -> None:
    plain = Program(NUMERIC["weighted"]).fit(numbers()).to_sklearn()
    assert plain.get_feature_names_out().tolist() == ["s__a", "s__b", "p__a", "p__b"]
    assert plain.transformer_weights == {"s": 3.0, "p": 0.5}


def test_hand_over_holds_nothing_of_ours_and_can_be_fitted_again() -> None:
    plain = Program(NUMERIC["in both"]).fit(numbers()[:50]).to_sklearn()
    assert b"pipeline." not in pickle.dumps(plain).replace(b"sklearn.pipeline.", b"")
    _, expected = sklearn_fit(NUMERIC["in both"], numbers())
    with quiet():
        np.testing.assert_allclose(plain.fit_transform(numbers()), expected)


def test_the_spec_is_not_changed() -> None:
    estimator = union(("p", "passthrough"), ("s", StandardScaler()))
    Program(estimator).fit(numbers())
    assert estimator.transformer_list[0] == ("p", "passthrough")
    assert not hasattr(estimator.transformer_list[1][1], "mean_")


def test_text_cannot_be_passed_through() -> None:
    with pytest.raises(DataError, match="column 'c' holds str values where numbers are needed"):
        Program(union(("p", "passthrough"), ("o", ONE_HOT))).fit_transform(words())


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (union(("s", SCALED), transformer_weights={"zz": 1.0}), 's: Attempting to weight .*"zz"'),
        (union(("s", SCALED), ("s", SCALED)), "s: Names provided are not unique"),
        (union(), "s: the FeatureUnion has no transformers"),
    ],
    ids=["weight of nobody", "twice", "empty"],
)
def test_what_sklearn_refuses(estimator: Any, message: str) -> None:
    with quiet(), pytest.raises(ValueError):  # noqa: PT011 - scikit-learn words it in several ways
        estimator.fit(numbers())
    with pytest.raises(ConfigError, match=f"^{message}"):
        Program(estimator, step="s").fit(numbers())


def test_leaves_and_reasons_have_paths() -> None:
    estimator = union(("p", PCA()), ("d", "drop"), ("s", SCALED), transformer_weights={"p": "much"})
    assert [path for path, _ in leaves(estimator, "u")] == [
        "u.p",
        "u.d",
        "u.s.simpleimputer",
        "u.s.standardscaler",
    ]
    found = [(reason.step, reason.parameter) for reason in reasons(estimator, "u")]
    assert found == [("u", "transformer_weights"), ("u.p", None)]


def test_column_transformer_in_a_union_behind_a_step_is_refused() -> None:
    late = union(("ct", columns(("s", StandardScaler(), [0]))))
    (reason,) = reasons(make_pipeline(SimpleImputer(), late), "s")
    assert reason.step == "s.featureunion.ct"
    assert reason.why == "a ColumnTransformer must come first in its pipeline"
