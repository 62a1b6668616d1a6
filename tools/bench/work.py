"""One run of one variant, in the process that it has to itself."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from pipeline.system import environment
from tools.bench import cases, rss
from tools.bench.schema import Difference, Run
from tools.bench.variants import HIDDEN, VARIANTS

CHUNK = 65_536
"""Rows that are compared at a time."""
PHASES = ("fit_transform", "transform")


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker does."""

    case: str
    variant: str
    home: str
    rows: int
    seed: int

    def load(self) -> cases.Case:
        """Return its case."""
        return cases.load(self.case, Path(self.home), self.rows, self.seed)


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker is told: to run, and to save its results to a folder or compare them."""

    folder: str = ""
    save: bool = False


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker says after a run."""

    run: Run | None = None
    shape: tuple[int, int, int] = (0, 0, 0)
    """Rows and columns of the table, columns of the result."""
    input_bytes: int = 0
    output_bytes: int = 0
    difference: Difference | None = None
    peaks: rss.Peaks = "each phase"
    threads: dict[str, str] = {}


def serve(job: Job, ask: Ask) -> Answer:
    """Answer, and give back what is no longer needed: it would only be in the next one's way."""
    try:
        return answer(job, ask)
    finally:
        rss.give_back()


def answer(job: Job, ask: Ask) -> Answer:
    """Read, fit and transform, and transform again; time each.

    The results are compared, or saved, with no clock running.
    """
    case = job.load()
    variant = (VARIANTS | HIDDEN)[job.variant]
    program = variant.make(case)
    (X, y), read, _, _ = _timed(lambda: variant.read(case))
    first, fitting, before, fit_peak = _timed(lambda: program.fit_transform(X, y))
    differences = {"fit_transform": _judge(first, ask, "fit_transform")}
    shape, size = (*X.shape, first.shape[1]), nbytes(first)
    del first
    again, transforming, _, transform_peak = _timed(lambda: program.transform(X))
    differences["transform"] = _judge(again, ask, "transform")
    return Answer(
        run=Run(
            read=read,
            fit_transform=fitting,
            transform=transforming,
            before_bytes=before,
            fit_transform_peak_bytes=fit_peak,
            transform_peak_bytes=transform_peak,
        ),
        shape=shape,
        input_bytes=nbytes(X),
        output_bytes=size,
        difference=Difference(**differences) if ask.folder else None,
        peaks=rss.reset(),
        threads=environment.threads() | _polars_threads(),
    )


def _polars_threads() -> dict[str, str]:
    polars = sys.modules.get("polars")
    return {"polars": str(polars.thread_pool_size())} if polars else {}


def _timed(do: Callable[[], Any]) -> tuple[Any, float, int, int]:
    """Return a result, its seconds, and resident bytes: before, and at the highest."""
    gc.collect()
    rss.reset()
    before, start = rss.now(), time.perf_counter()
    result = do()
    seconds = time.perf_counter() - start
    return result, seconds, before, rss.peak()


def nbytes(table: Any) -> int:
    """Return the bytes of the values of a table or an array."""
    if hasattr(table, "memory_usage"):
        return int(table.memory_usage(index=False, deep=True).sum())
    return int(table.estimated_size() if hasattr(table, "estimated_size") else table.nbytes)


def _judge(matrix: Any, ask: Ask, phase: str) -> float | None:
    if not ask.folder:
        return None
    file = Path(ask.folder) / f"{phase}.npy"
    if ask.save:
        np.save(file, np.asarray(matrix))
        return 0.0
    return apart(np.asarray(matrix), np.load(file, mmap_mode="r"))


def apart(a: np.ndarray, b: np.ndarray) -> float | None:
    """Return the largest absolute difference, or None where there is none to give.

    >>> apart(np.array([[1.0], [2.0]]), np.array([[1.0], [2.5]]))
    0.5
    >>> apart(np.array([[1.0]]), np.array([[np.nan]])) is None
    True
    """
    if a.shape != b.shape:
        return None
    starts = range(0, len(a), CHUNK)
    found = max(float(np.abs(a[i : i + CHUNK] - b[i : i + CHUNK]).max()) for i in starts)
    return found if np.isfinite(found) else None
