# ruff: noqa: N802 - the names are NVML's
from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pipeline.records import Trace
from pipeline.system.monitor import Sampler, watching


class FakeNvml:
    """A GPU that is half busy at 100 W and counts its energy, or does not."""

    class NVMLError(Exception):
        pass

    def __init__(self, *, counts: bool) -> None:
        self.counts, self.joules = counts, 0
        self.asked: list[Any] = []

    def nvmlInit(self) -> None:
        self.asked.append("init")

    def nvmlDeviceGetHandleByIndex(self, index: int) -> str:
        self.asked.append(index)
        return "handle"

    def nvmlDeviceGetHandleByUUID(self, name: str) -> str:
        self.asked.append(name)
        return "handle"

    def nvmlDeviceGetUtilizationRates(self, handle: str) -> Any:
        return SimpleNamespace(gpu=50)

    def nvmlDeviceGetMemoryInfo(self, handle: str) -> Any:
        return SimpleNamespace(used=2**30)

    def nvmlDeviceGetPowerUsage(self, handle: str) -> int:
        return 100_000

    def nvmlDeviceGetTotalEnergyConsumption(self, handle: str) -> float:
        if not self.counts:
            raise self.NVMLError("not supported")
        self.joules += 30
        return 1e3 * self.joules


def busy(seconds: float) -> None:
    """Compute for seconds of processor time, and at least as long."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        sum(range(1000))


def test_processors_memory_and_cost_are_seen() -> None:
    with watching(gpu=False) as seen:
        held = np.ones(20_000_000)
        busy(0.5)
    (trace,) = seen
    assert trace.seconds == sorted(trace.seconds)
    assert trace.seconds[-1] > 0.4
    assert len(trace.seconds) == len(trace.processors) == len(trace.rss_bytes) >= 2
    used = np.diff(trace.seconds) @ np.array(trace.processors[1:])
    assert used > 0.4, "seconds of processor time"
    assert max(trace.rss_bytes) - trace.rss_bytes[0] > held.nbytes / 2
    assert trace.cost < 0.05
    assert trace.gpu_use == trace.watts == []
    assert "gpu" not in trace.energy


def traced(*, gpu: bool, **options: Any) -> Trace:
    """Return what a sampler sees in 0.3 s."""
    sampler = Sampler(gpu=gpu, **options)
    sampler.start()
    time.sleep(0.3)
    return sampler.stop()


def test_what_cannot_be_read_is_named_with_the_reason_and_not_guessed(tmp_path: Path) -> None:
    class Broken(FakeNvml):
        def nvmlInit(self) -> None:
            raise self.NVMLError("no driver")

    trace = traced(gpu=True, nvml=Broken(counts=True), root=tmp_path)
    assert trace.not_measured["gpu"] == "no driver"
    assert trace.not_measured["processor energy"].startswith("RAPL cannot be read")
    assert (trace.gpu_use, trace.energy) == ([], {})


@pytest.mark.parametrize("counts", [True, False], ids=["counter", "integral"])
def test_energy_of_a_gpu_comes_from_its_counter_or_from_its_power(counts: bool) -> None:
    trace = traced(gpu=True, nvml=FakeNvml(counts=counts))
    found = trace.energy["gpu"]
    seconds = trace.seconds[-1] - trace.seconds[0]
    assert found.joules == pytest.approx(30 if counts else 100 * seconds)
    assert ("counter" in found.how) is counts
    assert set(trace.gpu_use) == {0.5}
    assert set(trace.gpu_bytes) == {2**30}


@pytest.mark.parametrize(
    ("visible", "asked"), [("", 0), ("1,0", 1), ("GPU-abc", "GPU-abc")], ids=str
)
def test_the_gpu_is_the_first_that_the_process_may_use(
    visible: str, asked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    nvml = FakeNvml(counts=True)
    Sampler(gpu=True, nvml=nvml)
    assert nvml.asked == ["init", asked]


def test_energy_of_the_processor_comes_from_rapl_even_when_it_wraps(tmp_path: Path) -> None:
    folder = tmp_path / "sys/class/powercap/intel-rapl:0"
    folder.mkdir(parents=True)
    (folder / "max_energy_range_uj").write_text("1000000000\n")
    (folder / "energy_uj").write_text("999000000\n")
    sampler = Sampler(gpu=False, root=tmp_path)
    sampler.start()
    (folder / "energy_uj").write_text("4000000\n")
    trace = sampler.stop()
    assert trace.energy["processor"].joules == pytest.approx(5.0)
    assert "processor energy" not in trace.not_measured
