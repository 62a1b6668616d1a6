from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler, TargetEncoder

from pipeline.preprocessing.engine import table as blocks
from pipeline.preprocessing.engine.program import Program
from pipeline.system.threads import os
from tests.preprocessing.parity import PRIVATE, assert_parity
from tests.strategies import tables

ROWS = 448
NUMBERS = ["real", "far", "int"]


def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"real": rng.normal(size=ROWS), "far": 1e3 + rng.normal(size=ROWS)})
    X["int"] = rng.integers(0, 7, ROWS)
    X["text"] = rng.choice(["a", "b", "c", "only once"], ROWS, p=[0.5, 0.3, 0.19, 0.01])
    X["town"] = rng.integers(0, 60, ROWS).astype(str)
    X.loc[::6, ["real", "text"]] = np.nan
    # A block of its own without any value.
    X.loc[:99, "far"] = np.nan
    return X


def target() -> np.ndarray:
    return np.random.default_rng(1).normal(size=ROWS) + 1e3


def programs() -> dict[str, Any]:
    return {
        "scaled": make_column_transformer((StandardScaler(), NUMBERS)),
        "mean": make_column_transformer(
            (make_pipeline(SimpleImputer(), StandardScaler()), NUMBERS)
        ),
        "median": make_column_transformer((SimpleImputer(strategy="median"), NUMBERS)),
        "mode": make_column_transformer((SimpleImputer(strategy="most_frequent"), NUMBERS)),
        "one-hot": make_column_transformer((OneHotEncoder(), ["text", "int"])),
        "filled one-hot": make_column_transformer(
            (make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder()), ["int"]),
            (make_pipeline(SimpleImputer(strategy="constant"), OneHotEncoder()), ["text"]),
        ),
        "ordinal": make_column_transformer((OrdinalEncoder(), ["text", "town", "real"])),
        "target": make_column_transformer((TargetEncoder(cv=KFold(3)), ["text", "town", "int"])),
        "target of imputed": make_column_transformer(
            (make_pipeline(SimpleImputer(), TargetEncoder(cv=KFold(3)), StandardScaler()), ["int"])
        ),
    }


def fitted_values(fitted: Any) -> list[Any]:
    """Return what was learnt, in order: arrays and numbers at any depth."""
    if isinstance(fitted, list | tuple):
        return [value for part in fitted for value in fitted_values(part)]
    if isinstance(fitted, np.ndarray | float | int):
        return [fitted]
    learnt = getattr(fitted, "__dict__", {})
    chosen = [learnt[n] for n in sorted(learnt) if n not in PRIVATE | {"_random_state"}]
    return [value for part in chosen for value in fitted_values(part)]


def assert_equally_fitted(ours: Program, other: Program) -> None:
    pairs = zip(fitted_values(ours.to_sklearn()), fitted_values(other.to_sklearn()), strict=True)
    compared = 0
    for a, b in pairs:
        if np.asarray(a).dtype.kind in "fiub":
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
            compared += 1
        else:
            assert np.asarray(a).dtype == np.asarray(b).dtype
            assert pd.Series(a).equals(pd.Series(b))
    assert compared > 3


def fit_in_blocks(estimator: Any, n_blocks: int, patch: pytest.MonkeyPatch) -> tuple[Program, Any]:
    patch.setattr(blocks, "CHUNK_ROWS", ROWS // n_blocks)
    assert len(blocks.Table(table()).parts()) == n_blocks
    program = Program(estimator, "float64")
    return program, program.fit_transform(table(), target())


@pytest.mark.parametrize("n_blocks", [2, 7, 64])
@pytest.mark.parametrize("name", programs())
def test_blocks_do_not_matter(name: str, n_blocks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    estimator = programs()[name]
    one, expected = fit_in_blocks(estimator, 1, monkeypatch)
    many, found = fit_in_blocks(estimator, n_blocks, monkeypatch)
    assert_equally_fitted(many, one)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(
        many.transform(table()), one.transform(table()), rtol=1e-12, atol=1e-9
    )


# The scaler behind an encoder sees the held-out encodings, which follow the folds.
@pytest.mark.parametrize("name", [name for name in programs() if name != "target of imputed"])
def test_order_of_rows_does_not_matter(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folds follow the order of the rows; what is learnt from all rows does not."""
    monkeypatch.setattr(blocks, "CHUNK_ROWS", 50)
    shuffled = np.random.default_rng(2).permutation(ROWS)
    here = Program(programs()[name], "float64").fit(table(), target())
    there = Program(programs()[name], "float64").fit(table().iloc[shuffled], target()[shuffled])
    assert_equally_fitted(there, here)


def test_number_of_threads_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "CHUNK_ROWS", 16)
    estimator = make_column_transformer(
        *(t[1:] for n in programs() for t in programs()[n].transformers)
    )
    results = []
    for cores in (1, 2, 5):
        monkeypatch.setattr(os, "sched_getaffinity", lambda pid, n=cores: range(n))
        results.append(Program(estimator, "float32").fit_transform(table(), target()).tobytes())
    assert results[0] == results[1] == results[2]


def test_one_program_serves_many_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "CHUNK_ROWS", 32)
    program = Program(programs()["ordinal"]).fit(table(), target())
    expected = {start: program.transform(table()[start:]) for start in range(8)}
    found: dict[int, Any] = {}

    def serve(start: int) -> None:
        for _ in range(5):
            found[start] = program.transform(table()[start:])

    threads = [threading.Thread(target=serve, args=(start,)) for start in expected]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for start, matrix in expected.items():
        np.testing.assert_array_equal(found[start], matrix)


def test_single_rows_equal_the_batch() -> None:
    program = Program(programs()["filled one-hot"]).fit(table())
    batch = program.transform(table())
    singles = [program.transform(table()[i : i + 1])[0] for i in range(0, ROWS, 50)]
    np.testing.assert_array_equal(singles, batch[::50])


def test_sparse_input_of_a_step_before_is_made_dense() -> None:
    X = np.array([[0.0, 2.0], [1.0, 0.0]])
    program = Program(StandardScaler())
    found = program.fit_transform(csr_matrix(X))
    np.testing.assert_array_equal(found, Program(StandardScaler()).fit_transform(X))
    np.testing.assert_array_equal(program.transform(csr_matrix(X)), found)


def test_output_is_one_c_ordered_matrix_of_the_type_asked_for() -> None:
    for dtype in ("float32", "float64"):
        out = Program(programs()["filled one-hot"], dtype).fit_transform(table())
        assert out.dtype == dtype
        assert out.flags.c_contiguous
        assert out.shape == (ROWS, 7 + 5)


@given(X=tables(), n_rows=st.integers(1, 9))
def test_any_table_in_any_blocks(X: pd.DataFrame, n_rows: int) -> None:
    X = X.loc[:, X.notna().any()]
    numbers = [n for n in X.columns if X[n].dtype.kind in "if"]
    text = [n for n in X.columns if n not in numbers]
    estimator = make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numbers),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), text),
    )
    if X.shape[1]:
        X[numbers] = X[numbers].clip(-(2**40), 2**40)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(blocks, "CHUNK_ROWS", n_rows)
            assert_parity(estimator, X)
