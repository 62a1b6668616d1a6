"""What a transformer takes on a GPU, counted on the stand-ins: the bytes of our own arrays.

What a kernel of CuPy or CUB needs for itself, to sort or to find distinct values, comes on top.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import nullcontext
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import (
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
    QuantileTransformer,
    StandardScaler,
    TargetEncoder,
)

from pipeline.blocks import table
from pipeline.compile.program import Program
from pipeline.system.threads import halved
from pipeline.table import frames
from pipeline.twins.calendar import CalendarFeatures
from tests.contract import standins
from tests.contract.recorder import LIVE, RECORDER
from tests.twins import cases

ROWS = 100_000
COLUMNS = 8


def numbers(n_rows: int) -> np.ndarray:
    return np.random.default_rng(0).normal(5, 1, (n_rows, COLUMNS))


def holes(n_rows: int) -> np.ndarray:
    X = numbers(n_rows)
    X[::7] = np.nan
    return X


def nulls(n_rows: int) -> pd.DataFrame:
    return pd.DataFrame(holes(n_rows))


def levels(n_rows: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 50, (n_rows, COLUMNS)).astype("float64")


def dates(n_rows: int) -> pd.DataFrame:
    hours = np.random.default_rng(0).integers(0, 10**5, (n_rows, COLUMNS))
    return pd.DataFrame(np.datetime64("1999-12-31", "ns") + hours * np.timedelta64(1, "h"))


class Case(NamedTuple):
    """A transformer, and what makes its table."""

    estimator: Any
    rows: Callable[[int], Any] = numbers


CASES = {
    **{type(e).__name__: Case(e) for e, *_ in reversed(cases.CASES.values())},
    "CalendarFeatures": Case(CalendarFeatures(("month", "hour")), dates),
    "KBinsDiscretizer": Case(KBinsDiscretizer(5, encode="ordinal", subsample=None)),
    "OneHotEncoder": Case(OneHotEncoder(sparse_output=False), levels),
    "OrdinalEncoder": Case(OrdinalEncoder(), levels),
    "QuantileTransformer": Case(QuantileTransformer(n_quantiles=100, subsample=None)),
    "SimpleImputer": Case(SimpleImputer(), holes),
    "SimpleImputer, median": Case(SimpleImputer(strategy="median"), holes),
    "SimpleImputer, median of a frame": Case(SimpleImputer(strategy="median"), nulls),
    "SimpleImputer, most frequent": Case(SimpleImputer(strategy="most_frequent"), levels),
    "StandardScaler, NaN": Case(StandardScaler(), holes),
    "TargetEncoder": Case(TargetEncoder(random_state=0), levels),
}
"""Of each class the first of the cases that are compared, unless one here says more."""

BLOCKS = 64
"""Blocks that the table is cut into: as many as one that takes all memory that is free."""

MOST = 2.5
"""Times the table that may be on the device at once; beside a large matrix, 1.5 times."""


class Taken(NamedTuple):
    """What it takes to fit a transformer and to transform the rows; bytes are × the input."""

    peak: float
    """The most on the device at once."""
    made: float
    """Of the matrix."""
    waits: int
    """Copies to the host, each of which waits for the GPU."""
    passes: float
    """How often each row is read."""


@cache
def taken(name: str, n_blocks: int = BLOCKS, *, halves: bool = False) -> Taken:
    """Run a transformer on the stand-ins, its table cut into so many blocks."""
    case = CASES[name]
    host, y = case.rows(ROWS), np.random.default_rng(1).integers(0, 2, ROWS)
    # A frame of the stand-ins is one of pandas, which is not counted.
    uncounted = frames.nbytes(host) if frames.is_frame(host) else 0
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        standins.install(patch)
        patch.setattr(table, "GPU_CELLS", ROWS * COLUMNS // n_blocks)
        # The arguments of a call that is recorded stay alive.
        patch.setattr(RECORDER, "call", lambda *_: None)
        rows = _rows_read(patch)
        with LIVE.counted() as live, halved() if halves else nullcontext():
            X = frames.to_device(host, "cuda")
            RECORDER.clear()
            made = Program(clone(case.estimator), "float32").fit_transform(X, y).nbytes
        waits = sum(copy.to == "host" for copy in RECORDER.copies)
    nbytes = frames.nbytes(host)
    return Taken((live.peak + uncounted) / nbytes, made / nbytes, waits, sum(rows) / ROWS)


def _rows_read(patch: pytest.MonkeyPatch) -> list[int]:
    """Return the list to which each block that is read adds its rows; the first row is none."""
    rows: list[int] = []
    whole = table.Part.read

    def read(self: table.Part, names: Any, form: type) -> Any:
        rows.append(self.n_rows if self.n_rows > 1 else 0)
        return whole(self, names, form)

    patch.setattr(table.Part, "read", read)
    return rows


def a_block(name: str) -> float:
    """Return how many more times it waits for each further block of rows."""
    return (taken(name).waits - taken(name, 1).waits) / (BLOCKS - 1)
