"""Rows of a GPU are sparse where scikit-learn's are: cells and structure, bytes and waits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    QuantileTransformer,
    StandardScaler,
)

from pipeline import Accelerated, Unsupported, load, save
from pipeline.data import frames, partitioned
from pipeline.preprocessing.engine import csr, table
from pipeline.preprocessing.engine.program import Program
from tests.contract.recorder import LIVE, RECORDER, Recorder
from tests.estimator.test_sparse_output import NEW, SPECS, WIDE, X, Y, assert_same
from tests.names import plain

pytestmark = pytest.mark.usefixtures("device")

ROWS, NEW_ROWS = (each[["a", "b", "gaps", "t", "u"]] for each in (X, NEW))
HOT = OneHotEncoder(handle_unknown="ignore")
OF_ALL: dict[str, Any] = {
    "alone": HOT,
    "one dropped": OneHotEncoder(drop="if_binary", handle_unknown="ignore"),
    "bins": KBinsDiscretizer(5, quantile_method="linear"),
    "a union": make_union(HOT, KBinsDiscretizer(3, quantile_method="linear")),
    "scaled": make_pipeline(KBinsDiscretizer(5, quantile_method="linear"), MaxAbsScaler()),
    "nothing is left": make_column_transformer((HOT, [0]), ("drop", [1])),
}
"""Of a matrix of numbers."""
MATRIX = np.random.default_rng(0).integers(0, 9, (400, 2)).astype("float64")


FRAMED = {
    name: SPECS[name]
    for name in ("one-hot", "beside numbers", "sparse as asked for", "beside what passes")
} | {name: SPECS[name] for name in ("weighted", "bins", "dense as few are zero")}
CASES = {f"{name}, of a frame": (spec, ROWS, NEW_ROWS) for name, spec in FRAMED.items()} | {
    name: (spec, MATRIX, MATRIX[:9] + (name == "alone")) for name, spec in OF_ALL.items()
}


@pytest.mark.quick(6)
@pytest.mark.filterwarnings("ignore:Found unknown")
@pytest.mark.parametrize("name", CASES)
def test_rows_are_those_of_sklearn(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "GPU_CELLS", 1000)
    estimator, rows, new = CASES[name]
    model = Accelerated(clone(estimator), device="cuda", dtype="float64")
    reference = clone(estimator)
    assert_same(model.fit_transform(rows, Y), reference.fit_transform(rows, Y))
    assert {place.device for place in model.plan_.placements} == {"cuda"}
    expected = reference.transform(new)
    save(model, tmp_path / "m.model")
    loaded = [load(tmp_path / "m.model", device=device) for device in ("cpu", "cuda")]
    for made in (model, model.to_sklearn(), *loaded):
        assert_same(made.transform(new), expected)


def test_rows_have_the_type_of_the_program() -> None:
    made = Accelerated(clone(WIDE), device="cuda").fit_transform(ROWS)
    assert (made.dtype, made.indices.dtype, made.indptr.dtype) == ("float32", "int32", "int32")


def learnt(estimator: Any, rows: int, **params: Any) -> Accelerated:
    many = pd.concat([ROWS] * rows, ignore_index=True)
    return Accelerated(clone(estimator), device="cuda", **params).fit(many, np.tile(Y, rows))


def test_a_model_learns_from_them_and_none_come_to_the_host(device: Recorder) -> None:
    program = make_pipeline(WIDE, LogisticRegression())
    model = learnt(program, 1, dtype="float64", host_bytes=0)
    (given,) = (call.args[0] for call in device.calls if call.name == "fit" and call.args)
    assert frames.is_sparse(given)
    expected = clone(program).fit(ROWS, Y).predict_proba(NEW_ROWS)
    np.testing.assert_allclose(model.predict_proba(NEW_ROWS), expected, atol=1e-4)
    assert "densify" not in {entry.call for entry in model.execution_log_.entries}


def test_it_is_not_waited_for_each_block(device: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    waits = []
    known = make_column_transformer((OneHotEncoder(), ["t", "u"]), ("passthrough", ["a"]))
    for cells in (2**24, 500):
        monkeypatch.setattr(table, "GPU_CELLS", cells)
        there = frames.to_device(ROWS, "cuda")
        device.clear()
        Program(known, "float32", sparse=True).fit_transform(there)
        waits.append(device.syncs())
        blocks = -(-len(ROWS) * csr.SPREAD * 5 // cells)
    # The encoder asks of each block, once for each of the passes, whether all of it is known.
    assert waits[1] - waits[0] <= 5 * blocks


N_VALUES, N_COLUMNS, N_ROWS = 500, 10, 100_000
CODES = np.random.default_rng(0).integers(0, N_VALUES, (N_ROWS, N_COLUMNS))


def as_text(codes: np.ndarray) -> pd.DataFrame:
    text = np.array([f"v{1000 * i:07}" for i in range(N_VALUES)], dtype=object)
    return pd.DataFrame(dict(enumerate(text[codes.T])), dtype="str").rename(columns=str)


@pytest.mark.quick(2)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("call", ["fit_transform", "transform"])
@pytest.mark.parametrize("make", [lambda codes: 1000.0 * codes, as_text], ids=["numbers", "text"])
def test_bytes_are_those_of_the_rows_that_are_made(
    make: Any, call: str, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many rows a value as of 50,000 values and ten million rows, with codes as large."""
    monkeypatch.setattr(table, "GPU_CELLS", N_ROWS * N_COLUMNS // 8)
    large = lambda known: known._replace(codes=known.codes.astype("int32"))  # noqa: E731
    monkeypatch.setattr(table, "_small", large)
    # The arguments of a call that is recorded stay alive.
    monkeypatch.setattr(RECORDER, "call", lambda *_: None)
    there = frames.to_device(make(CODES), "cuda")
    given = frames.nbytes(there)
    program = Program(OneHotEncoder(), dtype, sparse=True).fit(there)
    with LIVE.counted() as live:
        if not frames.is_frame(there):  # one of the stand-ins is pandas', which is not counted
            LIVE.hold(there._host)
        before = live.nbytes
        made = getattr(program, call)(there)
        assert live.peak - before <= frames.csr_nbytes(made) + 0.25 * given
    assert made.nnz == N_ROWS * N_COLUMNS
    assert made.shape[1] == N_COLUMNS * N_VALUES


def test_cells_that_int32_does_not_reach_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csr, "MOST", 999)
    with pytest.raises(Unsupported, match="1,600 cells are not zero.* reach 999; use fewer rows"):
        Accelerated(clone(WIDE), device="cuda").fit_transform(ROWS)


