"""Resident memory of this process: now, and at its highest, without sampling."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Literal

import pyarrow as pa

from pipeline.system import memory

Peaks = Literal["each phase", "process so far"]
_RESET_PEAK = "5"
_PROC = Path("/proc/self")


def now() -> int:
    """Return the resident bytes, files that are mapped included."""
    return status("VmRSS")


def peak() -> int:
    """Return the most bytes that were resident since `reset`, or since the start."""
    return status("VmHWM")


def reset() -> Peaks:
    """Let the peak begin anew; return what it covers from here on.

    Some systems refuse it: a peak is then that of the whole process so far.
    """
    try:
        (_PROC / "clear_refs").write_text(_RESET_PEAK)
    except OSError:
        return "process so far"
    return "each phase"


def give_back() -> None:
    """Free what nothing refers to and return it to the system, as far as it goes."""
    gc.collect()
    pa.default_memory_pool().release_unused()
    memory.give_back()


def status(name: str) -> int:
    """Return a count of the process in bytes, as ``"VmData"``; 0 where there is none."""
    try:
        lines = (_PROC / "status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(name)), 0)
