"""What the GPU cannot do is told at once and in full, or runs on the host in plain sight."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from pipeline import Accelerated, DataError, Unsupported, explain
from tests.contract.cases import table, target
from tests.contract.recorder import Recorder
from tests.contract.verify import faults

HALF_SUPPORTED = make_pipeline(
    make_column_transformer(
        (KNNImputer(), ["amount"]),
        (SimpleImputer(missing_values=-1), ["count"]),
    ),
    LogisticRegression(warm_start=True),
)


def test_strict_mode_tells_every_reason(device: Recorder) -> None:
    X = table()
    with pytest.raises(Unsupported) as caught:
        Accelerated(HALF_SUPPORTED, device="cuda").fit(X, target(X))
    found = [(reason.step, reason.parameter) for reason in caught.value.reasons]
    assert found == [
        ("columntransformer.knnimputer", None),
        ("columntransformer.simpleimputer", "missing_values"),
        ("logisticregression", None),
    ]
    assert "warm_start=True" in str(caught.value)
    assert "device='auto'" in str(caught.value)


def test_nothing_is_moved_before_the_refusal(device: Recorder) -> None:
    X = table()
    with pytest.raises(Unsupported):
        Accelerated(HALF_SUPPORTED, device="cuda").fit(X, target(X))
    assert device.copies == []


def test_fallback_runs_the_step_on_the_host_and_books_the_copies(device: Recorder) -> None:
    X = table()
    estimator = make_pipeline(
        make_column_transformer((StandardScaler(), ["count"]), (OneHotEncoder(), ["town"])),
        SGDClassifier(loss="log_loss", random_state=0),
    )
    model = Accelerated(estimator, device="cuda", fallback=True).fit(X, target(X))
    matrix = len(X) * 41 * np.dtype("float32").itemsize
    back = [
        e for e in model.execution_log_.entries if e.step == "sgdclassifier" and e.call == "copy"
    ]
    assert [(entry.device, entry.to_host_bytes) for entry in back] == [("cpu", matrix)]
    placed = model.plan_.placements[-1]
    assert (placed.device, placed.implementation) == ("cpu", "sklearn.SGDClassifier")
    assert "on the host" in placed.note
    assert model.execution_log_.to_host_bytes == device.nbytes("host", "explicit")
    on_cpu = Accelerated(estimator, device="cpu", dtype="float32").fit(X, target(X))
    np.testing.assert_allclose(model.predict_proba(X), on_cpu.predict_proba(X), rtol=1e-6)


def test_fallback_in_the_middle_brings_the_data_back(device: Recorder) -> None:
    X = table()[["amount", "count"]].fillna(0)
    estimator = make_pipeline(StandardScaler(), KNNImputer(), LogisticRegression())
    model = Accelerated(estimator, device="cuda", fallback=True).fit(X, target(table()))
    moves = [(e.step, e.device) for e in model.execution_log_.entries if e.call == "copy"]
    assert moves == [("input", "cuda"), ("knnimputer", "cpu"), ("logisticregression", "cuda")]
    assert faults(device.calls) == []


def test_parameters_without_effect_are_told(device: Recorder) -> None:
    told = str(explain(LogisticRegression(solver="saga", random_state=0, C=0.5), device="cuda"))
    assert "without effect in cuML: random_state=0, solver='saga'" in told
    assert "C=0.5" not in told


def test_text_labels(device: Recorder) -> None:
    X = table()
    y = np.array(["no", "yes"], dtype=object)[target(X)]
    estimator = make_pipeline(
        make_column_transformer((StandardScaler(), ["count"])), LogisticRegression()
    )
    model = Accelerated(estimator, device="cuda").fit(X, y)
    on_cpu = Accelerated(estimator, device="cpu").fit(X, y)
    np.testing.assert_array_equal(model.predict(X), on_cpu.predict(X))


def test_estimator_without_preprocessing_takes_a_frame(device: Recorder) -> None:
    X = table()[["count", "member"]]
    exact = Accelerated(LogisticRegression(), device="cuda", dtype="float64")
    model = exact.fit(X, target(table()))
    on_cpu = Accelerated(LogisticRegression(), device="cpu").fit(X, target(table()))
    np.testing.assert_allclose(model.predict_proba(X), on_cpu.predict_proba(X), rtol=1e-5)
    assert faults(device.calls) == []


@pytest.mark.parametrize(
    ("dtype", "values"),
    [
        ("Int64", [1, 2, 3]),
        ("boolean", [True, False, True]),
        ("Float64", [0.5, 1.5, 2.5]),
    ],
)
def test_nullable_columns_without_nulls(dtype: str, values: list, device: Recorder) -> None:
    X = pd.DataFrame({"x": pd.array(values, dtype=dtype)})
    estimator = make_column_transformer((StandardScaler(), ["x"]))
    model = Accelerated(estimator, device="cuda").fit(X)
    on_cpu = Accelerated(estimator, device="cpu").fit(X)
    np.testing.assert_allclose(model.transform(X), on_cpu.transform(X), rtol=1e-6)


def test_mixed_objects_are_a_data_error_that_names_the_column(device: Recorder) -> None:
    X = table().assign(colour=pd.Series(["red", 1] * 120, dtype=object))
    estimator = make_column_transformer((OneHotEncoder(), ["colour"]))
    with pytest.raises(DataError, match="colour"):
        Accelerated(estimator, device="cuda").fit(X)
