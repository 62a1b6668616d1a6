from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.impute import SimpleImputer
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler, TargetEncoder

from pipeline.errors import ConfigError, DataError, Unsupported
from pipeline.preprocessing.engine.program import Program
from tests.preprocessing.parity import assert_parity, close, quiet, sklearn_fit

ROWS = 160
NUMBERS = make_pipeline(SimpleImputer(), StandardScaler())
MEDIAN = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
ONE_HOT = OneHotEncoder(handle_unknown="ignore")
INNER = ColumnTransformer([("n", NUMBERS, ["n1"]), ("c", ONE_HOT, ["c1"])])


def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"n1": rng.normal(size=ROWS), "n2": rng.integers(0, 9, ROWS)})
    X["c1"], X["c2"] = rng.choice(list("abc"), ROWS), rng.choice(["x", "y"], ROWS)
    X["b"] = rng.random(ROWS) < 0.5
    X.loc[::5, "n1"] = np.nan
    X.loc[::7, "c1"] = np.nan
    return X


def new_rows() -> pd.DataFrame:
    return table()[:6].assign(n1=[np.nan, 0, 1, 2, 3, 4], c1=["a", "new", "b", "c", np.nan, "a"])


def columns(*transformers: tuple[str, Any, Any], **params: Any) -> ColumnTransformer:
    return ColumnTransformer(list(transformers), **params)


NUMERIC = make_column_selector(dtype_include=np.number)
WORDS = make_column_selector(dtype_exclude=[np.number, bool])
SPECS = {
    "names": columns(("n", NUMBERS, ["n1", "n2"]), ("c", ONE_HOT, ["c1", "c2"])),
    "another order": columns(("c", ONE_HOT, ["c2", "c1"]), ("n", NUMBERS, ["n2", "n1"])),
    "positions": columns(("n", NUMBERS, [0, 1]), ("c", ONE_HOT, [-2, 2])),
    "slices": columns(("n", NUMBERS, slice(0, 2)), ("c", ONE_HOT, slice("c1", "c2"))),
    "masks": columns(("n", NUMBERS, [True, True, False, False, False])),
    "selectors": columns(("n", NUMBERS, NUMERIC), ("c", ONE_HOT, WORDS)),
    "passed through": columns(("n", NUMBERS, ["n1"]), ("p", "passthrough", ["n2", "b"])),
    "dropped": columns(("n", NUMBERS, ["n1"]), ("d", "drop", ["n2"])),
    "remainder passed through": columns(
        ("n", NUMBERS, ["n1"]), ("c", ONE_HOT, ["c2", "c1"]), remainder="passthrough"
    ),
    "remainder scaled": columns(
        ("n", NUMBERS, ["n1"]), ("c", ONE_HOT, ["c1", "c2"]), remainder=StandardScaler()
    ),
    "remainder in a pipeline": columns(("c", ONE_HOT, ["c1", "c2"]), remainder=MEDIAN),
    "a column twice": columns(("a", NUMBERS, ["n1"]), ("b", MEDIAN, ["n1", "n2"])),
    "no columns": columns(("e", ONE_HOT, []), ("n", NUMBERS, ["n1"])),
    "short names": columns(
        ("n", NUMBERS, ["n1"]), ("c", ONE_HOT, ["c1"]), verbose_feature_names_out=False
    ),
    "names by format": columns(
        ("n", NUMBERS, ["n1"]), verbose_feature_names_out="{feature_name} of {transformer_name}"
    ),
    "target": columns(("t", TargetEncoder(cv=KFold(3)), ["c1", "c2"]), ("n", NUMBERS, ["n1"])),
    "nested": columns(("in", INNER, ["n1", "c1"]), ("x", ONE_HOT, ["c2"])),
    "nested in another order": columns(
        ("in", columns(("n", NUMBERS, [1]), ("c", ONE_HOT, [0])), ["c1", "n1"])
    ),
    "nested in a pipeline": columns(
        ("in", make_pipeline(INNER, StandardScaler(with_mean=False)), ["n1", "c1", "n2"])
    ),
    "first in a pipeline": make_pipeline(INNER, StandardScaler(with_mean=False)),
    "steps left out": columns(
        ("n", Pipeline([("off", "passthrough"), ("s", StandardScaler())]), ["n1", "n2"]),
        ("c", Pipeline([("off", "passthrough"), ("o", ONE_HOT)]), ["c1"]),
        ("p", Pipeline([("off", "passthrough")]), ["n2"]),
    ),
    "weighted": columns(
        ("n", NUMBERS, ["n1"]),
        ("c", ONE_HOT, ["c1", "c2"]),
        ("p", "passthrough", ["b"]),
        remainder=StandardScaler(),
        transformer_weights={"n": 2, "c": 0.5, "p": 3.0, "remainder": -1.0, "nobody": 9},
    ),
    "weighted to nothing, or not at all": columns(
        ("n", NUMBERS, ["n1"]), ("c", ONE_HOT, ["c1"]), transformer_weights={"n": 0, "c": None}
    ),
    "weighted twice": columns(
        ("in", columns(("n", NUMBERS, ["n1"]), transformer_weights={"n": 2.0}), ["n1"]),
        ("c", make_pipeline(ONE_HOT, StandardScaler(with_mean=False)), ["c1"]),
        transformer_weights={"in": 3.0, "c": 0.1},
    ),
    "dense one-hot": columns(("c", OneHotEncoder(sparse_output=False), ["c2"])),
}


