"""Summaries of quantiles on a GPU: sorting there gives the buffers that the CPU gives."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest

from pipeline.data import frames
from pipeline.preprocessing.statistics.quantiles import collect_values, quantile
from pipeline.preprocessing.statistics.sketch import QuantileSketch
from pipeline.system.devices import obstacle

NO_GPU = obstacle()
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(bool(NO_GPU), reason=NO_GPU)]


@pytest.mark.parametrize("n_parts", [1, 7])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int8", "bool"])
def test_quantiles_are_those_of_the_cpu(dtype: str, n_parts: int) -> None:
    X = np.random.default_rng(0).normal(0, 40, size=(20_000, 3))
    if dtype.startswith("float"):
        X[::3, 0] = np.nan
    parts = np.array_split(X.astype(dtype), n_parts)
    on_gpu, on_cpu = (
        reduce(
            QuantileSketch.merge,
            [collect_values(frames.to_device(part, device), 0.01) for part in parts],
        )
        for device in ("cuda", "cpu")
    )
    levels = np.linspace(0, 1, 101)
    np.testing.assert_array_equal(quantile(on_gpu, levels), quantile(on_cpu, levels))
