"""What the driver copies between host and GPU, counted by CUPTI."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Any

from pipeline.optional import load

_OPEN: list[Counter[str]] = []
"""Of the blocks that count now; a copy counts in each."""


@contextmanager
def copies() -> Iterator[Counter[str]]:
    """Count the bytes that the driver copies in the block, by kind, as ``"HTOD"`` and ``"DTOH"``.

    By CUPTI's activity records. The counts are complete when the block has ended. Blocks may
    follow and hold one another.
    """
    cupti, counted = _cupti(), Counter[str]()
    _finish(cupti)
    cupti.activity_enable(cupti.ActivityKind.MEMCPY)
    _OPEN.append(counted)
    try:
        yield counted
    finally:
        _finish(cupti)
        _OPEN[:] = [each for each in _OPEN if each is not counted]
        if not _OPEN:
            cupti.activity_disable(cupti.ActivityKind.MEMCPY)


@cache
def _cupti() -> Any:
    """Return CUPTI, told once a process where its records go."""
    cupti: Any = import_module("cupti.cupti")

    def completed(activities: list[Any]) -> None:
        for each in activities:
            if each.kind == cupti.ActivityKind.MEMCPY:
                for counted in _OPEN:
                    counted[cupti.ActivityMemcpyKind(each.copy_kind).name] += each.bytes

    cupti.activity_register_callbacks(lambda: (8 * 2**20, 0), completed)
    return cupti


def _finish(cupti: Any) -> None:
    """Wait for the device, and for the records of what it has done, full buffers or not."""
    load("cupy").cuda.Device().synchronize()
    cupti.activity_flush_all(1)
