"""How many bytes a second a copy within the memory of a device reads and writes."""

from __future__ import annotations

import time

import msgspec

from pipeline.optional import load
from tools.gpu_proof import child

SIZES = {"cuda": 2**31, "cpu": 2**26}
"""Bytes of the array that is copied."""
COPIES = 7


class Bandwidth(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of the memory of a device."""

    size: int
    seconds: list[float]
    """Of the copies."""

    @property
    def bytes_a_second(self) -> float:
        """Read and written by the fastest copy."""
        return 2 * self.size / min(self.seconds)


def copied(device: str, size: int = 0) -> Bandwidth:
    """Copy an array within a device, some times."""
    xp, size = load("cupy" if device == "cuda" else "numpy"), size or SIZES[device]
    source, target, seconds = xp.ones(size, "uint8"), xp.empty(size, "uint8"), []
    for _ in range(COPIES):
        start = time.perf_counter()
        target[:] = source
        if device == "cuda":
            xp.cuda.Device().synchronize()
        seconds.append(time.perf_counter() - start)
    return Bandwidth(size=size, seconds=seconds)


if __name__ == "__main__":
    child.write(lambda given: copied(given.device), __doc__)
