"""What transformers take of a GPU's memory, kernels and all, against what the stand-ins count."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from pipeline import Accelerated
from pipeline.blocks import table
from pipeline.compile.program import Program
from pipeline.optional import load
from pipeline.system import devices
from pipeline.table import frames
from tests.contract import memory

WORKSPACE = 6 / memory.COLUMNS
"""Times the table that a kernel may take: sorting one column, or finding its distinct values."""


@pytest.fixture
def counted() -> Any:
    """Count what RMM hands out, from the resource that is there."""
    mr, statistics = load("rmm.mr"), load("rmm.statistics")
    before = mr.get_current_device_resource()
    statistics.enable_statistics()
    yield statistics
    mr.set_current_device_resource(before)


@pytest.mark.parametrize("name", memory.CASES)
def test_a_transformer_takes_what_the_stand_ins_count(
    name: str, counted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_rows = 10 * memory.ROWS
    monkeypatch.setattr(table, "GPU_CELLS", n_rows * memory.COLUMNS // memory.BLOCKS)
    host = memory.CASES[name].rows(n_rows)
    y = np.random.default_rng(1).integers(0, 2, n_rows)
    X = frames.to_device(host, "cuda")
    with counted.statistics():
        made = Program(clone(memory.CASES[name].estimator), "float32").fit_transform(X, y)
        peak = counted.get_statistics().peak_bytes
    bound = max(memory.MOST * frames.nbytes(host), 1.5 * frames.nbytes(host) + made.nbytes)
    # The table was there before.
    assert peak <= bound + (WORKSPACE - 1) * frames.nbytes(host)


def test_memory_comes_from_a_pool_and_what_is_freed_is_room() -> None:
    mr, runtime = load("rmm.mr"), load("cupy").cuda.runtime
    mr.set_current_device_resource(mr.CudaMemoryResource())
    Accelerated(StandardScaler(), device="cuda").fit(memory.numbers(100))
    assert type(mr.get_current_device_resource()) is mr.CudaAsyncViewMemoryResource
    devices.release_memory("cuda")
    unused, free = runtime.memGetInfo()[0], devices.free_memory()
    made = load("cupy").zeros(2**28, "uint8")
    assert devices.free_memory() <= free - made.nbytes
    del made
    frames.synchronize("cuda")
    assert runtime.memGetInfo()[0] <= unused - 2**28, "the pool keeps it"
    assert abs(devices.free_memory() - free) < 2**26
    devices.release_memory("cuda")
    assert abs(runtime.memGetInfo()[0] - unused) < 2**26
