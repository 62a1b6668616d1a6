"""Frames and batches on the GPU path."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    StandardScaler,
)

from pipeline import Accelerated
from pipeline.data import frames
from pipeline.preprocessing.engine import table as tables
from pipeline.preprocessing.engine.program import Program
from pipeline.preprocessing.transformers import power
from tests.contract.cases import NUMBERS, table
from tests.contract.recorder import Recorder
from tests.contract.verify import faults

FRAMED = {
    "numbers": make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), NUMBERS),
        (OneHotEncoder(sparse_output=False), ["colour"]),
    ),
    "passed on": make_column_transformer(
        (MinMaxScaler(), ["amount"]), ("passthrough", ["colour", "size", "count"])
    ),
}


def made(name: str, device: str) -> pd.DataFrame:
    estimator = FRAMED[name].set_output(transform="pandas")
    model = Accelerated(estimator, device=device, dtype="float64")
    frame = model.fit_transform(table())
    pd.testing.assert_frame_equal(model.transform(table()), frame)
    return frame


@pytest.mark.parametrize("name", FRAMED)
def test_frames_are_those_of_the_cpu(name: str, device: Recorder) -> None:
    found, expected = made(name, "cuda"), made(name, "cpu")
    pd.testing.assert_frame_equal(found, expected, check_categorical=False)
    assert faults(device.calls) == []


def test_batches_are_merged_as_on_the_cpu(device: Recorder) -> None:
    estimator = make_column_transformer((MinMaxScaler(), ["amount"]), (OrdinalEncoder(), ["town"]))
    X, results = table(), []
    for where in ("cuda", "cpu"):
        model = Accelerated(estimator, device=where, dtype="float64")
        for rows in np.array_split(np.arange(len(X)), 4):
            model.partial_fit(X.iloc[rows])
        results.append(model.transform(X))
    np.testing.assert_allclose(*results, rtol=1e-12)
    assert faults(device.calls) == []


def test_a_first_row_may_be_missing_in_integers_that_are_passed_on(device: Recorder) -> None:
    X = pd.DataFrame({"a": pd.array([None, 1, 2, 3], dtype="Int64"), "b": np.arange(4.0)})
    estimator = make_column_transformer((MinMaxScaler(), ["b"]), ("passthrough", ["a"]))
    model = Accelerated(estimator, device="cuda").fit(X)
    made = model.to_sklearn().transform(X[1:]).astype("float64")
    np.testing.assert_allclose(made, model.transform(X[1:]), rtol=1e-6)


def test_a_frame_between_programs_has_the_types_that_the_cpu_gives_it(device: Recorder) -> None:
    X = pd.DataFrame({"a": np.arange(40) + 2**60, "b": np.arange(40.0) % 7})
    first = make_column_transformer(
        (SimpleImputer(strategy="most_frequent"), ["a"]),
        (StandardScaler(), ["b"]),
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    second = make_column_transformer((OrdinalEncoder(), ["a"]), (MinMaxScaler(), ["b"]))
    estimator = make_pipeline(first, second)
    found, wanted = (
        Accelerated(estimator, device=where, dtype="float64").fit_transform(X)
        for where in ("cuda", "cpu")
    )
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    np.testing.assert_allclose(wanted, estimator.fit_transform(X), rtol=1e-12)
    assert "concat" in {call.name for call in device.calls}
    assert faults(device.calls) == []


@pytest.mark.parametrize("in_logs", [False, True])
@pytest.mark.parametrize("estimator", [PowerTransformer(), PowerTransformer("box-cox")], ids=repr)
def test_powers_are_those_of_the_cpu_however_the_table_is_cut(
    estimator: PowerTransformer, in_logs: bool, device: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = np.random.default_rng(0).gamma(2.0, 1.0, (300, 5))
    X[:70, 0], X[::3, 1] = np.nan, np.nan
    X[:, 2] += 10.0
    if estimator.method == "yeo-johnson":
        X[:, 1] -= 1.0
        X[:, 3] *= -1.0
        X[:, 4] = 0.1
    monkeypatch.setattr(power, "ONE_SIGN_IN_LOGS", in_logs)
    expected = Program(estimator, "float64").fit(X)
    monkeypatch.setattr(tables, "GPU_CELLS", 300)
    monkeypatch.setattr(power, "AT_ONCE", 2)
    found = Program(estimator, "float64").fit(frames.to_device(X, "cuda"))
    ours, theirs = found.to_sklearn(), expected.to_sklearn()
    np.testing.assert_allclose(ours.lambdas_, theirs.lambdas_, rtol=1e-5)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), rtol=1e-5, atol=1e-6)
    assert faults(device.calls) == []
