"""Memory that runs out: one error, whichever library asked for more."""

from __future__ import annotations

import gc
import re

from pipeline.errors import OutOfMemory, PipelineError
from pipeline.system.libc import c_function

_SAYS = re.compile(
    r"bad_?m?alloc|out.of.memory|cudaErrorMemoryAllocation"
    r"|STATUS_(ALLOC_FAILED|NOT_INITIALIZED)"
    r"|can't start new thread|failed to launch worker thread",
    re.IGNORECASE,
)
_PLACES = {"cpu": "the memory of the machine", "cuda": "the memory of the GPU"}
_INSTEAD = {
    "cpu": "fewer rows or columns, float32, or more memory",
    "cuda": 'fewer rows or columns, float32, a GPU with more memory, or device="cpu"',
}


def is_exhausted(error: BaseException) -> bool:
    """Return whether an error says that memory ran out.

    Python, NumPy, Arrow, CuPy and RMM raise a `MemoryError`; XGBoost, cuML and CUDA errors
    of their own, which only their text tells; cuBLAS and cuSOLVER that they could not allocate
    or, without room for their own state, that they were not initialised. A thread needs memory
    for its stack, and Arrow's error without it has a class that no other shares.

    >>> is_exhausted(RuntimeError("std::bad_alloc: out_of_memory")), is_exhausted(ValueError("x"))
    (True, False)
    >>> is_exhausted(RuntimeError("cuSOLVER: CUSOLVER_STATUS_ALLOC_FAILED"))
    True
    """
    if isinstance(error, MemoryError):
        return True
    return isinstance(error, Exception) and bool(_SAYS.search(str(error)))


def give_back() -> None:
    """Return what was freed to the system, where the C library keeps it for later.

    What is kept counts against a limit of the process, and only the C library can use it again.
    """
    gc.collect()
    if trim := c_function("malloc_trim"):
        trim(0)


def raise_if_exhausted(error: Exception, step: str, call: str, device: str) -> None:
    """Raise `OutOfMemory`, which says where, if that is what an error of a step says."""
    if not isinstance(error, PipelineError) and is_exhausted(error):
        raise OutOfMemory(
            f"{step}: {_PLACES[device]} ran out in {call}; use {_INSTEAD[device]}"
        ) from error
