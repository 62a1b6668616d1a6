"""The preprocessing of flights alone, beside scikit-learn and skrub."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler, TargetEncoder

from datasets import flights
from pipeline import Accelerated
from pipeline.system import threads
from pipeline.task.numerals import seconds
from tasks.flights import FEW, MANY, NUMBERS, TASK, folds, logistic
from tools.bench import record, report
from tools.bench.record import Results, Run, Values, Variant
from tools.bench.runner import Ask, Claim, Turn

NAMES = [*NUMBERS, *FEW, *MANY]
"""The columns, in the order of the output."""
PHASES = ("fit_transform", "transform")
REFERENCE, OBJECTS = "sklearn-str", "sklearn-object"
"""scikit-learn as people write it, and with the columns that it encodes fastest."""
LEAST = {"fit_transform": 6.0, "transform": 8.0}
"""Targets for the speed of both of ours beside both of scikit-learn's, set before any run."""
SAME_NUMBERS = 1e-5
"""Largest absolute difference that counts as the same numbers; scaled columns vary by 1."""


class Least:
    """Does what any way must: hashes the texts on all cores, and writes the matrix once."""

    def __init__(self, ask: Ask) -> None:
        self.made = {phase: np.load(ask.home / f"{phase}.npy") for phase in PHASES}

    def fit_transform(self, X: pd.DataFrame, y: np.ndarray) -> np.ndarray:
        """Return the matrix that is known."""
        return self.transform(X, "fit_transform")

    def transform(self, X: pd.DataFrame, phase: str = "transform") -> np.ndarray:
        """Return the matrix that is known."""
        deque(threads.each(lambda name: pa.array(X[name]).dictionary_encode(), [*FEW, *MANY]))
        return self.made[phase].copy()


def vectorizer(seed: int) -> Any:
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


def plain(seed: int) -> Any:
    """Return the preprocessing in plain scikit-learn."""
    return logistic(seed)[0]


def ours(seed: int) -> Any:
    """Return the same, accelerated."""
    return Accelerated(plain(seed), device="cpu")


class Way(NamedTuple):
    """How a variant reads the table, and what preprocesses it."""

    input: str
    read: Callable[[Path], tuple[Any, np.ndarray]]
    make: Any


def read_text(home: Path, file: str = "text.parquet") -> tuple[pd.DataFrame, np.ndarray]:
    """Read text columns as what pandas makes of them: `str`."""
    X = pd.read_parquet(home / file, columns=[*NAMES, TASK.target])
    return X, X.pop(TASK.target).to_numpy()


def read_object(home: Path) -> tuple[Any, np.ndarray]:
    """Read text columns and turn them into Python objects."""
    X, y = read_text(home)
    return X.astype(dict.fromkeys([*FEW, *MANY], object)), y


TEXT = "pandas, `str` columns"
WAYS = {
    REFERENCE: Way(TEXT, read_text, plain),
    OBJECTS: Way("pandas, object columns", read_object, plain),
    "skrub": Way(TEXT, read_text, vectorizer),
    "ours-str": Way(TEXT, read_text, ours),
    "ours": Way("pandas, category columns", partial(read_text, file="coded.parquet"), ours),
    "limit": Way(TEXT, read_text, Least),
}


def start(ask: Ask, case: record.Case, variant: str) -> Turn:
    """Return what reads the table, fits and transforms, and transforms again.

    Both results are compared with the true ones, with no clock running.
    """
    way = WAYS[variant]

    def turn() -> tuple[Run, Values]:
        program = Least(ask) if way.make is Least else way.make(ask.seed)
        begun = time.perf_counter()
        X, y = way.read(ask.home)
        taken, values = {"read": time.perf_counter() - begun}, Values()
        calls = partial(program.fit_transform, X, y), partial(program.transform, X)
        for phase, call in zip(PHASES, calls, strict=True):
            begun = time.perf_counter()
            found = call()
            taken[phase] = time.perf_counter() - begun
            true = np.load(ask.home / f"{phase}.npy")
            values[phase] = float(np.abs(np.asarray(found) - true).max())
        return Run(seconds=taken), values

    return turn


def _cases(ask: Ask) -> Iterator[record.Case]:
    """Write both files, and the true matrices: scikit-learn's of float64."""
    table = pq.read_table(flights.prepare(ask.data))
    pq.write_table(table, ask.home / "coded.parquet")
    text = [
        pa.field(each.name, pa.string()) if pa.types.is_dictionary(each.type) else each
        for each in table.schema
    ]
    pq.write_table(table.cast(pa.schema(text)), ask.home / "text.parquet")
    (X, y), program = read_text(ask.home), plain(ask.seed)
    X = X.astype(dict.fromkeys(NUMBERS, "float64"))
    np.save(ask.home / "fit_transform", program.fit_transform(X, y))
    np.save(ask.home / "transform", program.transform(X))
    yield record.Case(name="flights", facts={"rows": len(X), "columns": len(NAMES)})


def _same(variant: str) -> report.Target:
    """Return a target for the numbers of a variant."""

    def find(results: Results, case: str) -> report.Found | None:
        cell = results.cell(case, variant)
        found = [np.inf if v is None else v for v in cell.values.values()] if cell else []
        worst = np.max(found, initial=0.0)
        return (f"{worst:.0e} apart", bool(worst <= SAME_NUMBERS)) if found else None

    return report.Target("numbers", variant, "scikit-learn", f"≤ {SAME_NUMBERS:g} apart", find)


CLAIM = Claim(
    name="preprocessing",
    settings={},
    repeats=7,
    cases=_cases,
    start=start,
    names=("flights",),
    variants=[Variant(name=name, title=name, input=way.input) for name, way in WAYS.items()],
    clock="fit_transform and transform of the same rows, timed separately, without reading",
    columns=[
        report.VARIANT,
        report.Column("input", lambda r, cell: r.variant(cell.variant).input, right=False),
        *(
            column
            for phase in PHASES
            for column in (
                report.took(f"{phase}, s", phase, seconds),
                report.against(f"against `{REFERENCE}`", phase, REFERENCE),
            )
        ),
    ],
    targets=[
        *(
            report.as_fast(phase, variant, other, least)
            for other in (REFERENCE, OBJECTS)
            for phase, least in LEAST.items()
            for variant in ("ours-str", "ours")
        ),
        *map(_same, ("ours-str", "ours")),
    ],
)
