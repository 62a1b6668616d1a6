"""What is preprocessed: a table, its kinds of columns, and a scikit-learn program."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler, TargetEncoder

from datasets import flights
from pipeline.data.files import digest
from pipeline.errors import ConfigError
from tasks.flights import folds, logistic
from tools.bench import tables

CACHE = "bench"
"""Folder of what is made here, below the folder of the data."""
_DIGITS = 12


@dataclass(frozen=True, kw_only=True)
class Case:
    """A table and what is to be done with it.

    Parameters
    ----------
    name, title : str
    text, coded : Path
        The same rows as Parquet, categories declared as text and as dictionaries.
    numbers, few, many : sequence of str
        Columns to impute and scale, to one-hot encode and to target-encode.
    target : str
    scaled : bool
        Whether the target-encoded columns are scaled too.
    pipeline : callable
        ``pipeline()`` returns the unfitted scikit-learn program.
    seed : int
        Of the folds of the cross-fitting.
    licence, source : str
        Of the data.
    """

    name: str
    title: str
    text: Path
    coded: Path
    numbers: Sequence[str]
    few: Sequence[str]
    many: Sequence[str]
    target: str
    scaled: bool
    pipeline: Callable[[], ColumnTransformer]
    seed: int
    licence: str
    source: str

    @property
    def features(self) -> list[str]:
        """The columns that are preprocessed, in the order of the output."""
        return [*self.numbers, *self.few, *self.many]


def load(name: str, home: Path, rows: int, seed: int) -> Case:
    """Return a case, having made its files if need be.

    Parameters
    ----------
    name : {"flights", "synthetic", "memory"}
    home : Path
        Folder of the data.
    rows : int
        Of the generated tables; the flights are all there are.
    seed : int

    Raises
    ------
    ConfigError
        There is no such case.
    """
    (home / CACHE).mkdir(parents=True, exist_ok=True)
    if name == "flights":
        return _flights(home, seed)
    if name in ("synthetic", "memory"):
        return _generated(name, home, rows, seed)
    raise ConfigError(f"unknown case {name!r}; there are: flights, synthetic, memory")


def _flights(home: Path, seed: int) -> Case:
    coded = flights.prepare(home)
    text = home / CACHE / f"flights-{digest(coded)[:_DIGITS]}-text.parquet"
    _once(text, lambda draft: pq.write_table(tables.as_text(pq.read_table(coded)), draft))
    return Case(
        name="flights",
        title=flights.TITLE,
        text=text,
        coded=coded,
        numbers=flights.NUMERIC,
        few=flights.LOW_CARDINALITY,
        many=flights.HIGH_CARDINALITY,
        target=flights.TARGET,
        scaled=True,
        pipeline=lambda: logistic(seed)[0],
        seed=seed,
        licence=flights.LICENCE,
        source=flights.SOURCE,
    )


def _generated(name: str, home: Path, rows: int, seed: int) -> Case:
    code = hashlib.sha256(Path(tables.__file__).read_bytes()).hexdigest()[:_DIGITS]
    stem = f"synthetic-{rows}-{seed}-{code}"
    paths = {kind: home / CACHE / f"{stem}-{kind}.parquet" for kind in ("text", "coded")}
    for kind, path in paths.items():
        _once(path, partial(tables.write, rows=rows, seed=seed, text=kind == "text"))
    return Case(
        name=name,
        title=f"Generated table of {rows:,} rows",
        text=paths["text"],
        coded=paths["coded"],
        numbers=tables.NUMBERS,
        few=list(tables.FEW_LEVELS),
        many=list(tables.MANY_LEVELS),
        target=tables.TARGET,
        scaled=False,
        pipeline=lambda: _pipeline(seed),
        seed=seed,
        licence="none needed: drawn at random",
        source="tools/bench/tables.py",
    )


def _pipeline(seed: int) -> ColumnTransformer:
    return make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), tables.NUMBERS),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), list(tables.FEW_LEVELS)),
        (TargetEncoder(cv=folds(seed)), list(tables.MANY_LEVELS)),
    )


def _once(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file unless it is there, whole or not at all."""
    if path.exists():
        return
    draft = path.with_suffix(f".{os.getpid()}.draft")
    write(draft)
    draft.replace(path)
