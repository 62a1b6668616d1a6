"""From what the user asks for to the device that will be used, and why."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass

from pipeline.errors import ConfigError, DeviceUnavailable
from pipeline.optional import available, load
from pipeline.system import gpu

DEVICES = ("auto", "cpu", "cuda")
STACK = ("cudf", "cuml", "cupy")


@dataclass(frozen=True)
class Choice:
    """A device and the reason for it.

    Parameters
    ----------
    name : {"cpu", "cuda"}
    why : str
        One sentence.
    """

    name: str
    why: str


def choose(device: str) -> Choice:
    """Return the device that serves a request.

    Parameters
    ----------
    device : {"auto", "cpu", "cuda"}

    Raises
    ------
    ConfigError
        No such device.
    DeviceUnavailable
        ``"cuda"`` was asked for and cannot be used here.

    Examples
    --------
    >>> choose("cpu")
    Choice(name='cpu', why='device="cpu" was asked for')
    """
    if device not in DEVICES:
        known = ", ".join(repr(name) for name in DEVICES)
        raise ConfigError(f"device={device!r} is not one of {known}")
    if device == "cpu":
        return Choice("cpu", 'device="cpu" was asked for')
    why_not = obstacle()
    if not why_not:
        return Choice("cuda", "; ".join(str(found) for found in gpu.probe().devices))
    if device == "cuda":
        raise DeviceUnavailable(
            f'device="cuda" needs a usable NVIDIA GPU: {why_not}; use device="auto" or "cpu", '
            "or see `make doctor`"
        )
    return Choice("cpu", f"no usable GPU: {why_not}")


def obstacle() -> str:
    """Return what stands in the way of ``"cuda"``; empty when nothing does."""
    found = gpu.why_unusable(gpu.probe(), os.environ)
    if found:
        return found
    missing = [package for package in STACK if not available(package)]
    return f"{', '.join(missing)} not installed (`make setup`)" if missing else ""


def prepare_memory(device: str) -> None:
    """Let a GPU keep the memory that is freed for the next array; call it before the first one.

    RMM, from which cuDF, CuPy and cuML have theirs, starts without a pool: each array is a
    `cudaMalloc` and a `cudaFree`, which wait for the GPU. A resource that the user has set stays.
    """
    if device != "cuda":
        return
    mr = load("rmm.mr")
    if type(mr.get_current_device_resource()) is mr.CudaMemoryResource:
        # Some virtual GPUs have no pools; they go on without.
        with suppress(RuntimeError):
            mr.set_current_device_resource(mr.CudaAsyncMemoryResource())
