"""The preprocessing of flights alone, beside scikit-learn, skrub and Polars."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.base import TransformerMixin
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler, TargetEncoder

from datasets import flights
from pipeline import Accelerated
from pipeline.benchmark.report.format import seconds
from tasks.flights import FEW, MANY, NUMBERS, TASK, folds, logistic
from tools.bench import record, report
from tools.bench.claim import Ask, Case, Claim
from tools.bench.record import Cell, Report, Run, Variant

NAMES = [*NUMBERS, *FEW, *MANY]
"""The columns, in the order of the output."""
PHASES = ("fit_transform", "transform")
REFERENCE, OBJECTS = "sklearn-str", "sklearn-object"
"""scikit-learn as people write it, and with the columns that it encodes fastest."""
LEAST = {"fit_transform": 6.0, "transform": 8.0}
"""Targets for the speed of both of ours beside both of scikit-learn's, set before any run."""
SAME_NUMBERS = 1e-5
"""Largest absolute difference that counts as the same numbers; scaled columns vary by 1."""


class Table(NamedTuple):
    """The same rows in two files, and the true matrices of both phases."""

    text: Path
    coded: Path
    true: Path


def _read(path: Path) -> tuple[pd.DataFrame, np.ndarray]:
    X = pd.read_parquet(path, columns=[*NAMES, TASK.target])
    return X, X.pop(TASK.target).to_numpy()


def read_text(table: Table) -> tuple[Any, np.ndarray]:
    """Read text columns as what pandas makes of them: `str`."""
    return _read(table.text)


def read_coded(table: Table) -> tuple[Any, np.ndarray]:
    """Read dictionary columns as what pandas makes of them: categories."""
    return _read(table.coded)


def read_object(table: Table) -> tuple[Any, np.ndarray]:
    """Read text columns and turn them into Python objects."""
    X, y = _read(table.text)
    return X.astype(dict.fromkeys([*FEW, *MANY], object)), y


def read_polars(table: Table) -> tuple[Any, np.ndarray]:
    """Read text columns with Polars."""
    import polars as pl

    X = pl.read_parquet(table.text, columns=[*NAMES, TASK.target])
    return X.select(NAMES), X[TASK.target].to_numpy()


def _by_polars(seed: int) -> Any:
    from tools.bench.by_polars import ByPolars

    return ByPolars(seed)


def vectorizer(seed: int) -> TransformerMixin:
    """Return skrub's TableVectorizer with the same steps as the pipeline."""
    from skrub import TableVectorizer

    return TableVectorizer(
        numeric=make_pipeline(SimpleImputer(), StandardScaler()),
        low_cardinality=OneHotEncoder(
            handle_unknown="ignore", sparse_output=False, dtype="float32"
        ),
        # Named, because it would read a column of numerals such as a flight's as numbers.
        specific_transformers=[
            (make_pipeline(TargetEncoder(cv=folds(seed)), StandardScaler()), list(MANY))
        ],
    )


def plain(seed: int) -> TransformerMixin:
    """Return the preprocessing in plain scikit-learn."""
    return logistic(seed)[0]


def ours(seed: int) -> TransformerMixin:
    """Return the same, accelerated."""
    return Accelerated(plain(seed), device="cpu")


class Way(NamedTuple):
    """How a variant reads the table, and what preprocesses it."""

    read: Callable[[Table], tuple[Any, np.ndarray]]
    make: Callable[[int], Any]
    about: Variant


WAYS = {
    name: Way(read, make, Variant(name=name, title=title, input=given))
    for name, title, read, make, given in [
        (REFERENCE, "scikit-learn", read_text, plain, "pandas, `str` columns"),
        (OBJECTS, "scikit-learn", read_object, plain, "pandas, object columns"),
        ("skrub", "skrub TableVectorizer", read_text, vectorizer, "pandas, `str` columns"),
        ("polars", "Polars by hand", read_polars, _by_polars, "Polars, String columns"),
        ("ours-str", "ours", read_text, ours, "pandas, `str` columns"),
        ("ours", "ours", read_coded, ours, "pandas, category columns"),
    ]
}  # fmt: skip


