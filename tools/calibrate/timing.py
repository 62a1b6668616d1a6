"""Time a pipeline on tables that grow until it takes long."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from sklearn.base import clone

from pipeline import Accelerated
from pipeline.planning.choose import Point
from tools.calibrate.families import Trial

Say = Callable[[str], None]


@dataclass(frozen=True)
class Limits:
    """How far to go.

    Parameters
    ----------
    cells : int
        Most numbers of a table.
    seconds : float
        No larger table is tried once one has taken so long, or the next is expected to take
        eight times that.
    repeats : int
        Of which the shortest counts, for others' work only adds; two, where they take longer than
        `seconds` in sum.
    """

    cells: int = 2**26
    seconds: float = 2.0
    repeats: int = 5

    def sizes(self, trial: Trial, columns: int) -> Iterator[int]:
        """Return numbers of rows, each four times the one before."""
        rows = trial.rows
        while rows <= min(trial.most, self.cells // columns):
            yield rows
            rows *= 4


def run(pipeline: Any, device: str, X: Any, y: Any) -> float:
    """Return the seconds of `fit` and an answer for the same rows, on the host at both ends."""
    model = Accelerated(clone(pipeline), device=device)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if hasattr(model, "predict"):
            model.fit(X, y).predict(X)
        elif hasattr(model, "transform"):
            model.fit(X, y).transform(X)
        elif hasattr(model, "fit_predict"):
            model.fit_predict(X)
        else:
            model.fit_transform(X)
    return time.perf_counter() - start


def on_cpu(trial: Trial, limits: Limits, say: Say) -> list[Point]:
    """Return the times on the CPU, over growing tables of each width."""
    points: list[Point] = []
    _warm_up(trial, "cpu")
    for columns in trial.widths:
        last = 0.0
        for rows in limits.sizes(trial, columns):
            seconds = _shortest(trial, "cpu", (rows, columns), limits)
            points.append(Point(rows=rows, columns=columns, seconds=seconds))
            say(f"cpu   {rows:>10,} × {columns:<4} {seconds:10.4f} s")
            growth, last = seconds / last if last else 4.0, seconds
            if seconds > limits.seconds or seconds * growth > 8 * limits.seconds:
                break
    return points


def on_gpu(trial: Trial, sizes: list[Point], limits: Limits, say: Say) -> list[Point]:
    """Return the times on the GPU at the sizes that the CPU was timed at."""
    points = []
    _warm_up(trial, "cuda")
    for size in sizes:
        seconds = _shortest(trial, "cuda", (size.rows, size.columns), limits)
        points.append(Point(rows=size.rows, columns=size.columns, seconds=seconds))
        say(f"cuda  {size.rows:>10,} × {size.columns:<4} {seconds:10.4f} s")
    return points


def _shortest(trial: Trial, device: str, size: tuple[int, int], limits: Limits) -> float:
    X, y = trial.table(*size)
    times: list[float] = []
    while len(times) < 2 or len(times) < limits.repeats and sum(times) <= limits.seconds:
        times.append(run(trial.pipeline, device, X, y))
    return min(times)


def _warm_up(trial: Trial, device: str) -> None:
    """Run once: the first run of a process loads what the others find loaded."""
    run(trial.pipeline, device, *trial.table(trial.rows, trial.widths[0]))


def tell(line: str) -> None:
    """Say a line on standard error."""
    print(line, file=sys.stderr, flush=True)
