from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from pipeline.errors import DataError, Unsupported
from pipeline.preprocessing.engine.program import Program
from pipeline.preprocessing.transformers.function import UFUNCS, is_ufunc
from tests.names import plain
from tests.preprocessing.columns import NUMBERS, frame
from tests.preprocessing.parity import (
    assert_both_refuse,
    assert_parity,
    close,
    differences,
    quiet,
    sklearn_fit,
)
from tests.strategies import tables

ROWS = 130
SNAPSHOT = Path(__file__).parents[2] / "contract" / "snapshot.json"


def one(func: Any = None, inverse: Any = None, **params: Any) -> FunctionTransformer:
    return FunctionTransformer(func, inverse, feature_names_out="one-to-one", **params)


@pytest.fixture
def numbers() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame({"a": rng.uniform(0.1, 0.9, ROWS), "b": rng.uniform(0.2, 0.8, ROWS)})


@pytest.mark.parametrize("name", sorted(UFUNCS))
def test_every_function_equals_sklearn(name: str, numbers: pd.DataFrame) -> None:
    X = numbers + (1 if name == "arccosh" else 0)
    assert_parity(one(getattr(np, name)), X)
    assert_parity(one(getattr(np, name)), X, dtype="float32")


def test_every_function_is_in_cupy_too_and_takes_one_array() -> None:
    cupy = json.loads(SNAPSHOT.read_text("utf-8"))["owners"]["cupy"]
    assert set(cupy) >= UFUNCS
    for name in UFUNCS:
        assert (getattr(np, name).nin, getattr(np, name).nout) == (1, 1)


@pytest.mark.parametrize("func", [None, np.abs, np.square, np.negative])
@pytest.mark.parametrize("validate", [False, True])
@pytest.mark.parametrize("kind", [k for k in NUMBERS if "missing" not in k and "huge" not in k])
def test_kinds_of_numbers(func: Any, validate: bool, kind: str) -> None:
    assert_parity(one(func, validate=validate), frame(kind))


@pytest.mark.parametrize("func", [None, np.sign, np.log1p])
@pytest.mark.parametrize("kind", [k for k in NUMBERS if "missing" in k])
def test_missing_values_stay(func: Any, kind: str) -> None:
    X = frame(kind).abs()
    program = Program(one(func), "float64")
    close(program.fit_transform(X), sklearn_fit(one(func), X.astype("float64"))[1])


@pytest.mark.parametrize("dtype", ["float32", np.float32, "float64", np.float64])
def test_a_type_may_be_asked_for(numbers: pd.DataFrame, dtype: Any) -> None:
    assert_parity(one(np.log, kw_args={"dtype": dtype}), numbers)
    assert_parity(one(np.log, kw_args={}, inv_kw_args={"any": "thing"}), numbers)


CHAINS = {
    "scaled": make_pipeline(one(np.log1p), StandardScaler()),
    "checked, then scaled": make_pipeline(one(np.log1p, validate=True), StandardScaler()),
    "two, then scaled": make_pipeline(one(np.abs), one(np.sqrt), StandardScaler()),
    "in a pipeline": make_pipeline(make_pipeline(one(np.abs)), one(), StandardScaler()),
    "behind an array": make_pipeline(StandardScaler(), one(np.tanh), SimpleImputer()),
    "in a column transformer": make_column_transformer(
        (make_pipeline(one(np.log), StandardScaler()), ["b"]), (one(np.exp), ["a"])
    ),
    "in a union": FeatureUnion([("log", one(np.log)), ("same", one()), ("p", "passthrough")]),
    "before a union": make_pipeline(
        one(np.log), FeatureUnion([("s", StandardScaler()), ("p", "passthrough")])
    ),
    "weighted": ColumnTransformer(
        [("log", one(np.log), ["a"]), ("not", one(np.isfinite), ["b"])],
        transformer_weights={"log": 2.0, "not": 3},
    ),
}


@pytest.mark.parametrize("name", CHAINS)
def test_steps_around_it_equal_sklearn(name: str, numbers: pd.DataFrame) -> None:
    """The names that a frame keeps are those that scikit-learn hands on."""
    assert_parity(CHAINS[name], numbers)


