"""Sparse X on the GPU path: it goes over as sparse rows, once, and is never made dense unbooked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import Lasso, LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from pipeline import Accelerated, DataError, Unsupported, explain, load, save
from pipeline.data import frames, partitioned
from tests.contract.csr import csr_matrix
from tests.contract.recorder import Recorder

pytestmark = pytest.mark.usefixtures("device")

_rng = np.random.default_rng(0)
DENSE = np.where(_rng.random((80, 5)) < 0.6, 0.0, _rng.integers(1, 5, (80, 5)))
Y = (DENSE[:, 0] + DENSE[:, 1] > 2).astype("int64")
X = sp.csr_array(DENSE)


def twice() -> Any:
    return sp.csr_array(
        (np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), X.indptr * 2), shape=X.shape
    )


def long_indices() -> Any:
    made = sp.csr_array(DENSE)
    made.indices, made.indptr = made.indices.astype("int64"), made.indptr.astype("int64")
    return made


FORMS: dict[str, Any] = {
    "rows": X,
    "columns": sp.csc_matrix(DENSE),
    "cells": sp.coo_array(DENSE),
    "counts": X.astype("int64"),
    "cells stored twice": twice(),
    "int64 indices": long_indices(),
    "sparse columns": pd.DataFrame.sparse.from_spmatrix(X, columns=list("abcde")),
}
MODELS: dict[str, Any] = {
    "logistic": LogisticRegression(),
    "lasso": Lasso(0.01),
    "bayes": MultinomialNB(),
    "inside another": OneVsRestClassifier(MultinomialNB()),
    "weights of counts": make_pipeline(TfidfTransformer(), LogisticRegression()),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_copied_once_as_rows(form: str) -> None:
    model = Accelerated(LogisticRegression(), device="cuda", dtype="float64").fit(FORMS[form], Y)
    expected = LogisticRegression().fit(DENSE, Y).predict_proba(DENSE)
    np.testing.assert_allclose(model.predict_proba(FORMS[form]), expected, atol=1e-3)
    (moved,) = (event for event in model.execution_log_.events if event.call == "copy")
    assert (moved.step, moved.device) == ("input", "cuda")
    assert moved.to_device_bytes == frames.csr_nbytes(sp.csr_matrix(DENSE))


def test_counts_that_are_true_or_false_become_numbers() -> None:
    made = frames.csr_to_gpu(X.astype(bool))
    assert (made.dtype, made.indices.dtype) == (np.float64, np.int32)
    assert frames.csr_to_gpu(X.astype("float32")).dtype == np.float32


@pytest.mark.parametrize("name", MODELS)
def test_models_learn_from_them(name: str, tmp_path: Any) -> None:
    estimator = MODELS[name]
    model = Accelerated(clone(estimator), device="cuda", dtype="float64").fit(X, Y)
    assert "densify" not in [event.call for event in model.execution_log_.events]
    if name != "inside another":
        assert {place.device for place in model.plan_.placements} == {"cuda"}
    assert explain(estimator, "cuda", X).supported
    expected = clone(estimator).fit(X, Y).predict(X)
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-3)
    np.testing.assert_allclose(model.to_sklearn().predict(X), expected, atol=1e-3)


def test_rows_that_are_there_are_taken_as_they_are(recorder: Recorder) -> None:
    there = csr_matrix(X)
    model = Accelerated(LogisticRegression(), device="cuda", dtype="float64").fit(there, Y)
    assert "copy" not in [event.call for event in model.execution_log_.events]
    np.testing.assert_array_equal(model.predict(there), LogisticRegression().fit(X, Y).predict(X))
    expected = MaxAbsScaler().fit(X).transform(X)
    back = Accelerated(MaxAbsScaler(), device="cuda", fallback=True).fit(there).transform(there)
    np.testing.assert_array_equal(back.toarray(), expected.toarray())


@pytest.mark.parametrize(
    ("estimator", "why"),
    [
        (make_pipeline(MaxAbsScaler(), LogisticRegression()), "maxabsscaler: its rows are sparse"),
        (RandomForestClassifier(3), "takes no sparse rows on the GPU"),
    ],
    ids=["a twin", "trees"],
)
def test_what_reads_dense_rows_alone(
    estimator: Any, why: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partitioned, "room", lambda device: 100)
    with pytest.raises(Unsupported, match=f"(?s){why}"):
        Accelerated(clone(estimator), device="cuda").fit(X, Y)
    told = "dense where they fit, and refused otherwise", why
    assert any(each in str(explain(estimator, "cuda", X)) for each in told)
    seeds = {n: 0 for n in estimator.get_params() if n.endswith("random_state")}
    estimator = clone(estimator).set_params(**seeds)
    model = Accelerated(clone(estimator), device="cuda", fallback=True, dtype="float64").fit(X, Y)
    assert model.plan_.steps[0].device == "cpu"
    expected = clone(estimator).fit(X, Y).predict(X)
    np.testing.assert_array_equal(model.predict(X), expected)
    save(model, tmp_path / "m.model")
    np.testing.assert_array_equal(load(tmp_path / "m.model", device="cpu").predict(X), expected)


@pytest.mark.parametrize("form", ["rows", "sparse columns"])
def test_sparse_rows_of_a_model_of_dense_ones(form: str) -> None:
    new = FORMS[form]
    dense = pd.DataFrame(DENSE, columns=list("abcde")) if form == "sparse columns" else DENSE
    estimator = make_pipeline(StandardScaler(with_mean=False), LogisticRegression())
    model = Accelerated(estimator, device="cuda", dtype="float64").fit(dense, Y)
    with pytest.raises(DataError, match=r"X is sparse.*pass X\.toarray\(\)"):
        model.predict(new)
    model = Accelerated(estimator, device="cuda", fallback=True, dtype="float64").fit(dense, Y)
    expected = clone(estimator).fit(dense, Y).predict(new)
    np.testing.assert_array_equal(model.predict(new), expected)


class csc_matrix:  # noqa: N801
    """As much of CuPy's columns as is asked of them here."""

    __module__ = "cupyx.scipy.sparse._csc"
    shape, dtype, toarray = X.shape, X.dtype, None

    def tocsr(self) -> csr_matrix:
        return csr_matrix.made(sp.csr_matrix(X))


