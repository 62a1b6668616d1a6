"""What a transformer takes on a GPU, counted on the stand-ins: bytes at once, waits, passes."""

from __future__ import annotations

import inspect

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone

from pipeline import Accelerated
from pipeline.backends.cuml.multi_gpu import has_missing
from pipeline.data import frames
from pipeline.optional import available, load
from pipeline.preprocessing.transformers import TWINS
from tests.contract import cases, memory
from tests.contract.live import LIVE
from tests.contract.recorder import Recorder
from tests.names import one_in

KEPT = ("RobustScaler", "SimpleImputer, median", "SimpleImputer, median of a frame")
"""Whose peak is a copy of the columns and one column more, however the rows are cut."""


def rows_of_document() -> dict[str, list[float]]:
    text = memory.DOCUMENT.read_text(encoding="utf-8")
    lines = text.partition(memory.START)[2].partition(memory.END)[0].splitlines()[3:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {name.strip("`"): [float(cell) for cell in rest] for name, *rest in cells}


def test_a_view_takes_nothing_and_what_is_let_go_counts_no_more(device: Recorder) -> None:
    with device.paused(), LIVE.counted() as live:
        X = frames.to_device(np.zeros((100, 2)), "cuda")
        assert live.nbytes == X[:50].nbytes * 2 == 1600
        (X + 1).sum()
        assert (live.nbytes, live.peak) == (1600, 3208)
        del X
        assert live.nbytes == 0


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_frame_becomes_a_matrix_without_a_copy_of_its_columns(
    order: str, device: Recorder
) -> None:
    host = pd.DataFrame(memory.numbers(1000))
    X = frames.to_device(host, "cuda")
    with device.paused(), LIVE.counted() as live:
        made = frames.matrix(X, order)
    # The frame, whose columns are views; the matrix; and what one column is checked with.
    assert live.peak < 2.2 * made.nbytes
    assert getattr(made.flags, f"{order.lower()}_contiguous")
    np.testing.assert_array_equal(made.get(), host)


def test_every_transformer_is_counted() -> None:
    assert set(TWINS) <= {type(case.estimator) for case in memory.CASES.values()}


@pytest.mark.parametrize("name", one_in(8, memory.CASES))
def test_no_transformer_takes_more_than_its_bound(name: str) -> None:
    found = memory.taken(name)
    assert found.peak <= max(memory.MOST, 1.5 + found.made)
    assert found.passes <= 2


@pytest.mark.parametrize("name", one_in(8, memory.CASES))
def test_halving_lowers_the_peak(name: str) -> None:
    whole, half = memory.taken(name, 4).peak, memory.taken(name, 4, halves=True).peak
    assert half == whole <= memory.MOST if name in KEPT else half < whole


def test_the_table_in_the_documentation_is_what_is_counted() -> None:
    found = rows_of_document()
    assert list(found) == list(memory.CASES)
    for name, (peak, waits, more) in found.items():
        now = memory.taken(name)
        assert now.peak == pytest.approx(peak, abs=0.06), name
        assert now.waits <= waits + (memory.BLOCKS - 1) * (more + 0.5), name


def test_looking_for_what_is_missing_takes_no_memory(device: Recorder) -> None:
    with device.paused(), LIVE.counted() as live:
        X = frames.to_device(np.ones((1000, 8)), "cuda")
        assert not has_missing(X)
    assert live.peak < X.nbytes + 100


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.0, np.nan], True),
        ([np.nan, np.inf], True),
        ([np.inf, -np.inf], False),
        ([3e38, 3e38], False),
        ([1, 2], False),
    ],
)
@pytest.mark.parametrize("where", ["cpu", "cuda"])
def test_infinite_numbers_and_sums_are_not_missing(
    values: list[float], expected: bool, where: str, device: Recorder
) -> None:
    dtype = "float32" if isinstance(values[0], float) else "int64"
    X = np.array([values], dtype=dtype)
    assert has_missing(frames.to_device(X, where)) is expected
    assert has_missing(csr_matrix(X)) is expected


@pytest.mark.parametrize("name", one_in(6, [*cases.TRANSFORMERS, *cases.CLASSIFIERS]))
def test_less_than_a_byte_a_row_comes_to_the_host_unbooked(name: str, device: Recorder) -> None:
    case = (cases.TRANSFORMERS | cases.CLASSIFIERS)[name]
    X = cases.table(10 * cases.ROWS)
    device.clear()
    model = Accelerated(clone(case.estimator), device="cuda").fit(
        X, cases.target(X, case.n_classes)
    )
    (model.predict_proba if name in cases.CLASSIFIERS else model.transform)(X)
    booked = sum(entry.to_host_bytes for entry in model.execution_log_.entries)
    assert device.nbytes("host") - booked < len(X)


@pytest.mark.contract_live
@pytest.mark.skipif(not available("cudf"), reason="not installed: cudf")
def test_cudf_copies_a_column_that_it_fills() -> None:
    assert "return self.copy()" in inspect.getsource(load("cudf.core.column.ColumnBase").fillna)
    source = inspect.getsource(load("cudf.core.frame.Frame")._to_array)
    assert "if na_value is not no_default:\n                col = col.fillna(na_value)" in source


@pytest.mark.contract_live
@pytest.mark.skipif(not available("cuml"), reason="not installed: cuml")
def test_cuml_looks_for_infinite_numbers_unless_scikit_learn_assumes_there_are_none() -> None:
    validation = load("cuml.internals.validation")
    skipped = 'if sklearn.get_config()["assume_finite"]:'
    assert skipped in inspect.getsource(validation.check_all_finite)
    assert "check_all_finite(" in inspect.getsource(validation.check_array)
    assert "check_array(" in inspect.getsource(validation.check_y)