@pytest.mark.parametrize("name", SPECS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_equals_sklearn(name: str, dtype: str) -> None:
    y = np.random.default_rng(1).normal(size=ROWS)
    assert_parity(SPECS[name], table(), y, new_rows(), dtype)


@pytest.mark.parametrize(
    "estimator",
    [
        columns(("n", NUMBERS, [0, 1]), ("c", ONE_HOT, [2])),
        columns(("n", NUMBERS, slice(0, 2)), remainder="passthrough"),
        columns(("n", NUMBERS, [True, False, True])),
        make_pipeline(SimpleImputer(), StandardScaler()),
    ],
    ids=["positions", "slices", "masks", "pipeline"],
)
def test_arrays_equal_sklearn(estimator: Any) -> None:
    X = table()[["n1", "n2", "b"]].astype("float64").to_numpy()
    assert_parity(estimator, X)


def test_frames_with_numbers_for_names_equal_sklearn() -> None:
    X = table().set_axis([10, 20, 30, 40, 50], axis=1)
    assert_parity(columns(("n", NUMBERS, [0, 1]), ("c", ONE_HOT, [2])), X)


def test_odd_names_equal_sklearn() -> None:
    odd = {"n1": "", "n2": " a b ", "c1": "日本", "c2": "x__y"}
    estimator = columns(("n", NUMBERS, ["", " a b "]), ("c", ONE_HOT, ["日本", "x__y"]))
    assert_parity(estimator, table().rename(columns=odd))


def test_imputed_columns_are_encoded_together() -> None:
    """What scikit-learn makes an object array of, stays codes and numbers here."""
    imputed = columns(
        ("n", SimpleImputer(strategy="median"), ["n2"]),
        ("c", SimpleImputer(strategy="most_frequent"), ["c1", "c2"]),
    )
    estimator = make_pipeline(imputed, OneHotEncoder(handle_unknown="ignore"))
    close(Program(estimator, "float64").fit_transform(table()), sklearn_fit(estimator, table())[1])


def test_a_weight_that_is_no_number_is_refused() -> None:
    estimator = columns(
        ("n", NUMBERS, ["n1", "n2"]), transformer_weights={"n": np.array([1.0, 2.0])}
    )
    with pytest.raises(Unsupported, match="the weight of 'n' is array.*use a Python number"):
        Program(estimator).fit(table())


def test_text_cannot_be_weighted() -> None:
    imputed = columns(
        ("c", SimpleImputer(strategy="most_frequent"), ["c1"]), transformer_weights={"c": 2}
    )
    with pytest.raises(ConfigError, match="categories reach a step that takes numbers"):
        Program(make_pipeline(imputed, ONE_HOT)).fit(table())


def test_nothing_selected_is_a_matrix_without_columns() -> None:
    estimator = columns(("d", "drop", ["n1"]))
    assert Program(estimator).fit_transform(table()).shape == (ROWS, 0)
    assert sklearn_fit(estimator, table())[1].shape == (ROWS, 0)


def test_text_cannot_be_passed_through() -> None:
    with pytest.raises(DataError, match="column 'c1' holds str values where numbers are needed"):
        Program(columns(("p", "passthrough", ["c1"]))).fit_transform(table())


def test_text_cannot_be_scaled() -> None:
    estimator = make_pipeline(SimpleImputer(strategy="most_frequent"), StandardScaler())
    with pytest.raises(ConfigError, match="categories reach a step that takes numbers"):
        Program(estimator).fit_transform(table()[["c1"]])


def test_errors_of_sklearn_name_the_step_and_its_columns() -> None:
    estimator = columns(("o", OrdinalEncoder(encoded_missing_value=0), ["c1"]))
    with pytest.raises(DataError, match=r"^OrdinalEncoder on the columns \['c1'\]: encoded_mis"):
        Program(estimator).fit(table())


def test_hand_over_holds_nothing_frozen_and_nothing_of_ours() -> None:
    plain = Program(SPECS["remainder scaled"]).fit(table()).to_sklearn()
    assert "Frozen" not in repr(vars(plain))
    assert b"pipeline." not in pickle.dumps(plain).replace(b"sklearn.pipeline.", b"")


def test_hand_over_can_be_fitted_again() -> None:
    plain = Program(SPECS["nested"]).fit(table()[:50]).to_sklearn()
    with quiet():
        again = plain.fit(table()).transform(new_rows())
        np.testing.assert_allclose(again, SPECS["nested"].fit(table()).transform(new_rows()))


LOAD = """
import pickle, sys
plain, X, expected = pickle.load(open(sys.argv[1], "rb"))
import warnings; warnings.simplefilter("ignore")
assert abs(plain.transform(X) - expected).max() < 1e-6
print([name for name in sys.modules if name.split(".")[0] in ("pipeline", "xgboost", "cupy")])
"""


def test_hand_over_is_loaded_without_us(tmp_path: Path) -> None:
    program = Program(SPECS["remainder scaled"]).fit(table())
    X = new_rows().ffill().bfill()
    file = tmp_path / "plain.pickle"
    file.write_bytes(pickle.dumps((program.to_sklearn(), X, program.transform(X))))
    run = [sys.executable, "-c", LOAD, str(file)]
    done = subprocess.run(run, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")
