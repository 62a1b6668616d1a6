from __future__ import annotations

import pytest

import pipeline
from pipeline.devices import obstacle

NO_GPU = obstacle()
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(bool(NO_GPU), reason=NO_GPU)]


def sum_on_the_gpu() -> int:
    import cupy

    return int(cupy.arange(4).sum())


def test_a_gpu_worker_runs_on_its_gpu() -> None:
    with pipeline.cluster("cuda", workers=1) as cluster:
        assert cluster.client.submit(sum_on_the_gpu).result() == 6
