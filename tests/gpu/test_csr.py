"""Sparse rows of a GPU against scikit-learn's: cells and structure."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from pipeline import Accelerated
from pipeline.data import frames
from pipeline.preprocessing.engine import table
from pipeline.preprocessing.engine.program import Program
from tests.contract.test_csr import CASES, CODES, FOREST, NEW_ROWS, ROWS, as_text
from tests.estimator.test_sparse_output import WIDE, Y, assert_same


@pytest.mark.filterwarnings("ignore:Found unknown")
@pytest.mark.parametrize("cells", [1000, table.GPU_CELLS])
@pytest.mark.parametrize("name", CASES)
def test_rows_are_those_of_sklearn(name: str, cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "GPU_CELLS", cells)
    estimator, rows, new = CASES[name]
    model = Accelerated(clone(estimator), device="cuda", dtype="float64").fit(rows, Y)
    reference = clone(estimator).fit(rows, Y)
    assert {place.device for place in model.plan_.placements} == {"cuda"}
    assert_same(model.transform(new), reference.transform(new))


def test_many_values_are_indices_of_int32() -> None:
    there = frames.to_device(as_text(CODES), "cuda")
    made = Program(clone(CASES["alone"][0]), "float32", sparse=True).fit_transform(there)
    assert (made.dtype, made.indices.dtype, made.nnz) == ("float32", "int32", CODES.size)
    expected = clone(CASES["alone"][0]).fit_transform(as_text(CODES)).astype("float32")
    assert_same(made.get(), expected)


@pytest.mark.parametrize(("last", "dense"), [(LogisticRegression(), 0), (FOREST[-1], 2)])
def test_models_learn_from_them_or_the_log_tells_why_not(last: Any, dense: int) -> None:
    program = make_pipeline(WIDE, last)
    model = Accelerated(clone(program), device="cuda", host_bytes=0).fit(ROWS, Y)
    expected = clone(program).fit(ROWS, Y).predict(NEW_ROWS)
    assert np.mean(model.predict(NEW_ROWS) == expected) > 0.8
    told = [entry.call for entry in model.execution_log_.entries].count("densify")
    assert told == dense
