# ruff: noqa: N802 - the names are NVML's
from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest

from pipeline.records import Usage
from pipeline.system.monitor import watching


class FakeNvml:
    """A GPU that is half busy and counts its energy, or does not."""

    class NVMLError(Exception):
        pass

    def __init__(self, *, counts: bool) -> None:
        self.counts, self.joules, self.used = counts, 0, 0
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
        self.used = 2**30 if self.used else 2**31
        return SimpleNamespace(used=self.used)

    def nvmlDeviceGetTotalEnergyConsumption(self, handle: str) -> float:
        if not self.counts:
            raise self.NVMLError("not supported")
        self.joules += 30
        return 1e3 * self.joules


def seen(**options: Any) -> Usage:
    """Return what is seen in 0.25 s."""
    with watching(**options) as found:
        time.sleep(0.25)
    return found[0]


def test_what_cannot_be_read_is_named_with_the_reason_and_not_guessed() -> None:
    class Broken(FakeNvml):
        def nvmlDeviceGetUtilizationRates(self, handle: str) -> Any:
            raise self.NVMLError("not supported")

    usage = seen(gpu=True, nvml=Broken(counts=True))
    assert usage.not_measured["gpu"] == "not supported"
    assert (usage.gpu_use, usage.gpu_bytes, usage.energy) == (None, None, {})


@pytest.mark.parametrize("counts", [True, False])
def test_a_gpu_has_a_mean_use_a_peak_of_memory_and_energy_if_it_counts_it(counts: bool) -> None:
    usage = seen(gpu=True, nvml=FakeNvml(counts=counts))
    assert (usage.gpu_use, usage.gpu_bytes) == (0.5, 2**31)
    assert ("gpu" in usage.energy) is counts
    assert not counts or usage.energy["gpu"].joules == pytest.approx(30)
    assert usage.not_measured.get("gpu energy") == (None if counts else "not supported")


@pytest.mark.parametrize(
    ("visible", "asked"), [("", 0), ("1,0", 1), ("GPU-abc", "GPU-abc")], ids=str
)
def test_the_gpu_is_the_first_that_the_process_may_use(
    visible: str, asked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    nvml = FakeNvml(counts=True)
    seen(gpu=True, nvml=nvml)
    assert nvml.asked == ["init", asked]
