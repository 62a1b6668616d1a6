"""The record of predictions of a saved model, and its tables; `tools.bench.predict` makes it."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

import msgspec

from pipeline import records
from tools.bench.publication import Record

SCHEMA: Final = "prediction.results/1"
MOST = 0.5
"""Target for the time of one row, in that of scikit-learn's pipeline."""
LEAST = 0.9
"""Target for the throughput of a matrix, in that of the bare estimator."""
MOST_GIB = 2
"""Target for the memory of a file of any length."""


class Times(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Wall times of calls, in seconds."""

    calls: int
    median: float
    p95: float


class Row(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`predict_proba` of one row of a frame with 30 columns."""

    model: str
    loaded: Times
    """The model of this package, after `save` and `load`."""
    sklearn: Times
    """scikit-learn's pipeline of the same pipeline, fitted on the same rows."""
    bare: Times
    """The last step alone, with the row as a matrix that is ready."""


class Batch(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A long file through ``python -m pipeline predict``."""

    model: str
    rows: int
    columns: int
    input_bytes: int
    batch_rows: int
    seconds: float
    """From the start of the process to its end."""
    rows_a_second: float
    peak_bytes: int
    """The most that was resident in the process, its libraries included."""
    bare_seconds: float
    """The bare estimator on as many rows of a float32 matrix in memory."""
    bare_rows_a_second: float


class Matrix(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`predict_proba` of a matrix of float32 in memory, without any preprocessing."""

    model: str
    rows: int
    columns: int
    loaded: Times
    bare: Times


class Results(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The record."""

    schema: Literal["prediction.results/1"]
    rows_trained: int
    one_row: list[Row]
    matrix: Matrix
    batch: Batch | None


def load(path: Path) -> Results:
    """Read and validate a record; see `pipeline.records.load` for what is raised."""
    return records.load(path, Results, schema=SCHEMA, command="make bench-prediction")


def part(found: Results) -> str:
    """Return the tables of the guide, in Markdown."""
    lines = [
        "| one row, ms | loaded | scikit-learn | bare | loaded / scikit-learn | target | met |",
        "|---|--:|--:|--:|--:|--:|:-:|",
    ]
    for row in found.one_row:
        a, b, c = (1e3 * times.median for times in (row.loaded, row.sklearn, row.bare))
        lines.append(
            f"| `{row.model}` | {a:.2f} | {b:.2f} | {c:.2f} | × {a / b:.2f} | × {MOST} "
            f"| {_met(a <= MOST * b)} |"
        )
    lines += ["", _matrix(found.matrix), *(["", _batch(found.batch)] if found.batch else [])]
    here, calls = found.machine, found.one_row[0].loaded.calls
    lines += [
        "",
        f"One row: medians of {calls} calls; the matrix: of {found.matrix.loaded.calls}; in turns "
        f"of random order; the file: once. {here.cpu}, {here.cores} cores, load average before "
        f"{here.load_before:.1f}; {found.created[:10]}.",
    ]
    return "\n".join(lines)


def _matrix(plain: Matrix) -> str:
    share = plain.bare.median / plain.loaded.median
    return (
        f"{plain.rows:,} rows of a float32 matrix with {plain.columns} columns through "
        f"`{plain.model}`: {plain.loaded.median:.2f} s loaded, {plain.bare.median:.2f} s bare, "
        f"{share:.2f} of its throughput (at least {LEAST}: {_met(share >= LEAST)})."
    )


def _batch(each: Batch) -> str:
    peak = each.peak_bytes / 2**30
    return (
        f"{each.rows:,} rows of {each.columns} columns ({each.input_bytes / 1e9:.2f} GB of "
        f"Parquet) through preprocessing and `{each.model}`, by the command: {each.seconds:.0f} s, "
        f"{each.rows_a_second:,.0f} rows a second, at most {peak:.2f} GiB resident (at most "
        f"{MOST_GIB}: {_met(peak <= MOST_GIB)}). The bare estimator on a matrix that is ready: "
        f"{each.bare_rows_a_second:,.0f} rows a second."
    )


def _met(reached: bool) -> str:
    return "yes" if reached else "**no**"
