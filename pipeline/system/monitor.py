"""What a run takes of the machine beside its own processor time and memory: GPU and energy.

What cannot be read is named with the reason, never guessed.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from pipeline.records import Energy, Usage

INTERVAL = 0.1
"""Seconds between two looks at the GPU."""
_RAPL = "sys/class/powercap/intel-rapl:0/energy_uj"
_RAPL_RANGE = "sys/class/powercap/intel-rapl:0/max_energy_range_uj"
_HOW = {"processor": "RAPL, the whole package", "gpu": "NVML's counter, the whole GPU"}


@contextmanager
def watching(*, gpu: bool, root: Path = Path("/"), nvml: Any = None) -> Iterator[list[Usage]]:
    """Watch while the block runs; the list holds what was seen when it has ended.

    Parameters
    ----------
    gpu : bool
        Whether to look at the first GPU that this process may use.
    root : Path
        Folder that holds ``sys``.
    nvml : module, optional
        ``pynvml`` or a stand-in.

    Examples
    --------
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
    before = _counters(root, device, missing)
    try:
        yield seen
    finally:
        if device:
            device.stop()
        after = _counters(root, device, missing)
        spent = {part: after[part] - before[part] for part in before if part in after}
        if "processor" in spent:
            spent["processor"] %= (_number(root / _RAPL_RANGE, {}) or float("inf")) / 1e6
        seen.append(
            Usage(
                gpu_use=sum(device.uses) / len(device.uses) if device else None,
                gpu_bytes=max(device.bytes) if device else None,
                energy={part: Energy(joules=j, how=_HOW[part]) for part, j in spent.items()},
                not_measured=missing,
            )
        )


def _counters(root: Path, device: _Gpu | None, missing: dict[str, str]) -> dict[str, float]:
    """Return the joules that were counted; `missing` takes why others cannot be read."""
    found = {}
    if (microjoules := _number(root / _RAPL, missing)) is not None:
        found["processor"] = microjoules / 1e6
    if device:
        try:
            found["gpu"] = device.nvml.nvmlDeviceGetTotalEnergyConsumption(device.handle) / 1e3
        except device.nvml.NVMLError as error:
            missing["gpu energy"] = str(error)
    return found


def _number(path: Path, missing: dict[str, str]) -> float | None:
    try:
        return float(path.read_text())
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        missing["processor energy"] = f"RAPL cannot be read: {reason}"
        return None


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

    def _sample(self) -> None:
        ended = False
        while not ended:
            ended = self._done.wait(INTERVAL)
            with suppress(self.nvml.NVMLError):
                self._look()

    def _look(self) -> None:
        self.uses.append(self.nvml.nvmlDeviceGetUtilizationRates(self.handle).gpu / 100)
        self.bytes.append(int(self.nvml.nvmlDeviceGetMemoryInfo(self.handle).used))
