"""The GPU path gives what the CPU path and scikit-learn give, and asks RAPIDS only what it has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pipeline import Accelerated
from tests.contract.cases import CLASSIFIERS, TRANSFORMERS, Case, table, target
from tests.contract.recorder import Recorder
from tests.contract.verify import faults
from tests.names import one_in

WHOLE = {"rtol": 1e-6, "atol": 1e-9}


def dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if sparse.issparse(matrix) else np.asarray(matrix)


def fitted(case: Case, device: str, dtype: str = "float32") -> tuple[Accelerated, pd.DataFrame]:
    X = table()
    model = Accelerated(clone(case.estimator), device=device, dtype=dtype)
    return model.fit(X, target(X, case.n_classes)), X


@pytest.mark.parametrize("case", one_in(4, TRANSFORMERS.values()), ids=list(TRANSFORMERS))
def test_transformer_gives_what_the_cpu_gives(case: Case, device: Recorder) -> None:
    model, X = fitted(case, "cuda")
    on_cpu, _ = fitted(case, "cpu")
    np.testing.assert_allclose(model.transform(X), on_cpu.transform(X), **WHOLE)
    assert faults(device.calls) == []


@pytest.mark.parametrize("case", TRANSFORMERS.values(), ids=list(TRANSFORMERS))
def test_transformer_gives_what_sklearn_gives(case: Case, device: Recorder) -> None:
    model, X = fitted(case, "cuda", "float64")
    reference = clone(case.estimator).fit(X, target(X, case.n_classes))
    expected = dense(reference.transform(X))
    np.testing.assert_allclose(model.transform(X), expected, rtol=1e-6, atol=case.atol)


@pytest.mark.parametrize("case", TRANSFORMERS.values(), ids=list(TRANSFORMERS))
def test_transformer_is_handed_over_whole(case: Case, device: Recorder) -> None:
    model, X = fitted(case, "cuda", "float64")
    np.testing.assert_allclose(model.transform(X), dense(model.to_sklearn().transform(X)), **WHOLE)


@pytest.mark.parametrize("case", CLASSIFIERS.values(), ids=list(CLASSIFIERS))
def test_classifier_gives_what_the_cpu_gives(case: Case, device: Recorder) -> None:
    model, X = fitted(case, "cuda")
    on_cpu, _ = fitted(case, "cpu")
    np.testing.assert_allclose(model.predict_proba(X), on_cpu.predict_proba(X), **WHOLE)
    np.testing.assert_array_equal(model.predict(X), on_cpu.predict(X))
    assert faults(device.calls) == []


@pytest.mark.parametrize("case", CLASSIFIERS.values(), ids=list(CLASSIFIERS))
def test_classifier_is_handed_over_whole(case: Case, device: Recorder) -> None:
    model, X = fitted(case, "cuda", "float64")
    handed = model.to_sklearn()
    np.testing.assert_allclose(model.predict_proba(X), handed.predict_proba(X), **WHOLE)
    assert handed.steps[-1][1].get_params() == case.estimator.steps[-1][1].get_params()


def test_logistic_regression_gives_what_sklearn_gives(device: Recorder) -> None:
    case = CLASSIFIERS["logistic"]
    model, X = fitted(case, "cuda", "float64")
    reference = clone(case.estimator).fit(X, target(X))
    np.testing.assert_allclose(model.predict_proba(X), reference.predict_proba(X), rtol=1e-5)


def test_new_rows_with_unknown_and_missing_values(device: Recorder) -> None:
    model, X = fitted(TRANSFORMERS["ordinal"], "cuda")
    new = X[:4].assign(colour=["violet", None, "red", "violet"], town="nowhere")
    handed = model.to_sklearn()
    np.testing.assert_array_equal(model.transform(new), handed.transform(new))


def test_arrays_take_the_same_way(device: Recorder) -> None:
    X = np.random.default_rng(0).normal(5, 2, (60, 3))
    X[3, 1] = np.nan
    model = Accelerated(StandardScaler(), device="cuda", dtype="float64").fit(X)
    np.testing.assert_allclose(model.transform(X), StandardScaler().fit_transform(X), **WHOLE)
    assert model.execution_log_.entries[0].step == "input"
    assert {call.owner for call in device.calls} >= {"cupy", "cupy.ndarray"}
    assert faults(device.calls) == []


def test_a_scaler_weighs_the_rows_where_they_are(device: Recorder) -> None:
    X = table()[["amount", "count"]]
    weights = np.random.default_rng(0).exponential(size=len(X))
    for given in (X, X.to_numpy()):
        plain = StandardScaler().fit(given, sample_weight=weights)
        model = Accelerated(StandardScaler(), device="cuda").fit(given, sample_weight=weights)
        np.testing.assert_allclose(model.to_sklearn().scale_, plain.scale_, rtol=1e-12)
    assert faults(device.calls) == []


def test_table_on_the_device_is_not_copied(device: Recorder) -> None:
    import cudf

    X = table()
    on_device = cudf.from_pandas(X)
    model, _ = fitted(TRANSFORMERS["usual"], "cuda")
    expected = model.transform(X)
    np.testing.assert_array_equal(model.transform(on_device), expected)
    assert all(entry.step != "input" for entry in model.execution_log_.entries[-2:])


def test_series_on_the_device_serves_as_target(device: Recorder) -> None:
    import cudf

    X = table()
    y = pd.Series(target(X))
    estimator = CLASSIFIERS["logistic"].estimator
    model = Accelerated(estimator, device="cuda").fit(cudf.from_pandas(X), cudf.from_pandas(y))
    expected, _ = fitted(CLASSIFIERS["logistic"], "cuda")
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))
    assert faults(device.calls) == []


def test_missing_values_that_reach_cuml_are_one_clear_error(device: Recorder) -> None:
    X = table()[["amount", "count"]]
    model = Accelerated(make_pipeline(StandardScaler(), LogisticRegression()), device="cuda")
    with pytest.raises(ValueError, match="does not take missing values .NaN.; impute"):
        model.fit(X, target(table()))


def test_recorder_sees_every_library(device: Recorder) -> None:
    fitted(CLASSIFIERS["logistic"], "cuda")
    assert {call.owner for call in device.calls} >= {
        "cudf",
        "cudf.DataFrame",
        "cudf.Index",
        "cudf.Series",
        "cudf.Series.cat",
        "cuml.linear_model.LogisticRegression",
        "cupy",
        "cupy.cuda",
        "cupy.cuda.Stream",
        "cupy.ndarray",
    }
