"""How near reading, preprocessing and predicting come to the memory bandwidth of the device."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import msgspec
import numpy as np

from pipeline import loading, task
from pipeline.compare import results
from pipeline.compare.statistics import measured
from pipeline.optional import load
from pipeline.persistence import parquet_files
from tools.gpu_proof.duel import SPEC
from tools.gpu_proof.stages import Ask

COPIED = 2**31
"""Bytes of the array that is copied."""
COPIES = 7


class Achieved(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A stage of a run: the bytes that it has to read or write at least, and its median time."""

    stage: str
    least_bytes: int
    seconds: float

    @property
    def bytes_a_second(self) -> float:
        """What that comes to."""
        return self.least_bytes / self.seconds


class Bandwidth(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of the device, by a copy of a large array, and of the stages of a program."""

    rows: int
    copied_bytes_a_second: float
    """Read and written bytes of a copy within the device; the fastest."""
    stages: list[Achieved]


def copied(device: str, size: int = COPIED) -> float:
    """Return the bytes a second that a copy within the memory of a device reads and writes."""
    xp = load("cupy" if device == "cuda" else "numpy")
    source, target = xp.ones(size, "uint8"), xp.empty(size, "uint8")
    best = np.inf
    for _ in range(COPIES):
        start = time.perf_counter()
        target[:] = source
        if device == "cuda":
            xp.cuda.Device().synchronize()
        best = min(best, time.perf_counter() - start)
    return 2 * size / best


def achieved(record: Path, path: Path, device: str) -> list[Achieved]:
    """Return the stages of the program `SPEC` in a comparison of generated rows."""
    if not record.exists():
        return []
    found = results.load(record)
    cell = measured(found, SPEC, device)
    if cell is None:
        return []
    source = task.load("synthetic")
    table = sum(loading.agree(parquet_files(path), [*source.features, source.target]))
    row = 4 * len(source.features)  # One float32 for each column: `boosting` makes no more.
    rows = found.task.rows_train + found.task.rows_test
    least = {
        "read": table,
        "preprocess": table + rows * row,
        "predict": found.task.rows_test * row,
    }
    return [
        Achieved(stage=stage, least_bytes=size, seconds=seconds)
        for stage, size in least.items()
        if (seconds := float(np.median([run.stages.get(stage, 0.0) for run in cell.runs])))
    ]


def main() -> None:
    """Write both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rows", type=int, required=True)
    given = parser.parse_args()
    path = task.load("synthetic").prepare(Path("data"), rows=given.rows)
    record = Ask(given.out.parent, given.device, (), 0).synthetic(given.rows) / "results.json"
    found = Bandwidth(
        rows=given.rows,
        copied_bytes_a_second=copied(given.device),
        stages=achieved(record, path, given.device),
    )
    given.out.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=2))


if __name__ == "__main__":
    main()
