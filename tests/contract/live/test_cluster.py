"""What `LocalCUDACluster` makes of our options, with the driver library faked: nothing starts."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from pipeline.distributed import cluster as clusters
from pipeline.distributed.cluster import ClusterOptions

dask_cuda = pytest.importorskip("dask_cuda")

DRIVER = {
    "nvmlInit": None,
    "nvmlDeviceGetCount": 2,
    "nvmlDeviceGetHandleByIndex": 1,
    "nvmlDeviceGetMemoryInfo": SimpleNamespace(total=80 << 30),
    "nvmlDeviceGetMigMode": (0, 0),
    "nvmlDeviceGetUUID": b"GPU-0",
    "nvmlDeviceGetCpuAffinity": [3],
}
"""Function of the driver library -> what it answers for two GPUs of 80 GiB."""


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Return a function that makes a cluster of two GPUs, whose workers never start."""
    import pynvml
    from distributed import Status

    for name, answer in DRIVER.items():
        monkeypatch.setattr(pynvml, name, lambda *_, answer=answer: answer)
    monkeypatch.setattr(dask_cuda.LocalCUDACluster, "_correct_state", lambda self: None)

    async def construct(arguments: Any) -> Any:
        return dask_cuda.LocalCUDACluster("0,1", asynchronous=True, **arguments)

    def make(**arguments: Any) -> Any:
        cluster = asyncio.run(construct(arguments))
        cluster.status = Status.closed  # There is nothing to close.
        return cluster

    return make


def test_one_worker_a_gpu_on_loopback(made: Callable[..., Any]) -> None:
    from distributed import Nanny, Worker

    cluster = made(**clusters.cuda_arguments(ClusterOptions()))
    workers = [worker["options"] for worker in cluster.worker_spec.values()]
    assert [each["env"]["CUDA_VISIBLE_DEVICES"] for each in workers] == ["0,1", "1,0"]
    listening = [*workers, cluster.scheduler_spec["options"]]
    assert {each["host"] for each in listening} == {"127.0.0.1"}
    assert {each["dashboard_address"] for each in listening} == {"127.0.0.1:0"}
    known = {name for kind in (Nanny, Worker) for name in inspect.signature(kind).parameters}
    assert {name for each in workers for name in each} <= known
    plugins = {type(plugin).__name__: plugin for plugin in workers[0]["plugins"]}
    assert (plugins["RMMSetup"].async_alloc, plugins["CUDFSetup"].spill) == (True, True)