def run(table: Table, variant: str, seed: int) -> Report:
    """Read, fit and transform, and transform again; compare both results with the true ones."""
    way = WAYS[variant]
    program = way.make(seed)
    start = time.perf_counter()
    X, y = way.read(table)
    taken, values = {"read": time.perf_counter() - start}, {}
    for phase, call in (
        ("fit_transform", lambda: program.fit_transform(X, y)),
        ("transform", lambda: program.transform(X)),
    ):
        start = time.perf_counter()
        found = call()
        taken[phase] = time.perf_counter() - start
        values[phase] = apart(np.asarray(found), np.load(_file(table, phase), mmap_mode="r"))
    return Report(run=Run(seconds=taken), values=values)


def _file(table: Table, phase: str) -> Path:
    return table.true / f"{phase}.npy"


def apart(a: np.ndarray, b: np.ndarray) -> float | None:
    """Return the largest absolute difference, or None where there is none to give.

    >>> apart(np.array([[1.0], [2.0]]), np.array([[1.0], [2.5]]))
    0.5
    >>> apart(np.array([[1.0]]), np.array([[np.nan]])) is None
    True
    """
    if a.shape != b.shape:
        return None
    found = float(np.abs(a - b).max())
    return found if np.isfinite(found) else None


def prepare(data: Path, home: Path, seed: int) -> Table:
    """Write the table with text columns, and the true matrices: scikit-learn's of float64."""
    coded, text = Path(flights.prepare(data)).resolve(), home.resolve() / "text.parquet"
    rows = pq.read_table(coded)
    plain_text = [
        pa.field(each.name, pa.string()) if pa.types.is_dictionary(each.type) else each
        for each in rows.schema
    ]
    pq.write_table(rows.cast(pa.schema(plain_text)), text)
    table, program = Table(text, coded, home.resolve()), plain(seed)
    X, y = read_text(table)
    X = X.astype(dict.fromkeys(NUMBERS, "float64"))
    np.save(_file(table, "fit_transform"), program.fit_transform(X, y))
    np.save(_file(table, "transform"), program.transform(X))
    return table


def _cases(ask: Ask) -> Generator[Case, None, None]:
    table = prepare(ask.data, ask.home, ask.seed)
    rows, width = np.load(_file(table, "transform"), mmap_mode="r").shape
    yield Case(
        record.Case(
            name="flights",
            title=flights.TITLE,
            facts={"rows": rows, "columns": len(NAMES), "width": width},
        ),
        {variant: partial(run, table, variant, ask.seed) for variant in WAYS},
    )


def same(cell: Cell) -> bool:
    """Return whether both results hold the numbers of scikit-learn."""
    found = [cell.values.get(phase) for phase in PHASES]
    return all(value is not None and value <= SAME_NUMBERS for value in found)


def _difference(value: float) -> str:
    return f"{value:.0e}" if value else "0"


CLAIM = Claim(
    name="preprocessing",
    settings={},
    repeats=7,
    cases=_cases,
    names=("flights",),
    variants=[way.about for way in WAYS.values()],
    clock="fit_transform and transform of the same rows, each by itself; reading apart",
    tables=[
        report.Table(
            [
                report.variant("name"),
                report.Column("input", lambda r, cell: r.variant(cell.variant).input, right=False),
                report.took("read, s", "read", seconds),
                *(
                    column
                    for phase in PHASES
                    for column in (
                        report.took(f"{phase}, s", phase, seconds),
                        report.against(f"beside `{REFERENCE}`", phase, REFERENCE),
                        report.value("largest difference", phase, _difference),
                    )
                ),
            ]
        )
    ],
    targets=[
        report.as_fast(phase, variant, other, least, also=same)
        for other in (REFERENCE, OBJECTS)
        for phase, least in LEAST.items()
        for variant in ("ours-str", "ours")
    ],
)
