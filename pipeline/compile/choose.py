"""The choice of CPU or GPU before a run, by the rows, the columns and the algorithms.

A job is worth a GPU if a CPU would take a second for it. The sizes were measured, on other
machines than the one that runs the job: they are estimates.
"""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Iterator
from dataclasses import replace
from math import inf
from typing import Any

from sklearn.base import BaseEstimator

from pipeline.backends import meta
from pipeline.backends.gpu_rules import PREPROCESSING, rule
from pipeline.backends.text_input import reads_text
from pipeline.compile.compile import Kind, compile, kind_of_step, named_steps
from pipeline.compile.spec import RowSpec
from pipeline.system import devices, gpu
from pipeline.system.devices import Choice
from pipeline.table import frames
from pipeline.typing import Table

WORDS = 100
"""Columns that a step after a text vectorizer is assumed to read: different words of a text."""
TREES = 100
"""`n_estimators` that the sizes of forests and boosted trees hold for."""
USABLE = 0.9
"""The share of a GPU's memory that a job may plan with; the rest is the driver's."""
COPIES = 3
"""The matrices in float32 that an estimator is assumed to need on a GPU."""


def advise(
    estimator: BaseEstimator, n_rows: int, n_columns: int, gpu_memory_bytes: int | None = None
) -> Choice:
    """Return the device for an estimator and a table of this size, where there is a usable GPU.

    >>> from sklearn.linear_model import LogisticRegression
    >>> advise(LogisticRegression(), 1_000, 10).name
    'cpu'
    >>> advise(LogisticRegression(), 1_000_000_000, 10).name
    'cuda'
    """
    shares = list(_shares(estimator, n_rows, n_columns))
    if not shares:
        return Choice("cpu", "none of its steps is supported on the GPU", "unfit")
    if (share := sum(each for _, each in shares)) < 1:
        why = f"{share:.1%} of the smallest size that is worth a GPU (estimated)"
        return Choice("cpu", why, "small")
    # Only now, because it may import cuML, which takes longer than a small job.
    steps = compile(estimator, RowSpec("cuda")).steps
    refused = {op.path: op.refused for op in steps if op.refused}
    if (share := sum(each for step, each in shares if step not in refused)) < 1:
        first = next(iter(refused.values()))[0]
        why = f"too small for a GPU without the steps that it cannot run: {first}"
        return Choice("cpu", why, "unfit")
    needed = 4 * COPIES * n_rows * n_columns
    if gpu_memory_bytes is not None and needed > USABLE * gpu_memory_bytes:
        return Choice(
            "cpu",
            f"it would need about {needed / 2**30:.1f} GiB (estimated), but the GPU has "
            f"{gpu_memory_bytes / 2**30:.1f} GiB",
            "unfit",
        )
    return Choice("cuda", f"{share:,.1f} times the smallest size that is worth a GPU (estimated)")


def choose_for(device: str, estimator: BaseEstimator, X: Table) -> Choice:
    """Return the device that serves a request for an estimator and its training rows.

    Only ``"auto"`` is decided by the size. `ConfigError` says that there is no such device, or that
    the estimator is invalid; `DeviceUnavailable` that ``"cuda"`` cannot be used here.
    """
    choice = devices.choose(device)
    if device != "auto" or choice.name == "cpu":
        return choice
    if frames.device_of(X) == "cuda":
        return Choice("cuda", f"{choice.why}; the table is already on a GPU")
    size = _shape(X)
    if size is None:
        return Choice("cuda", f"{choice.why}; the number of rows is not known before the run")
    what = "non-zero values per row" if frames.is_sparse(X) else "columns"
    return choose_by_size(choice, estimator, *size, what)


def choose_by_size(
    choice: Choice, estimator: BaseEstimator, n_rows: int, n_columns: int, what: str = "columns"
) -> Choice:
    """Return a choice of ``"auto"``, or the CPU if the job is too small or too large for a GPU."""
    if choice.name == "cpu":
        return choice
    compile(estimator)
    memory = min((each.memory_bytes or inf for each in gpu.probe().devices), default=inf)
    advice = advise(estimator, n_rows, n_columns, None if memory == inf else int(memory))
    named = f"{choice.why}; " if advice.name == "cuda" else ""
    why = f"{named}{n_rows:,} rows × {n_columns:,} {what}: {advice.why}"
    return replace(advice, why=why)


def report_fallbacks(device: str, choice: Choice, plan: Any) -> None:
    """Log each step that ran on the CPU although a GPU was requested or is available, and why.

    The logger is ``pipeline``, the level INFO. If ``device="auto"`` ran no step of a fit on the GPU
    of this machine, and not because the job is small, one warning says so too.
    """
    if choice.name == "cpu" and not choice.passes_over:
        return
    of_all = choice.why if choice.name == "cpu" else ""
    placements = plan.placements
    on_host = [place for place in placements if place.device == "cpu"]
    for place in on_host:
        why = of_all or place.remarks or "no GPU implementation"
        logging.getLogger("pipeline").info("%s: ran on the CPU; %s", place.step, why)
    none_on_gpu = len(on_host) == len(placements) and choice.passes_over != "small"
    if device == "auto" and on_host and none_on_gpu:
        why = of_all or on_host[-1].remarks
        warnings.warn(f"device='auto': all steps ran on the CPU; {why}", UserWarning, stacklevel=5)


def describe_sizes(estimator: BaseEstimator) -> str:
    """Return from which size ``device="auto"`` uses a GPU, if there is one.

    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> describe_sizes(HistGradientBoostingClassifier())
    'auto: the CPU for any size'
    """
    columns, what = (1, "texts") if reads_text(estimator) else (100, "rows of 100 columns")
    share = sum(each for _, each in _shares(estimator, 1, columns))
    if not share:
        return "auto: the CPU for any size"
    rows = int(float(f"{1 / share:.1e}"))
    return f"auto: a GPU, if usable, from about {rows:,} {what} (estimated); else the CPU"


def _shares(estimator: BaseEstimator, rows: int, columns: int) -> Iterator[tuple[str, float]]:
    """Yield the steps that have a rule for the GPU, with their part of the least size for it."""
    for step, part in named_steps(estimator):
        kind = kind_of_step(part)
        found = rule(part)
        if least := PREPROCESSING if kind is Kind.PREPROCESSING else found and found.min_size:
            trees = (getattr(part, "n_estimators", None) or TREES) / TREES
            yield step, rows * (1 if kind is Kind.TEXT else columns) * trees / least
        if meta.holds_estimators(part):
            for inner in meta.inner_estimators(part).values():
                yield from ((step, share) for _, share in _shares(inner, rows, columns))
        columns = WORDS if kind is Kind.TEXT else columns


def _shape(X: Table) -> tuple[int, int] | None:
    shape = getattr(X, "shape", None)
    if frames.is_partitioned(X) or (shape is None and not hasattr(X, "__len__")):
        return None
    if shape is None:
        first = X[0] if isinstance(X, list | tuple) and X else ""
        return len(X), len(first) if isinstance(first, list | tuple) else 1
    if frames.is_sparse(X):
        return int(shape[0]), math.ceil(X.nnz / max(shape[0], 1))
    return int(shape[0]), int(shape[1]) if len(shape) > 1 else 1
