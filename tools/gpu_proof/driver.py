"""What the driver copied between host and device, by CUPTI's activity records.

Needs the package ``cupti-python``, which is not among ours: NVIDIA's licence is not free.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

BUFFER = 8 * 2**20
FORCED = 1
"""Flag of a flush: buffers that are not full come too."""


@contextmanager
def copies() -> Iterator[Counter[str]]:
    """Count the bytes of all copies in the block, by kind, as ``"HTOD"`` and ``"DTOH"``.

    The counts are complete when the block has ended.
    """
    cupti: Any = import_module("cupti.cupti")
    cupy: Any = import_module("cupy")
    counted: Counter[str] = Counter()

    def completed(activities: list[Any]) -> None:
        for each in activities:
            if each.kind == cupti.ActivityKind.MEMCPY:
                counted[cupti.ActivityMemcpyKind(each.copy_kind).name] += each.bytes

    cupy.cuda.Device().synchronize()
    cupti.activity_register_callbacks(lambda: (BUFFER, 0), completed)
    cupti.activity_enable(cupti.ActivityKind.MEMCPY)
    try:
        yield counted
        cupy.cuda.Device().synchronize()
    finally:
        cupti.activity_flush_all(FORCED)
        cupti.activity_disable(cupti.ActivityKind.MEMCPY)
