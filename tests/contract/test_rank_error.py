"""Summaries of quantiles on a GPU: the same buffers, made and kept where the rows are."""

from __future__ import annotations

import pickle
from functools import reduce
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import (
    KBinsDiscretizer,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
)

from pipeline import trace
from pipeline.data import frames
from pipeline.errors import BudgetExceeded
from pipeline.preprocessing.engine.blocks import Numbers
from pipeline.preprocessing.engine.program import Program
from pipeline.preprocessing.statistics.quantiles import collect_values, quantile
from pipeline.preprocessing.statistics.sketch import QuantileSketch
from pipeline.preprocessing.transformers.power import PowerTransformerTwin
from tests.contract.recorder import Recorder
from tests.contract.verify import faults

RANK_ERROR = 0.02

SPECS = [
    SimpleImputer(strategy="median"),
    RobustScaler(),
    QuantileTransformer(n_quantiles=9),
    KBinsDiscretizer(3, subsample=None, encode="ordinal"),
]


def matrix(n_rows: int = 3000) -> np.ndarray:
    rng = np.random.default_rng(0)
    X = np.stack([rng.normal(size=n_rows), rng.integers(0, 40, n_rows)], axis=1)
    X[::3, 0] = np.nan
    return X


def summarized(device: str, n_parts: int) -> Any:
    parts = [frames.to_device(part, device) for part in np.array_split(matrix(), n_parts)]
    return reduce(QuantileSketch.merge, [collect_values(part, RANK_ERROR) for part in parts])


@pytest.mark.parametrize("n_parts", [1, 2, 7, 64])
def test_quantiles_are_those_of_the_cpu(n_parts: int, device: Recorder) -> None:
    on_gpu, on_cpu = (summarized(name, n_parts) for name in ("cuda", "cpu"))
    levels = np.linspace(0, 1, 101)
    np.testing.assert_array_equal(quantile(on_gpu, levels), quantile(on_cpu, levels))
    assert [c.slack for c in on_gpu.columns] == [c.slack for c in on_cpu.columns]
    assert faults(device.calls) == []


def test_merging_copies_only_bounds_to_the_host(device: Recorder) -> None:
    stat = summarized("cuda", 7)
    bounds = 7 * 2 * 2 * 8
    assert device.nbytes("host", "explicit") == bounds
    quantile(stat, [0.5])
    kept = sum(8 * (len(c.rest) + c.size * len(c.levels)) for c in stat.columns)
    assert device.nbytes("host", "explicit") == bounds + kept


@pytest.mark.parametrize("estimator", SPECS, ids=repr)
def test_program_gives_what_the_cpu_gives(estimator: Any, device: Recorder) -> None:
    X = pd.DataFrame(matrix(), columns=["real", "int"])
    X = X.fillna(0.0) if isinstance(estimator, KBinsDiscretizer) else X
    on_gpu, on_cpu = (
        Program(estimator, "float64", rank_error=RANK_ERROR).fit(frames.to_device(X, name))
        for name in ("cuda", "cpu")
    )
    found = on_gpu.transform(frames.to_device(X, "cuda"))
    np.testing.assert_allclose(frames.to_host(found), on_cpu.transform(X), rtol=1e-12, atol=1e-12)
    assert faults(device.calls) == []


@pytest.mark.parametrize("rank_error", [0.0, RANK_ERROR])
def test_rows_that_came_from_another_process_are_booked_once(
    rank_error: float, device: Recorder
) -> None:
    there = frames.to_device(matrix(), "cuda")
    with trace.execution_log() as book, trace.record("scaler", "fit", "cuda"):
        came = pickle.loads(pickle.dumps(collect_values(there, rank_error)))
        once, again = quantile(came, [0.5]), quantile(came, [0.5])
    np.testing.assert_array_equal(once, again)
    rows = there.nbytes if rank_error == 0 else 0
    assert book.to_host_bytes == device.nbytes("host", "explicit") + rows
    assert device.nbytes("host", "pickle") >= rows


@pytest.mark.parametrize("method", ["yeo-johnson", "box-cox"])
def test_powers_book_rows_that_came_from_another_process(method: str, device: Recorder) -> None:
    there = frames.to_device(abs(np.nan_to_num(matrix())) + 1, "cuda")
    with trace.execution_log() as book, trace.record("power", "fit", "cuda"):
        twin = PowerTransformerTwin(PowerTransformer(method=method))
        twin.finalize(pickle.loads(pickle.dumps(twin.statistics(Numbers(there)))))
    assert device.nbytes("host", "pickle") == there.nbytes
    assert book.to_host_bytes == device.nbytes("host", "explicit") + there.nbytes


def test_rows_that_came_from_another_process_break_a_budget_of_nothing(device: Recorder) -> None:
    there = frames.to_device(matrix(10_000), "cuda")
    came = pickle.loads(pickle.dumps(collect_values(there, 0.0).merge(collect_values(there, 0.0))))
    with (
        trace.execution_log(host_bytes=0, n_rows=20_000),
        trace.record("x", "fit", "cuda"),
        pytest.raises(BudgetExceeded, match="would bring 320,000 bytes"),
    ):
        quantile(came, [0.5])


def test_rows_that_stay_in_their_process_cost_their_quantiles(device: Recorder) -> None:
    there = frames.to_device(matrix(10_000), "cuda")
    stat = collect_values(there, 0.0).merge(collect_values(there, 0.0))
    with (
        trace.execution_log(host_bytes=0, n_rows=10_000) as book,
        trace.record("x", "fit", "cuda"),
    ):
        quantile(stat, [0.5])
    assert book.to_host_bytes < 100
