"""What a run takes of the machine, sampled in the background.

Processors, memory, disk, GPU and energy. What cannot be read is named with the reason, never
guessed. The sampler counts its own processor time, so that its cost is in the record.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from pipeline.records import Energy, Trace

INTERVAL = 0.1
"""Seconds between two samples, while there are few of them."""
MOST = 300
"""Samples of a run; beyond it every other one is dropped, and the interval doubles."""
_RAPL = "sys/class/powercap/intel-rapl:0/energy_uj"
_RAPL_RANGE = "sys/class/powercap/intel-rapl:0/max_energy_range_uj"


class Sampler:
    """Samples this process, and a GPU, until it is stopped.

    Parameters
    ----------
    gpu : bool
        Whether to look at the first GPU that the process may use.
    root : Path
        Folder that holds ``sys``.
    nvml : module, optional
        ``pynvml`` or a stand-in.
    """

    def __init__(self, *, gpu: bool, root: Path = Path("/"), nvml: Any = None) -> None:
        self.process = psutil.Process()
        self.root = root
        self.rows: list[tuple[float, ...]] = []
        self.interval = INTERVAL
        self.missing: dict[str, str] = {}
        self.spent = 0.0
        self.gpu = self._device(nvml) if gpu else None
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._sample, name="monitor", daemon=True)

    def start(self) -> None:
        """Begin: the counters of energy and disk are read, and the thread started."""
        self.began = time.perf_counter()
        self.counters = self._counters()
        self._take()
        self._thread.start()

    def stop(self) -> Trace:
        """End, and return what was seen."""
        self._done.set()
        self._thread.join()
        self._take()
        total = time.perf_counter() - self.began
        before, after = self.counters, self._counters()
        columns = [list(column) for column in zip(*self.rows, strict=True)]
        return Trace(
            seconds=columns[0],
            processors=_rates(columns[0], columns[1]),
            rss_bytes=[int(value) for value in columns[2]],
            gpu_use=columns[3] if self.gpu else [],
            gpu_bytes=[int(value) for value in columns[4]] if self.gpu else [],
            watts=columns[5] if self.gpu else [],
            read_bytes=_difference(before, after, "read"),
            written_bytes=_difference(before, after, "written"),
            energy=self._energy(before, after, columns),
            not_measured=self.missing,
            cost=self.spent / total if total > 0 else 0.0,
        )

    def _sample(self) -> None:
        while not self._done.wait(self.interval):
            start = time.thread_time()
            self._take()
            if len(self.rows) > MOST:
                self.rows[1:] = self.rows[2::2]
                self.interval *= 2
            self.spent += time.thread_time() - start

    def _take(self) -> None:
        times = self.process.cpu_times()
        row = (
            time.perf_counter() - self.began,
            times.user + times.system,
            float(self.process.memory_info().rss),
        )
        self.rows.append(row + (self.gpu.sample() if self.gpu else ()))

    def _device(self, nvml: Any) -> _Gpu | None:
        try:
            return _Gpu(nvml or import_module("pynvml"))
        except Exception as error:  # of NVML's many kinds, or of the import
            self.missing["gpu"] = str(error) or type(error).__name__
            return None

    def _counters(self) -> dict[str, float]:
        found: dict[str, float] = {}
        try:
            disk = self.process.io_counters()
            found |= {"read": disk.read_bytes, "written": disk.write_bytes}
        except (AttributeError, OSError) as error:
            self.missing["disk"] = str(error)
        try:
            found["processor"] = float((self.root / _RAPL).read_text())
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            self.missing["processor energy"] = f"RAPL cannot be read: {reason}"
        if self.gpu and (millijoules := self.gpu.energy()) is not None:
            found["gpu"] = millijoules
        return found

    def _energy(
        self, before: dict[str, float], after: dict[str, float], columns: list[list[float]]
    ) -> dict[str, Energy]:
        found = {}
        if "processor" in before and "processor" in after:
            microjoules = (after["processor"] - before["processor"]) % self._range()
            found["processor"] = Energy(joules=microjoules / 1e6, how="RAPL, the whole package")
        if "gpu" in before and "gpu" in after:
            joules = (after["gpu"] - before["gpu"]) / 1e3
            found["gpu"] = Energy(joules=joules, how="NVML's counter, the whole GPU")
        elif self.gpu:
            joules = float(np.trapezoid(columns[5], columns[0]))
            found["gpu"] = Energy(joules=joules, how="NVML's power, integrated")
        return found

    def _range(self) -> float:
        try:
            return float((self.root / _RAPL_RANGE).read_text()) or float("inf")
        except (OSError, ValueError):
            return float("inf")


class _Gpu:
    """The first GPU that this process may use, by NVML."""

    def __init__(self, nvml: Any) -> None:
        self.nvml = nvml
        nvml.nvmlInit()
        first = os.environ.get("CUDA_VISIBLE_DEVICES", "").partition(",")[0].strip()
        if first.startswith("GPU-"):
            self.handle = nvml.nvmlDeviceGetHandleByUUID(first)
        else:
            self.handle = nvml.nvmlDeviceGetHandleByIndex(int(first or 0))

    def sample(self) -> tuple[float, ...]:
        """Return the share of time in use, bytes in use, and watts."""
        nvml, handle = self.nvml, self.handle
        use = nvml.nvmlDeviceGetUtilizationRates(handle).gpu / 100
        used = nvml.nvmlDeviceGetMemoryInfo(handle).used
        return float(use), float(used), nvml.nvmlDeviceGetPowerUsage(handle) / 1e3

    def energy(self) -> float | None:
        """Return the counter in millijoules; None where the GPU has none."""
        try:
            return float(self.nvml.nvmlDeviceGetTotalEnergyConsumption(self.handle))
        except self.nvml.NVMLError:
            return None


@contextmanager
def watching(*, gpu: bool) -> Iterator[list[Trace]]:
    """Sample while the block runs; the list holds the trace when it has ended.

    >>> with watching(gpu=False) as seen:
    ...     total = sum(range(1000))
    >>> seen[0].seconds[-1] > 0
    True
    """
    sampler, seen = Sampler(gpu=gpu), list[Trace]()
    sampler.start()
    try:
        yield seen
    finally:
        seen.append(sampler.stop())


def _rates(seconds: list[float], used: list[float]) -> list[float]:
    """Return the busy processors between each sample and the one before; the first has none."""
    rates = np.diff(used) / np.maximum(np.diff(seconds), 1e-9)
    return [0.0, *np.maximum(rates, 0.0).tolist()]


def _difference(before: dict[str, float], after: dict[str, float], name: str) -> int | None:
    return int(after[name] - before[name]) if name in before and name in after else None
