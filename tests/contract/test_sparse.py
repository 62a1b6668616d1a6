"""Sparse rows on the GPU path: those that are given, and those that a program makes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import DBSCAN, KMeans
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Lasso, LogisticRegression, RidgeCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import BernoulliNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    KBinsDiscretizer,
    MaxAbsScaler,
    OneHotEncoder,
    QuantileTransformer,
    StandardScaler,
)
from sklearn.svm import SVC, LinearSVC
from xgboost import XGBClassifier

from pipeline import Accelerated, DataError, Unsupported, explain, load, save
from pipeline.backends.xgboost.xgboost_model import XGBoostModel
from pipeline.blocks import csr, table
from pipeline.compile.program import Program
from pipeline.system.devices import obstacle
from pipeline.table import frames, partitioned
from pipeline.trace import DENSIFY
from tests.contract.cases import EVERYWHERE
from tests.contract.recorder import LIVE, RECORDER, Recorder

pytestmark = pytest.mark.usefixtures("device")

_rng = np.random.default_rng(0)
DENSE = np.where(_rng.random((120, 5)) < 0.6, 0.0, _rng.integers(1, 5, (120, 5)))
Y = (DENSE[:, 0] + DENSE[:, 1] > 2).astype("int64")
X = sparse.csr_array(DENSE)
BYTES = frames.nbytes(sparse.csr_matrix(DENSE))


def twice() -> Any:
    parts = (np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), X.indptr * 2)
    return sparse.csr_array(parts, shape=X.shape)


def long_indices() -> Any:
    made = sparse.csr_array(DENSE)
    made.indices, made.indptr = made.indices.astype("int64"), made.indptr.astype("int64")
    return made


FORMS: dict[str, Any] = {
    "rows": X,
    "columns": sparse.csc_matrix(DENSE),
    "cells": sparse.coo_array(DENSE),
    "counts": X.astype("int64"),
    "cells stored twice": twice(),
    "int64 indices": long_indices(),
    "sparse columns": pd.DataFrame.sparse.from_spmatrix(X, columns=list("abcde")),
}


@EVERYWHERE
@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_copied_once_as_rows(form: str) -> None:
    model = Accelerated(LogisticRegression(), device="cuda", dtype="float64").fit(FORMS[form], Y)
    expected = LogisticRegression().fit(DENSE, Y).predict_proba(DENSE)
    np.testing.assert_allclose(model.predict_proba(FORMS[form]), expected, atol=1e-2)
    (moved,) = (event for event in model.execution_log_.events if event.call == "copy")
    assert (moved.step, moved.device) == ("input", "cuda")
    assert moved.to_device_bytes == BYTES


MODELS: dict[str, Any] = {
    "bayes": MultinomialNB(),
    "bits": BernoulliNB(),
    "lasso": Lasso(0.01),
    "neighbours": KNeighborsClassifier(),
    "support vectors": SVC(),
    "inside another": OneVsRestClassifier(MultinomialNB()),
    "weights of counts": make_pipeline(TfidfTransformer(), LogisticRegression()),
}


@pytest.mark.parametrize("name", MODELS)
def test_models_learn_from_rows_as_they_are(name: str, device: Recorder) -> None:
    estimator = MODELS[name]
    model = Accelerated(clone(estimator), device="cuda", dtype="float64").fit(X, Y)
    assert DENSIFY not in [event.call for event in model.execution_log_.events]
    assert explain(estimator, "cuda", X).supported
    if name != "inside another":
        assert {place.device for place in model.plan_.placements} == {"cuda"}
        assert model.execution_log_.to_host_bytes < BYTES
    expected = clone(estimator).fit(X, Y).predict(X)
    for made in (model, model.to_sklearn()):
        np.testing.assert_allclose(made.predict(X), expected, atol=1e-3)


TAKES_NONE = [
    DBSCAN(),
    KMeans(2, random_state=0),
    LinearSVC(random_state=0),
    RandomForestClassifier(random_state=0),
    Nystroem(random_state=0),
    RidgeCV(),
]
ASKED = ("predict", "predict_proba", "transform")


@pytest.mark.parametrize("estimator", TAKES_NONE, ids=str)
def test_what_takes_none_is_given_a_matrix_that_the_log_tells_of_where_there_is_room(
    estimator: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    why = f"{type(estimator).__name__} does not support sparse rows on the GPU"
    learning = Accelerated(clone(estimator), device="cuda", dtype="float32")
    if estimator in TAKES_NONE[:4]:  # the others are array-API code, which no stand-in runs
        model, plain = clone(learning).fit(X, Y), clone(learning).fit(DENSE, Y)
        for name in [name for name in ASKED if hasattr(model, name)]:
            wanted = getattr(plain, name)(DENSE)
            np.testing.assert_allclose(getattr(model, name)(X), wanted)
            np.testing.assert_allclose(getattr(model.to_sklearn(), name)(X), wanted, rtol=1e-5)
        told = {entry.why for entry in model.execution_log_.entries if entry.call == DENSIFY}
        assert told == {f"{why}: {DENSE.nbytes // 2:,} bytes"}
    monkeypatch.setattr(partitioned, "room", lambda device: DENSE.nbytes - 1)
    sizes = f"120 rows of 5 columns take {DENSE.nbytes // 2:,} bytes, .* {DENSE.nbytes - 1:,} bytes"
    with pytest.raises(Unsupported, match=sizes):
        clone(learning).fit(X, Y)
    model = clone(learning).set_params(fallback=True, dtype="float64").fit(X, Y)
    (place,) = model.plan_.placements
    assert (place.device, why in place.note) == ("cpu", True)
    assert DENSIFY not in {entry.call for entry in model.execution_log_.entries}
    for name in (name for name in ASKED if hasattr(model, name)):
        expected = getattr(clone(estimator).fit(X, Y), name)(X)
        np.testing.assert_allclose(getattr(model, name)(X), expected)


def test_cells_that_cuml_does_not_take_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    ones = pd.DataFrame(DENSE, columns=list("abcde")).astype(pd.SparseDtype("float64", 1.0))
    with pytest.raises(DataError, match="fill value of .* is not zero; pass"):
        Accelerated(LogisticRegression(), device="cuda").fit(ones, Y)
    monkeypatch.setattr(frames, "INT32", X.nnz - 1)
    with pytest.raises(DataError, match=f"{X.nnz} nonzero values, but cuML supports at most"):
        Accelerated(LogisticRegression(), device="cuda").fit(X, Y)


boosted = pytest.mark.skipif(not obstacle(), reason="XGBoost would train on the GPU here")
quiet = pytest.mark.filterwarnings("ignore:.*(No visible GPU|not compiled with CUDA|Device is).*")


# Rows that a program makes.

RNG = np.random.default_rng(0)
N = 400
TABLE = pd.DataFrame(
    {
        "a": RNG.normal(size=N),
        "b": RNG.integers(0, 3, N).astype("float64"),
        "t": RNG.choice([f"v{i}" for i in range(40)], N),
        "u": RNG.choice(list("abc"), N),
    }
)
TARGET = (RNG.random(N) < 0.4).astype("int64")
NEW = TABLE.sample(30, random_state=0).assign(t=["new", *TABLE["t"][:29]])
MATRIX = RNG.integers(0, 9, (N, 2)).astype("float64")
HOT = OneHotEncoder(handle_unknown="ignore")
NUMBERS = (StandardScaler(), ["a", "b"])
WIDE = make_column_transformer(NUMBERS, (HOT, ["t", "u"]))
NEED = N * 45 * 4
"""Bytes of its matrix in float32."""
OF_FRAMES: dict[str, Any] = {
    "beside numbers": WIDE,
    "dense as few are zero": make_column_transformer(NUMBERS, (HOT, ["u"])),
    "sparse as asked for": make_column_transformer(NUMBERS, (HOT, ["u"]), sparse_threshold=1.0),
    "beside what passes": make_column_transformer((HOT, ["t"]), ("passthrough", ["a", "b"])),
    "bins": make_column_transformer((KBinsDiscretizer(4, quantile_method="linear"), ["a"])),
}
OF_MATRICES: dict[str, Any] = {
    "alone": HOT,
    "one dropped": OneHotEncoder(drop="if_binary", handle_unknown="ignore"),
    "a union": make_union(HOT, KBinsDiscretizer(3, quantile_method="linear")),
    "scaled": make_pipeline(KBinsDiscretizer(5, quantile_method="linear"), MaxAbsScaler()),
    "nothing is left": make_column_transformer((HOT, [0]), ("drop", [1])),
}
PROGRAMS = {name: (each, TABLE, NEW) for name, each in OF_FRAMES.items()} | {
    name: (each, MATRIX, MATRIX[:9] + (name == "alone")) for name, each in OF_MATRICES.items()
}


def assert_same(made: Any, expected: Any) -> None:
    assert (type(made), made.dtype, made.shape) == (type(expected), expected.dtype, expected.shape)
    if sparse.issparse(expected):
        for part in ("indptr", "indices"):
            np.testing.assert_array_equal(getattr(made, part), getattr(expected, part), strict=True)
        made, expected = made.data, expected.data
    np.testing.assert_allclose(made, expected, rtol=1e-12, atol=1e-12)


@EVERYWHERE
@pytest.mark.filterwarnings("ignore:Found unknown")
@pytest.mark.parametrize("name", PROGRAMS)
def test_rows_that_are_made_are_those_of_sklearn(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "GPU_CELLS", 1000)
    estimator, rows, new = PROGRAMS[name]
    model = Accelerated(clone(estimator), device="cuda", dtype="float64")
    reference = clone(estimator)
    assert_same(model.fit_transform(rows, TARGET), reference.fit_transform(rows, TARGET))
    assert {place.device for place in model.plan_.placements} == {"cuda"}
    expected = reference.transform(new)
    save(model, tmp_path / "m.model")
    loaded = [load(tmp_path / "m.model", device=device) for device in ("cpu", "cuda")]
    for made in (model, model.to_sklearn(), *loaded):
        assert_same(made.transform(new), expected)


def learnt(estimator: Any, **params: Any) -> Accelerated:
    return Accelerated(clone(estimator), device="cuda", **params).fit(TABLE, TARGET)


@EVERYWHERE
def test_a_model_learns_from_them_and_none_come_to_the_host() -> None:
    program = make_pipeline(WIDE, LogisticRegression(tol=1e-6, max_iter=1000))
    model = learnt(program, dtype="float64", host_bytes=0)
    expected = clone(program).fit(TABLE, TARGET).predict_proba(NEW)
    np.testing.assert_allclose(model.predict_proba(NEW), expected, atol=1e-2)
    assert DENSIFY not in {entry.call for entry in model.execution_log_.entries}


@EVERYWHERE
def test_a_forest_is_given_a_matrix_and_the_log_tells_it() -> None:
    model = learnt(make_pipeline(WIDE, RandomForestClassifier(20, random_state=0)))
    model.predict(NEW)
    told = [e for e in model.execution_log_.entries if e.call == DENSIFY]
    assert [(e.step, e.device) for e in told] == [("columntransformer", "cuda")] * 2
    assert (
        told[0].why
        == f"RandomForestClassifier does not support sparse rows on the GPU: {NEED:,} bytes"
    )


N_VALUES, N_COLUMNS, N_ROWS = 500, 10, 100_000
CODES = np.random.default_rng(0).integers(0, N_VALUES, (N_ROWS, N_COLUMNS))


def as_text(codes: np.ndarray) -> pd.DataFrame:
    text = np.array([f"v{1000 * i:07}" for i in range(N_VALUES)], dtype=object)
    return pd.DataFrame(dict(enumerate(text[codes.T])), dtype="str").rename(columns=str)


@pytest.mark.parametrize("call", ["fit_transform", "transform"])
@pytest.mark.parametrize("make", [lambda codes: 1000.0 * codes, as_text], ids=["numbers", "text"])
def test_bytes_are_those_of_the_rows_that_are_made(
    make: Any, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many rows a value as of 50,000 values and ten million rows, with codes as large."""
    monkeypatch.setattr(table, "GPU_CELLS", N_ROWS * N_COLUMNS // 8)
    large = lambda known: known._replace(codes=known.codes.astype("int32"))  # noqa: E731
    monkeypatch.setattr(table, "_small", large)
    # The arguments of a call that is recorded stay alive.
    monkeypatch.setattr(RECORDER, "call", lambda *_: None)
    there = frames.to_device(make(CODES), "cuda")
    given = frames.nbytes(there)
    program = Program(OneHotEncoder(), "float32", why_dense="").fit(there)
    with LIVE.counted() as live:
        if not frames.is_frame(there):  # one of the stand-ins is pandas', which is not counted
            LIVE.hold(there._host)
        before = live.nbytes
        made = getattr(program, call)(there)
        assert live.peak - before <= frames.nbytes(made) + 0.25 * given
    assert made.nnz == N_ROWS * N_COLUMNS
    assert made.shape[1] == N_COLUMNS * N_VALUES


@boosted
@quiet
def test_behind_preprocessing_xgboost_makes_the_model_of_scikit_learns_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(XGBoostModel, "_check_device", lambda self, booster: None)
    prepare = make_column_transformer((OneHotEncoder(), ["t"]), ("passthrough", ["b"]))
    program = make_pipeline(prepare, XGBClassifier(n_estimators=5))
    judged = {"eval_set": [(TABLE[:30], TARGET[:30])], "verbose": False}
    model = Accelerated(program, device="cuda").fit(TABLE, TARGET, **judged)
    rows = clone(prepare).fit_transform(TABLE)
    expected = XGBClassifier(n_estimators=5).fit(rows, TARGET).predict_proba(rows)
    for made in (model, model.to_sklearn()):
        np.testing.assert_array_equal(made.predict_proba(TABLE), expected)


@pytest.mark.parametrize("estimator", [KNeighborsClassifier(), NearestNeighbors()], ids=str)
def test_neighbors_among_sparse_rows_are_found_of_dense_ones(
    estimator: Any, tmp_path: Path
) -> None:
    asked = "predict" if hasattr(estimator, "predict") else "kneighbors"
    model = Accelerated(clone(estimator), device="cuda").fit(X, Y)
    save(model, tmp_path / "m.model")
    wanted = getattr(model, asked)(X)
    for each in (model, load(tmp_path / "m.model", device="cuda")):
        np.testing.assert_array_equal(getattr(each, asked)(DENSE), wanted)
        np.testing.assert_array_equal(each.kneighbors()[1], model.to_sklearn().kneighbors()[1])


def test_neighbors_of_rows_far_off_zero_are_not_searched_on_the_device() -> None:
    near = np.random.default_rng(0).normal(size=(200, 4)).astype("float32")
    far = near + np.float32(1e4)
    with pytest.raises(Unsupported, match="too far from zero.*StandardScaler.*device='auto'"):
        Accelerated(NearestNeighbors(), device="cuda").fit(far)
    Accelerated(NearestNeighbors(), device="cuda").fit(near)
    Accelerated(NearestNeighbors(metric="manhattan"), device="cuda").fit(far)


def test_cells_that_int32_does_not_reach_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csr, "MOST", 999)
    with pytest.raises(
        Unsupported, match="1,600 values are not zero.* at most 999; use fewer rows"
    ):
        Accelerated(clone(WIDE), device="cuda").fit_transform(TABLE)


def test_numbers_that_sklearn_would_make_others_of_are_refused() -> None:
    normal = QuantileTransformer(n_quantiles=9, output_distribution="normal")
    program = make_pipeline(make_column_transformer((HOT, ["t"])), normal, LogisticRegression())
    with pytest.raises(Unsupported, match="other numbers from sparse rows than from dense ones"):
        learnt(program)
