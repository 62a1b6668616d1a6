"""The time, memory and energy that a run takes on the GPU.

What cannot be read is reported with the reason, never guessed.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

from pipeline.records import Energy, Usage

INTERVAL = 0.1
"""Seconds between two looks at the GPU."""


@contextmanager
def watching(*, gpu: bool, nvml: Any = None) -> Iterator[list[Usage]]:
    """Watch while the block runs; the list holds what was seen when it has ended.

    With `gpu`, the first GPU that this process may use is watched, by `nvml` or ``pynvml``.

    >>> with watching(gpu=False) as seen:
    ...     total = sum(range(1000))
    >>> seen[0].gpu_use is None
    True
    """
    missing, seen, device = dict[str, str](), list[Usage](), None
    if gpu:
        try:
            device = _Gpu(nvml or import_module("pynvml"))
        except Exception as error:  # of NVML's many kinds, or of the import
            missing["gpu"] = str(error) or type(error).__name__
    before = device.joules(missing) if device else None
    try:
        yield seen
    finally:
        if device:
            device.stop()
        after, energy = device.joules(missing) if device else None, {}
        if before is not None and after is not None:
            energy["gpu"] = Energy(
                joules=after - before, how="NVML's energy counter, for the entire GPU"
            )
        seen.append(
            Usage(
                gpu_use=sum(device.uses) / len(device.uses) if device else None,
                gpu_bytes=max(device.bytes) if device else None,
                energy=energy,
                not_measured=missing,
            )
        )


class _Gpu:
    """The first GPU that this process may use, by NVML; sampled in the background."""

    def __init__(self, nvml: Any) -> None:
        self.nvml = nvml
        nvml.nvmlInit()
        first = os.environ.get("CUDA_VISIBLE_DEVICES", "").partition(",")[0].strip()
        if first.startswith("GPU-"):
            self.handle = nvml.nvmlDeviceGetHandleByUUID(first)
        else:
            self.handle = nvml.nvmlDeviceGetHandleByIndex(int(first or 0))
        self.uses: list[float] = []
        self.bytes: list[int] = []
        self._look()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._sample, name="monitor", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Look for the last time."""
        self._done.set()
        self._thread.join()

    def joules(self, missing: dict[str, str]) -> float | None:
        """Return the joules that it has counted; `missing` takes why they cannot be read."""
        try:
            return float(self.nvml.nvmlDeviceGetTotalEnergyConsumption(self.handle) / 1e3)
        except self.nvml.NVMLError as error:
            missing["gpu energy"] = str(error)
            return None

    def _sample(self) -> None:
        ended = False
        while not ended:
            ended = self._done.wait(INTERVAL)
            with suppress(self.nvml.NVMLError):
                self._look()

    def _look(self) -> None:
        self.uses.append(self.nvml.nvmlDeviceGetUtilizationRates(self.handle).gpu / 100)
        self.bytes.append(int(self.nvml.nvmlDeviceGetMemoryInfo(self.handle).used))