def test_columns_that_are_there_become_rows_there() -> None:
    model = Accelerated(LogisticRegression(), device="cuda", dtype="float64").fit(csc_matrix(), Y)
    assert "copy" not in [event.call for event in model.execution_log_.events]
    expected = LogisticRegression().fit(X, Y).predict(X)
    np.testing.assert_array_equal(model.predict(csc_matrix()), expected)


def test_sparse_columns_that_no_step_of_the_gpu_reads() -> None:
    table = FORMS["sparse columns"].assign(n=DENSE[:, 0])
    scaled = make_pipeline(make_column_transformer((StandardScaler(), ["n"])), LogisticRegression())
    model = Accelerated(scaled, device="cuda", dtype="float64").fit(table, Y)
    (made,) = (event for event in model.execution_log_.events if event.call == "densify")
    assert (made.step, made.device) == ("input", "cpu")
    assert "cuDF has no sparse columns: ['a', 'b'" in made.why
    expected = clone(scaled).fit(table, Y).predict(table)
    np.testing.assert_array_equal(model.predict(table), expected)


def test_sparse_columns_without_missing_values_or_others() -> None:
    table = pd.DataFrame(DENSE, columns=list("abcde")).astype(pd.SparseDtype("float64", 1.0))
    with pytest.raises(DataError, match="sparse of cells that are not zero; pass"):
        Accelerated(LogisticRegression(), device="cuda").fit(table, Y)


def test_too_many_cells_for_the_indices_of_cuml(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "INT32", X.nnz - 1)
    with pytest.raises(DataError, match=f"{X.nnz} cells that are not zero, and cuML counts up to"):
        Accelerated(LogisticRegression(), device="cuda").fit(X, Y)
