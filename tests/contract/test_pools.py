"""A GPU's memory comes from a pool, set before the first array; what the user has set stays."""

from __future__ import annotations

import inspect
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from pipeline import Accelerated
from pipeline.optional import available, load
from pipeline.serving.load import load as load_model
from pipeline.serving.save import save
from pipeline.system import devices
from tests.contract import arrays, pools
from tests.contract.recorder import Recorder

X = np.arange(8.0).reshape(-1, 2)


def current() -> Any:
    return load("rmm.mr").get_current_device_resource()


@pytest.mark.usefixtures("device")
def test_memory_is_pooled_before_the_first_array(monkeypatch: pytest.MonkeyPatch) -> None:
    pooled = []
    made = arrays.ndarray.__init__

    def init(self: Any, host: np.ndarray) -> None:
        pooled.append(type(current()) is pools.CudaAsyncMemoryResource)
        made(self, host)

    monkeypatch.setattr(arrays.ndarray, "__init__", init)
    Accelerated(StandardScaler(), device="cuda").fit(X)
    assert pooled
    assert all(pooled)


@pytest.mark.usefixtures("device")
def test_the_pool_is_set_once_and_a_resource_of_the_user_stays() -> None:
    Accelerated(StandardScaler(), device="cuda").fit(X)
    first = current()
    Accelerated(StandardScaler(), device="cuda").fit(X)
    assert current() is first
    own = type("PoolMemoryResource", (pools.CudaMemoryResource,), {})()
    load("rmm.mr").set_current_device_resource(own)
    Accelerated(StandardScaler(), device="cuda").fit(X)
    assert current() is own


@pytest.mark.usefixtures("device")
def test_a_saved_model_is_loaded_into_the_pool(tmp_path: Path) -> None:
    folder = save(Accelerated(StandardScaler(), device="cpu").fit(X), tmp_path / "model")
    load_model(folder, "cpu")
    assert type(current()) is pools.CudaMemoryResource
    load_model(folder, "cuda")
    assert type(current()) is pools.CudaAsyncMemoryResource


def test_a_gpu_without_pools_goes_on_without(
    device: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise RuntimeError("RMM failure: cudaMallocAsync not supported with this CUDA driver")

    monkeypatch.setattr(load("rmm.mr"), "CudaAsyncMemoryResource", refuse)
    devices.prepare_memory("cuda")
    assert type(current()) is pools.CudaMemoryResource


@pytest.mark.contract_live
@pytest.mark.skipif(not available("rmm"), reason="not installed: rmm")
def test_rmm_starts_without_a_pool_and_cudf_gives_its_memory_to_cupy() -> None:
    mr = load("rmm.mr")
    taken = inspect.signature(mr.set_current_device_resource).parameters
    assert (
        list(taken)
        == list(inspect.signature(pools.Module.set_current_device_resource).parameters)[1:]
    )
    assert issubclass(mr.CudaAsyncMemoryResource, mr.DeviceMemoryResource)
    folder = Path(load("rmm").__file__).parent / "pylibrmm" / "memory_resource"
    source = (folder / "_memory_resource.pyx").read_text(encoding="utf-8")
    assert "_per_device_mrs = defaultdict(CudaMemoryResource)" in source
    for package in ("cudf", "cuml"):
        estimator = find_spec(package)
        assert estimator is not None
        assert estimator.origin is not None
        assert "cuda.set_allocator(rmm_cupy_allocator)" in Path(estimator.origin).read_text("utf-8")