FOREST = make_pipeline(WIDE, RandomForestClassifier(20, max_leaf_nodes=15, random_state=0))


def test_a_model_that_takes_none_is_given_a_matrix_and_the_log_tells_it() -> None:
    model = learnt(FOREST, 1)
    model.predict(NEW_ROWS)
    told = [e for e in model.execution_log_.entries if e.call == "densify"]
    assert [(e.step, e.device) for e in told] == [("columntransformer", "cuda")] * 2
    need = len(ROWS) * 45 * 4
    assert told[0].why == f"RandomForestClassifier takes no sparse rows on the GPU: {need:,} bytes"


def test_a_matrix_that_does_not_fit_is_refused_before_it_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    need = len(ROWS) * 45 * 4
    monkeypatch.setattr(partitioned, "room", lambda device: 2 * need - 1)
    with pytest.raises(Unsupported, match=f"are {need:,} bytes.*: {2 * need - 1:,} are free"):
        learnt(FOREST, 1)
    monkeypatch.setattr(partitioned, "room", lambda device: 2 * need)
    learnt(FOREST, 1)


def test_what_is_sparse_of_its_own_is_stacked() -> None:
    there = frames.to_device(sparse.csr_matrix([[0.0, 2.0], [1.0, 0.0]]), "cuda")
    rows = table.Table(frames.to_device(MATRIX[:2], "cuda"))
    hot = csr.Indicators([frames.to_device(np.array([1, -1]), "cuda")], [3])
    made = csr.write_on_gpu(rows, lambda part: [hot, csr.Sparse(there[part.rows])], "float64")
    assert made.get().toarray().tolist() == [[0, 1, 0, 0, 2], [0, 0, 0, 1, 0]]


def test_where_it_may_it_continues_on_the_host_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(partitioned, "room", lambda device: 1000 if device == "cuda" else 10**9)
    model = learnt(FOREST, 1, fallback=True)
    places = model.plan_.placements
    assert {place.device for place in places} == {"cpu"}
    assert all("45 columns are 72,000 bytes" in place.remarks for place in places)
    expected = clone(FOREST).fit(ROWS, Y).predict(NEW_ROWS)
    np.testing.assert_array_equal(model.predict(NEW_ROWS), expected)


NORMAL = QuantileTransformer(n_quantiles=9, output_distribution="normal")


@pytest.mark.parametrize(
    ("step", "kind", "why"),
    [
        (StandardScaler(), ValueError, "StandardScaler: Cannot center sparse matrices"),
        (MinMaxScaler(), TypeError, "MinMaxScaler does not support sparse input"),
        (
            QuantileTransformer(n_quantiles=9, output_distribution="normal"),
            Unsupported,
            "other numbers than of dense ones",
        ),
    ],
    ids=plain,
)
def test_what_sklearn_refuses_behind_them_is_refused(step: Any, kind: type, why: str) -> None:
    program = make_pipeline(SPECS["one-hot"], step, LogisticRegression())
    with pytest.raises(kind, match=why):
        learnt(program, 1)
    if kind is Unsupported:
        model = learnt(program, 1, fallback=True, dtype="float64")
        assert "other numbers" in model.plan_.placements[0].remarks
        expected = clone(program).fit(ROWS, Y).predict_proba(NEW_ROWS)
        np.testing.assert_allclose(model.predict_proba(NEW_ROWS), expected, atol=1e-4)
        return
    with pytest.raises(kind, match=why.rpartition(": ")[2]):
        clone(program).fit(ROWS, Y)
