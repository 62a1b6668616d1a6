"""The GPU path gives what the CPU path and scikit-learn give, or says at once that it cannot."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.utils.discovery import all_estimators

from pipeline import Accelerated
from pipeline.backends.cuml.cuml_model import Cuml
from pipeline.backends.gpu_rules import CUML
from pipeline.blocks import table as tables
from pipeline.table import frames
from tests.contract.cases import (
    CLASSIFIERS,
    EVERYWHERE,
    ROWS,
    TRANSFORMERS,
    Case,
    dense,
    table,
    target,
    to_cudf,
)
from tests.contract.recorder import Recorder
from tests.names import one_in

pytestmark = pytest.mark.usefixtures("device")


def fitted(case: Case, device: str, dtype: str = "float32") -> tuple[Accelerated, pd.DataFrame]:
    X = table()
    model = Accelerated(clone(case.estimator), device=device, dtype=dtype)
    return model.fit(X, target(X, case.n_classes)), X


def asked(model: Any, X: Any) -> np.ndarray:
    method = model.predict_proba if hasattr(model, "predict_proba") else model.transform
    return dense(method(X))


@EVERYWHERE
@pytest.mark.parametrize("case", one_in(4, TRANSFORMERS.values()), ids=list(TRANSFORMERS))
def test_a_program_gives_what_sklearn_gives_and_is_handed_over_whole(case: Case) -> None:
    (model, X), (single, _) = fitted(case, "cuda", "float64"), fitted(case, "cuda")
    reference = clone(case.estimator).fit(X, target(X, case.n_classes))
    expected = asked(reference, X)
    for found in (asked(model, X), asked(model, to_cudf(X)), asked(model.to_sklearn(), X)):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=case.atol)
    on_cpu, _ = fitted(case, "cpu")
    np.testing.assert_allclose(asked(single, X), asked(on_cpu, X), rtol=1e-4, atol=1e-5)


@EVERYWHERE
@pytest.mark.parametrize("case", CLASSIFIERS.values(), ids=list(CLASSIFIERS))
def test_a_classifier_gives_what_sklearn_gives_and_is_handed_over_whole(
    case: Case, device: Recorder | None
) -> None:
    model, X = fitted(case, "cuda", "float64")
    y, found, lifted = target(X, case.n_classes), model.predict_proba(X), model.to_sklearn()
    assert lifted[-1].get_params() == case.estimator[-1].get_params()
    # On a GPU a value within rounding of a split may fall on its other side.
    far = np.abs(found - lifted.predict_proba(X)) > (1e-9 if device else 1e-3)
    assert far.mean() <= (0 if device else 0.01)
    reference = clone(case.estimator).fit(X, y)
    if device:
        np.testing.assert_allclose(found, reference.predict_proba(X), rtol=1e-5)
    assert abs(model.score(X, y) - reference.score(X, y)) < 0.05


@EVERYWHERE
@pytest.mark.parametrize(
    ("where", "y_where", "first"),
    # Nine is neither a multiple of eight, by which masks are cut, nor of what the nulls go by.
    [("cudf", "pandas", 9), ("cudf", "cudf", 9), ("pandas", "cudf", 0), ("cudf", "pandas", 0)],
)
@pytest.mark.parametrize("name", ["usual", "calendar", "imputed text with indicators", "ordinal"])
def test_a_form_of_the_input_makes_no_difference(
    name: str, where: str, y_where: str, first: int
) -> None:
    X, case = table(), TRANSFORMERS[name]
    y = pd.Series(target(X))
    upload = {"cudf": to_cudf, "pandas": lambda host: host}
    there, labels = upload[where](X).iloc[first:], upload[y_where](y).iloc[first:]
    model, on_cpu = (
        Accelerated(clone(case.estimator), device=name, dtype="float64") for name in ("cuda", "cpu")
    )
    found = asked(model.fit(there, labels), there)
    copied = {entry.step for entry in model.execution_log_.entries if entry.call == "copy"}
    assert ("input" in copied) == (where == "pandas")
    expected = asked(on_cpu.fit(X.iloc[first:], y.iloc[first:]), X.iloc[first:])
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("where", ["cudf", "cupy"])
def test_a_target_and_weights_of_a_gpu_are_booked_and_no_rows_to_a_budget(
    where: str, device: Recorder
) -> None:
    X = table(40 * ROWS)[["count", "member"]]
    y, weights = np.arange(len(X)) % 2, np.arange(len(X)) % 3 + 1.0
    upload = {
        "cudf": lambda values: to_cudf(pd.Series(values)),
        "cupy": lambda values: frames.to_device(values, "cuda"),
    }[where]
    program = make_pipeline(StandardScaler(), LogisticRegression())
    plain = Accelerated(program, device="cuda").fit(X, y, sample_weight=weights)
    labels, given = upload(y), upload(weights)
    device.clear()
    model = Accelerated(program, device="cuda", host_bytes=0).fit(X, labels, sample_weight=given)
    log = model.execution_log_
    brought = {e.step: e.to_host_bytes for e in log.entries if e.device == "cpu"}
    assert brought == {"sample_weight": weights.nbytes, "target": y.nbytes}
    assert log.to_host_bytes == device.nbytes("host", "explicit")
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))
    assert model.score(X, labels, sample_weight=given) == plain.score(X, y, sample_weight=weights)
    options: dict[str, Any] = {"repeats": 1, "random_state": 0}
    found = model.importance(X, labels, sample_weight=given, **options)
    wanted = plain.importance(X, y, sample_weight=weights, **options)
    np.testing.assert_array_equal(found.importances, wanted.importances)


def test_fallback_of_a_branch_brings_its_columns_alone(device: Recorder) -> None:
    X = table()
    columns = make_column_transformer(
        (KNNImputer(), ["amount"]),
        (StandardScaler(), ["count"]),
        (OneHotEncoder(sparse_output=False), ["town"]),
    )
    estimator = make_pipeline(columns, LogisticRegression())
    model = Accelerated(estimator, device="cuda", fallback=True).fit(X, target(X))
    moves = [(e.step, e.device) for e in model.execution_log_.entries if e.call == "copy"]
    inner = "columntransformer.knnimputer"
    assert moves == [("input", "cuda"), (inner, "cpu"), (inner, "cuda")]
    brought = [e.to_host_bytes for e in model.execution_log_.entries if e.step == inner]
    assert brought == [8 * len(X), 0]
    assert model.execution_log_.to_host_bytes == device.nbytes("host", "explicit")
    assert [p.step for p in model.plan_.placements if p.device == "cpu"] == [inner]


FRAMED = {
    "passed on": make_column_transformer(
        (MinMaxScaler(), ["amount"]), ("passthrough", ["colour", "size", "count"])
    ),
    "text": make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="most_frequent"), OrdinalEncoder()), ["colour"]),
        (make_pipeline(SimpleImputer(strategy="constant"), OrdinalEncoder()), ["size", "town"]),
    ),
}


@pytest.mark.parametrize("name", FRAMED)
def test_frames_are_those_of_the_cpu(name: str) -> None:
    estimator, made = clone(FRAMED[name]).set_output(transform="pandas"), []
    for where in ("cuda", "cpu"):
        model = Accelerated(estimator, device=where, dtype="float64")
        made.append(model.fit_transform(table()))
        pd.testing.assert_frame_equal(model.transform(table()), made[-1])
    pd.testing.assert_frame_equal(*made, check_categorical=False)


DENSE = {
    path: rule
    for path, rule in CUML.items()
    if path.startswith("sklearn.") and not rule.translation
}
CLASSES = dict(all_estimators())


@pytest.mark.quick(6)
@pytest.mark.parametrize("path", DENSE)
def test_the_matrix_has_the_order_of_the_estimator(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "GPU_CELLS", 1000)
    seen: list[Any] = []

    def learnable(self: Cuml, X: Any, *_: Any) -> Any:
        seen.append(X)
        raise KeyboardInterrupt

    monkeypatch.setattr(Cuml, "_learnable", learnable)
    X, last = table(), CLASSES[path.rpartition(".")[2]]()
    if "affinity" in last.get_params():
        last.set_params(affinity="nearest_neighbors")
    encode = make_column_transformer(
        (StandardScaler(), ["count"]),
        (OneHotEncoder(sparse_output=False), ["town"]),
        ("passthrough", ["member"]),
    )
    with pytest.raises(KeyboardInterrupt):
        Accelerated(make_pipeline(encode, last), device="cuda").fit(X, target(X))
    (matrix,) = seen
    flags = {"C": "c_contiguous", "F": "f_contiguous"}
    assert getattr(matrix.flags, flags[DENSE[path].order])
    np.testing.assert_allclose(matrix.get(), encode.fit_transform(X), rtol=1e-6)