def test_text_stays_text() -> None:
    X = pd.DataFrame({"c": ["a", "b", None, "a"], "n": [1.0, 2.0, 2.0, np.nan]})
    imputed = make_pipeline(one(), SimpleImputer(strategy="most_frequent"), OneHotEncoder())
    close(Program(imputed, "float64").fit_transform(X), sklearn_fit(imputed, X)[1])
    assert_parity(make_pipeline(one(), OneHotEncoder(handle_unknown="ignore")), X[["c"]])


def test_functions_of_text_are_refused() -> None:
    X = pd.DataFrame({"c": ["a", "b"]})
    assert "column 'c' holds" in assert_both_refuse(one(validate=True), X)
    with pytest.raises(DataError, match="column 'c' holds"):
        Program(one(np.log)).fit(X)


def test_validate_takes_no_missing_values(numbers: pd.DataFrame) -> None:
    estimator = one(np.log, validate=True)
    hole = numbers.mask(numbers > 0.7)
    message = assert_both_refuse(estimator, hole)
    assert "FunctionTransformer: column 'a' holds missing values" in message
    with pytest.raises(DataError, match="column 'a' holds missing values"):
        Program(estimator).fit(numbers).transform(hole)


def test_functions_that_take_no_such_type_say_so() -> None:
    X = np.array([[True], [False]])
    with pytest.raises(DataError, match="FunctionTransformer: np.negative on bool"):
        Program(one(np.negative)).fit_transform(X)


@pytest.mark.parametrize("rows", [1, 3, ROWS])
def test_a_wrong_inverse_is_warned_of(
    numbers: pd.DataFrame, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.preprocessing.engine.table.CHUNK_ROWS", rows)
    estimator = one(np.sqrt, np.log1p)
    with pytest.warns(UserWarning, match="not strictly inverse"):
        sklearn_spec = estimator.fit(numbers)
    with pytest.warns(UserWarning, match="not strictly inverse .* set 'check_inverse=False"):
        ours = Program(estimator).fit(numbers).to_sklearn()
    assert differences(ours, sklearn_spec) == []


def test_a_right_inverse_and_one_not_checked_are_not_warned_of(numbers: pd.DataFrame) -> None:
    Program(one(np.log, np.exp)).fit(numbers)
    Program(one(np.log, np.log, check_inverse=False)).fit(numbers)
    Program(one(np.log1p, np.expm1)).fit(numbers.mask(numbers > 0.5))
    assert_parity(one(np.log, lambda X: X, check_inverse=False), numbers)


def halved(X: Any) -> Any:
    return X / 2


def refused(estimator: Any) -> list[tuple[str | None, str]]:
    with pytest.raises(Unsupported) as caught:
        Program(estimator).fit(np.ones((2, 1)))
    return [(r.parameter, r.why) for r in caught.value.reasons]


@pytest.mark.parametrize(
    "func",
    [halved, np.sort, np.cumsum, np.clip, np.nan_to_num, np.add, np.modf, np.invert, expit, len],
    ids=lambda func: func.__name__,
)
def test_other_functions_may_not_run_on_the_device(func: Any) -> None:
    assert not is_ufunc(func)
    assert refused(one(func)) == [("func", f"func={func.__name__} may not run on the device")]
    with pytest.raises(Unsupported, match=r"use None or a NumPy ufunc.*or run the step in scikit"):
        Program(one(func)).fit(np.ones((2, 1)))


@pytest.mark.parametrize(
    ("estimator", "parameter"),
    [
        (one(np.log, kw_args={"where": [True]}), "kw_args"),
        (one(np.log, kw_args={"dtype": "float16"}), "kw_args"),
        (one(kw_args={"dtype": "float32"}), "kw_args"),
        (one(np.log, halved), "inverse_func"),
        (one(np.log, np.exp, inv_kw_args={"order": "F"}), "inv_kw_args"),
        (FunctionTransformer(feature_names_out=lambda t, names: names), "feature_names_out"),
    ],
    ids=plain,
)
def test_other_parameters_are_refused(estimator: Any, parameter: str) -> None:
    ((name, _),) = refused(estimator)
    assert name == parameter


@given(X=tables("numbers"), func=st.sampled_from([None, np.sign, np.arctan, np.cbrt, np.floor]))
def test_any_numbers(X: pd.DataFrame, func: Any) -> None:
    X = X.astype("float64")
    with quiet():
        assert_parity(one(func), X)
