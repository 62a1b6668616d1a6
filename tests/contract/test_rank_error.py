"""Summaries of quantiles on a GPU: the same buffers, made and kept where the rows are."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import KBinsDiscretizer, QuantileTransformer, RobustScaler

from pipeline import frames
from pipeline.preprocessing.program import Program
from pipeline.preprocessing.quantiles import gather, merge, quantile
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
    return reduce(merge, [gather(part, RANK_ERROR) for part in parts])


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


@pytest.mark.parametrize("spec", SPECS, ids=repr)
def test_program_gives_what_the_cpu_gives(spec: Any, device: Recorder) -> None:
    X = pd.DataFrame(matrix(), columns=["real", "int"])
    X = X.fillna(0.0) if isinstance(spec, KBinsDiscretizer) else X
    on_gpu, on_cpu = (
        Program(spec, "float64", rank_error=RANK_ERROR).fit(frames.to_device(X, name))
        for name in ("cuda", "cpu")
    )
    found = on_gpu.transform(frames.to_device(X, "cuda"))
    np.testing.assert_allclose(frames.to_host(found), on_cpu.transform(X), rtol=1e-12, atol=1e-12)
    assert faults(device.calls) == []
