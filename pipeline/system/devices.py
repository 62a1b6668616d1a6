"""The device that is used for a request, and why."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

from pipeline.errors import DeviceUnavailable, pick
from pipeline.optional import COMMAND, available, load, to_install
from pipeline.system import gpu

DEVICES = ("auto", "cpu", "cuda")
STACK = ("cudf", "cuml", "cupy")


@dataclass(frozen=True)
class Choice:
    """A device, "cpu" or "cuda", and the reason for it in one sentence.

    `passes_over` says that a GPU of this machine is not used: because the job is "small", or
    because it is "unfit" for the job.
    """

    name: str
    why: str
    passes_over: Literal["", "small", "unfit"] = field(default="", repr=False, compare=False)


def choose(device: str) -> Choice:
    """Return the device that serves a request for one of `DEVICES`.

    `DeviceUnavailable` says why ``"cuda"``, if requested, cannot be used here.

    >>> choose("cpu")
    Choice(name='cpu', why='device="cpu" was requested')
    """
    if device not in DEVICES:
        pick(device, DEVICES, "device")
    if device == "cpu":
        return Choice("cpu", 'device="cpu" was requested')
    why_not = obstacle()
    if not why_not:
        return Choice("cuda", "; ".join(str(found) for found in gpu.probe().devices))
    if device == "cuda":
        raise DeviceUnavailable(
            f'device="cuda" needs a usable NVIDIA GPU: {why_not}; use device="auto" or "cpu", '
            f"or see `{COMMAND} doctor`"
        )
    hidden = not gpu.why_unusable(found := gpu.probe(), {}) and gpu.why_unusable(found, os.environ)
    unfit: Literal["", "unfit"] = "unfit" if found.devices and not hidden else ""
    return Choice("cpu", f"no usable GPU: {why_not}", unfit)


def obstacle() -> str:
    """Return why ``"cuda"`` cannot be used; empty if it can."""
    found = gpu.why_unusable(gpu.probe(), os.environ)
    if found:
        return found
    missing = [package for package in STACK if not available(package)]
    return f"{', '.join(missing)} not installed ({to_install(missing[0])})" if missing else ""


def prepare_memory(device: str) -> None:
    """Let a GPU keep the memory that is freed for the next array; call it before the first one.

    RMM, from which cuDF, CuPy and cuML have theirs, starts without a pool: each array is a
    `cudaMalloc` and a `cudaFree`, which wait for the GPU. It gets the pool of CUDA, from which
    XGBoost has its memory too. A resource or an allocator that the user has set stays.
    """
    if device != "cuda":
        return
    mr, cupy = load("rmm.mr"), load("cupy")
    # cuDF does so, once it is imported.
    of_rmm, now = load("rmm.allocators.cupy.rmm_cupy_allocator"), cupy.cuda.get_allocator()
    if now is not of_rmm and now == cupy.get_default_memory_pool().malloc:
        cupy.cuda.set_allocator(of_rmm)
    if type(mr.get_current_device_resource()) is mr.CudaMemoryResource:
        pool = keep_freed_memory()
        if pool is not None:
            handle = load("cuda.bindings.runtime.cudaMemPool_t")(pool)
            with suppress(RuntimeError):  # RMM takes no pool of some virtual GPUs
                mr.set_current_device_resource(mr.CudaAsyncViewMemoryResource(handle))


def keep_freed_memory() -> int | None:
    """Let CUDA's pool keep what is freed, and return its handle; None where there is no pool.

    If left alone it gives all that is free back whenever the GPU is waited for.
    """
    runtime = load("cupy").cuda.runtime
    pool = _pool(runtime)
    if pool is not None:
        runtime.memPoolSetAttribute(pool, runtime.cudaMemPoolAttrReleaseThreshold, 2**64 - 1)
    return pool


def free_memory() -> int:
    """Return the bytes of the GPU that are free, with those that its pools keep for later."""
    cupy = load("cupy")
    runtime = cupy.cuda.runtime
    free = runtime.memGetInfo()[0] + cupy.get_default_memory_pool().free_bytes()
    pool = _pool(runtime)
    if pool is not None:
        free += runtime.memPoolGetAttribute(pool, runtime.cudaMemPoolAttrReservedMemCurrent)
        free -= runtime.memPoolGetAttribute(pool, runtime.cudaMemPoolAttrUsedMemCurrent)
    return int(free)


def release_memory(device: str) -> None:
    """Give the memory that nothing uses any more back to the device."""
    if device != "cuda":
        return
    cupy = load("cupy")
    cupy.get_default_memory_pool().free_all_blocks()
    runtime = cupy.cuda.runtime
    pool = _pool(runtime)
    if pool is not None:
        runtime.deviceSynchronize()  # what is still to be freed counts as used
        runtime.memPoolTrimTo(pool, 0)


def _pool(runtime: Any) -> int | None:
    """Return CUDA's own pool of the current device; some virtual GPUs have none."""
    try:
        return int(runtime.deviceGetDefaultMemPool(runtime.getDevice()))
    except RuntimeError:
        return None
