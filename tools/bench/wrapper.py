"""What `Accelerated` costs beside the bare estimator: ``python -m tools.bench.wrapper``.

Both get the same matrix in the same process, in turns of random order. Time to fit and
to predict all rows is a ratio; time to predict a single row is a difference.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from xgboost import XGBClassifier

from pipeline import Accelerated, records
from pipeline.benchmark.rounds import turns
from pipeline.benchmark.statistics import ratio
from pipeline.errors import ConfigError
from pipeline.system import environment
from tools.bench.publication import Record, fingerprint, publish, say

SCHEMA: Final = "wrapper.results/1"
COLUMNS = 30
PASSES = 7
"""Predictions of all rows that are timed together, after one that is not."""
SINGLE = 200
"""Predictions of one row that are timed together."""
SPECS: dict[str, BaseEstimator] = {
    "LogisticRegression()": LogisticRegression(),
    "XGBClassifier(n_estimators=20)": XGBClassifier(n_estimators=20),
}
WAYS: dict[str, Callable[[Any], Any]] = {
    "bare": clone,
    "wrapped": lambda pipeline: Accelerated(clone(pipeline), device="cpu"),
}
MOST = 1.02
"""Target for the ratios."""
MOST_ADDED = 1e-3
"""Target for a single row, in seconds."""


class Times(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Seconds of each run of one pipeline, bare or wrapped."""

    pipeline: str
    way: str
    fit: list[float]
    predict: list[float]
    """Mean of several predictions of all rows."""
    predict_one: list[float]
    """Mean of `single` predictions of one row."""


class Results(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The record."""

    schema: Literal["wrapper.results/1"]
    rows: int
    columns: int
    single: int
    cells: list[Times]

    def times(self, pipeline: str, way: str, phase: str) -> np.ndarray:
        """Return the seconds of a phase, shape (n_repeats,)."""
        (found,) = (cell for cell in self.cells if (cell.pipeline, cell.way) == (pipeline, way))
        return np.array(getattr(found, phase))


def load(path: Path) -> Results:
    """Read and validate a record; see `pipeline.records.load` for what is raised."""
    return records.load(path, Results, schema=SCHEMA, command="make bench-wrapper")


def measure(rows: int, repeats: int, seed: int, say: Callable[[str], None]) -> Results:
    """Time each pipeline, bare and wrapped, after a warm-up of both.

    Parameters
    ----------
    rows, repeats, seed : int
    say : callable
        Gets a line of text for every run.
    """
    load_average = environment.load_average()
    X, y = table(rows, seed)
    cells = [cell for name in SPECS for cell in _pipeline(name, X, y, repeats, seed, say)]
    return Results(
        schema=SCHEMA,
        rows=rows,
        columns=COLUMNS,
        single=SINGLE,
        cells=cells,
        **fingerprint("tools.bench.wrapper", load_average, seed),
    )


def table(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a float32 matrix and two labels that the first columns tell in part."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, COLUMNS)).astype("float32")
    return X, (X[:, :3].sum(axis=1) + rng.normal(size=rows) > 0).astype("int64")


def _pipeline(
    name: str, X: Any, y: Any, repeats: int, seed: int, say: Callable[[str], None]
) -> Iterator[Times]:
    found = {way: Times(pipeline=name, way=way, fit=[], predict=[], predict_one=[]) for way in WAYS}
    for make in WAYS.values():  # warm-up
        _run(make(SPECS[name]), X, y)
    for way in turns(list(WAYS), repeats, seed):
        fit, predict, one = _run(WAYS[way](SPECS[name]), X, y)
        found[way].fit.append(fit)
        found[way].predict.append(predict)
        found[way].predict_one.append(one)
        say(f"{name}  {way}  {fit:.3f} s  {predict:.3f} s")
    yield from found.values()


def _run(model: Any, X: np.ndarray, y: np.ndarray) -> tuple[float, float, float]:
    fit = _seconds(lambda: model.fit(X, y))
    model.predict(X)
    predict = _seconds(lambda: [model.predict(X) for _ in range(PASSES)]) / PASSES
    row = X[:1]
    model.predict(row)
    return fit, predict, _seconds(lambda: [model.predict(row) for _ in range(SINGLE)]) / SINGLE


def _seconds(do: Callable[[], Any]) -> float:
    start = time.perf_counter()
    do()
    return time.perf_counter() - start


def part(found: Results) -> str:
    """Return the table of the guide, in Markdown."""
    lines = [
        "| program | phase | bare | wrapped | cost | 95 % interval | target | met |",
        "|---|---|---:|---:|---:|:---:|---:|:---:|",
    ]
    lines += [_ratio(found, pipeline, phase) for pipeline in SPECS for phase in ("fit", "predict")]
    lines += [_added(found, pipeline) for pipeline in SPECS]
    n = len(found.cells[0].fit)
    here = found.machine
    return "\n".join(lines) + (
        f"\n\nMedians of {n} runs in turns of random order; {found.rows:,} × {found.columns} "
        f"float32; all rows: mean of {PASSES} predictions; one row: mean of {found.single}; "
        f"{here.cpu}, {here.cores} cores; "
        f"{found.created[:10]}."
    )


def _ratio(found: Results, pipeline: str, phase: str) -> str:
    bare, wrapped = (found.times(pipeline, way, phase) for way in WAYS)
    compared = ratio(wrapped, bare)
    if compared is None:
        raise ConfigError("a record without runs; run `make bench-wrapper`")
    low, high = compared.interval or (float("nan"), float("nan"))
    met = "yes" if compared.value <= MOST else "no"
    return (
        f"| `{pipeline}` | {phase} | {np.median(bare):.3f} s | {np.median(wrapped):.3f} s "
        f"| × {compared.value:.3f} | {low:.3f}–{high:.3f} | × {MOST} | {met} |"
    )


def _added(found: Results, pipeline: str) -> str:
    bare, wrapped = (1e3 * np.median(found.times(pipeline, way, "predict_one")) for way in WAYS)
    met = "yes" if wrapped - bare <= 1e3 * MOST_ADDED else "no"
    return (
        f"| `{pipeline}` | predict one row | {bare:.3f} ms | {wrapped:.3f} ms "
        f"| {wrapped - bare:+.3f} ms | | + {1e3 * MOST_ADDED:.0f} ms | {met} |"
    )


def main() -> int:
    """Measure and publish; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.wrapper", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/results/wrapper-cpu"))
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    if given.rows < 2 or given.repeats < 1:
        parser.error("--rows must be at least 2, and --repeats at least 1")
    return publish(
        given.out, lambda home: measure(given.rows, given.repeats, given.seed, say), part
    )


if __name__ == "__main__":
    sys.exit(main())
