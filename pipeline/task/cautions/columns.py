"""Cautions of columns: those that tell the target, tell rows apart, or say nothing.

Each column alone predicts the target of rows that it did not learn from: by the mean of the target
in each of its values, or in each range of as many rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from scipy.stats import rankdata
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold
from sklearn.preprocessing import TargetEncoder

from pipeline.task.cautions.caution import Caution
from pipeline.task.numerals import NAMED, ignore, named, rest, share

MOST_ROWS, MOST_CELLS = 100_000, 10_000_000
"""Of the sample."""
MOST_COLUMNS = 2_000
FEWEST = 20
"""Rows, below which nothing is said of a target."""
MOSTLY_MISSING = 0.5
BINS = 128
"""Ranges of a number, at most."""
PER_BIN = 20
NEARLY = {"AUC": 0.99, "accuracy beyond guessing": 0.97, "R²": 0.97}
"""Held-out scores of one column that deserve a question."""
ROW_ID = {"guid", "id", "ids", "idx", "index", "key", "no", "nr", "number", "row", "serial", "uuid"}


@dataclass(frozen=True)
class CodedColumn:
    """A column as numbers.

    Attributes
    ----------
    name : str
    kind : {"number", "date", "text"}
    numbers : numpy.ndarray
        float64, missing and infinite ones as NaN; of texts their codes.
    codes : numpy.ndarray
        Of the distinct values, in their order where they are numbers; -1 for missing.
    distinct : int
    """

    name: str
    kind: Literal["number", "date", "text"]
    numbers: np.ndarray
    codes: np.ndarray
    distinct: int

    @property
    def whole(self) -> bool:
        """Whether these are whole numbers."""
        known = self.numbers[self.codes >= 0]
        return self.kind == "number" and bool(np.all(known == np.round(known)))

    @property
    def gaps(self) -> int:
        """Number of missing values."""
        return int((self.codes < 0).sum())

    @property
    def words(self) -> set[str]:
        """The words of its name."""
        spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", self.name)
        return set(re.findall(r"[^\W\d_]+|\d+", spaced.lower()))

    def at(self, rows: np.ndarray) -> CodedColumn:
        """Return some of the rows."""
        return replace(self, numbers=self.numbers[rows], codes=self.codes[rows])


def code_column(column: pd.Series) -> CodedColumn:
    """Return a column of `plain_frame` as numbers.

    >>> found = code_column(pd.Series(["b", None, "a", "b"], name="letter"))
    >>> found.kind, found.codes.tolist(), found.distinct
    ('text', [0, -1, 1, 0], 2)
    """
    name, letter = str(column.name), column.dtype.kind
    if letter not in "iufM":
        codes, texts = pd.factorize(column)
        return CodedColumn(name, "text", np.where(codes < 0, np.nan, codes), codes, len(texts))
    if letter == "M":
        numbers = np.where(column.isna(), np.nan, column.astype("int64") / 1e6)
    else:
        numbers = column.to_numpy("float64")
    numbers = np.where(np.isfinite(numbers), numbers, np.nan)
    codes, levels = pd.factorize(numbers, sort=True)
    kind: Literal["date", "number"] = "date" if letter == "M" else "number"
    return CodedColumn(name, kind, numbers, codes, len(levels))


def plain_frame(table: pa.Table) -> pd.DataFrame:
    """Return the columns of numbers, dates and texts, without types that pandas has not.

    >>> table = pa.table({"sure": [True, None], "lists": [[1], [2]]})
    >>> plain_frame(table).to_dict("list")
    {'sure': [1.0, nan]}
    """
    fields = [(f.name, plain) for f in table.schema if (plain := _plain(f.type)) is not None]
    chosen = table.select([name for name, _ in fields])
    return chosen.cast(pa.schema(fields)).to_pandas(date_as_object=False)


def _plain(kind: pa.DataType) -> pa.DataType | None:
    if pa.types.is_dictionary(kind):
        return _plain(kind.value_type)
    if pa.types.is_temporal(kind) and not (pa.types.is_timestamp(kind) or pa.types.is_date(kind)):
        return pa.int64() if pa.types.is_duration(kind) else None
    if pa.types.is_temporal(kind):
        return pa.timestamp("us")
    if pa.types.is_boolean(kind):
        return pa.int8()
    if pa.types.is_decimal(kind):
        return pa.float64()
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    return kind if text or number else None


class TableSample:
    """A sample of a table in the order of its rows, each column as numbers when it is asked for.

    Parameters
    ----------
    table : pyarrow.Table
    target : str
    kind : {"binary", "multiclass", "regression", "ranking", "clusters"}
    features : sequence of str
        Columns to learn from.
    test : numpy.ndarray of bool, optional
        The rows to be judged on, where they are chosen.
    """

    def __init__(
        self, table: pa.Table, target: str, kind: str, features: Sequence[str],
        test: np.ndarray | None = None,
    ) -> None:  # fmt: skip
        self.whole, self.target_name, self.kind = table, target, kind
        self.features = [name for name in features if name != target][:MOST_COLUMNS]
        self.in_test = np.zeros(len(table), dtype=bool) if test is None else test
        most = max(min(MOST_ROWS, MOST_CELLS // max(len(self.features), 1)), 1_000)
        draw = np.random.default_rng(0)
        self.rows = np.arange(len(table))
        if len(table) > most:
            self.rows = np.sort(draw.choice(len(table), most, replace=False))
            table = table.take(self.rows)
        self.frame = plain_frame(table)
        self.target: CodedColumn | None = None
        if target in self.frame:
            codes = code_column(self.frame[target])
            known = codes.codes >= 0
            self.frame, self.rows = self.frame[known], self.rows[known]
            self.target = codes.at(known)
        self.test = self.in_test[self.rows]

    @cached_property
    def columns(self) -> list[CodedColumn]:
        """The features that are numbers, texts or dates."""
        return [code_column(self.frame[name]) for name in self.features if name in self.frame]

    @cached_property
    def others(self) -> list[CodedColumn]:
        """The same of the other columns of the table, but the target."""
        known = {self.target_name, *self.features}
        names = [name for name in self.frame if name not in known][:MOST_COLUMNS]
        return [code_column(self.frame[name]) for name in names]

    @cached_property
    def answer(self) -> tuple[np.ndarray, str]:
        """The target as `held_out_score` takes it, and the kind of it."""
        assert self.target is not None
        if self.kind == "regression":
            return rankdata(self.target.numbers) / len(self.frame), "continuous"
        codes = np.unique(self.target.codes, return_inverse=True)[1]
        return codes, "binary" if codes.max() < 2 else "multiclass"

    @property
    def varies(self) -> bool:
        """Whether there are enough rows of a target that is not the same in nearly all."""
        if self.kind in ("ranking", "clusters") or self.target is None:
            return False
        known = np.bincount(self.target.codes, minlength=1)
        return len(self.frame) >= FEWEST and bool(len(self.frame) - known.max() > 1)

    @property
    def measure(self) -> str:
        """Name of what `held_out_score` returns of the target."""
        names = {"binary": "AUC", "multiclass": "accuracy beyond guessing", "continuous": "R²"}
        return names[self.answer[1]]


def held_out_score(column: CodedColumn, y: np.ndarray, kind: str) -> float:
    """Return how well a column alone predicts rows that it did not learn from.

    Parameters
    ----------
    column : CodedColumn
    y : numpy.ndarray
        0 and 1, places of classes, or numbers.
    kind : {"binary", "multiclass", "continuous"}
        What is returned: AUC; the share of the errors of the largest class that are avoided; R².
    """
    halves = KFold(2, shuffle=True, random_state=0)
    encoder = TargetEncoder(target_type=kind, cv=halves, smooth=1.0)
    guess = encoder.fit_transform(_bins(column)[:, None], y)
    if kind == "binary":
        return float(roc_auc_score(y, guess[:, 0]))
    if kind == "multiclass":
        right, largest = np.mean(guess.argmax(axis=1) == y), np.bincount(y).max() / len(y)
        return float(1 - (1 - right) / max(1 - largest, 1e-9))
    return float(1 - np.mean((y - guess[:, 0]) ** 2) / max(y.var(), 1e-9))


def _bins(column: CodedColumn) -> np.ndarray:
    """Return the bin of each row, that of the missing ones -1."""
    most = int(np.clip(len(column.codes) // PER_BIN, 2, BINS))
    if column.kind == "text" or column.distinct <= most:
        return column.codes
    return np.where(column.codes < 0, -1, column.codes * most // column.distinct)


def of_columns(table: TableSample) -> Iterator[Caution]:
    """Yield what to know of the columns of a table."""
    leaking: list[str] = []
    if table.varies:
        scores = {c.name: held_out_score(c, *table.answer) for c in table.columns}
        found = {n: score for n, score in scores.items() if score >= NEARLY[table.measure]}
        leaking = sorted(found, key=lambda name: -found[name])
        yield from _leaks(leaking, found, table)
        yield from _ids(table, leaking)
    yield from _without_content(table)
    yield from _twice(table, leaking)


def _leaks(names: Sequence[str], scores: dict[str, float], table: TableSample) -> Iterator[Caution]:
    if not names:
        return
    best = names[:NAMED]
    said = ", ".join(f"{n!r} ({table.measure} {_cut(scores[n])})" for n in best)
    yield Caution(
        "leak",
        f"{said} alone {'tells' if len(names) == 1 else 'tell'} {table.target_name!r} almost "
        f"perfectly{rest(len(names))}: if it is not known before the target is, leave it out "
        f"({ignore(best)}).",
    )


def _cut(score: float) -> str:
    """Write a score without rounding it up to 1."""
    return f"{min(score, 0.999) if score < 1 - 1e-12 else 1:.3f}"


def _ids(table: TableSample, leaking: Sequence[str]) -> Iterator[Caution]:
    found = [c.name for c in table.columns if is_row_id(c) and c.name not in leaking]
    if found:
        yield Caution(
            "row-id",
            f"{named(found)} {'tells' if len(found) == 1 else 'tell'} rows apart and nothing "
            f"else, as a row number does: leave it out ({ignore(found)}).",
        )


def is_row_id(column: CodedColumn) -> bool:
    """Tell whether a column numbers or names each row."""
    n = len(column.codes)
    if column.gaps or column.distinct < max(0.99 * n, 50):
        return False
    if column.words & ROW_ID:
        return column.kind == "text" or column.whole
    return column.whole and bool(np.ptp(column.numbers) < 1.02 * n)


def _without_content(table: TableSample) -> Iterator[Caution]:
    """Yield which columns have one value, and which have mostly none."""
    same = [c.name for c in table.columns if c.distinct < 2 and not (c.distinct and c.gaps)]
    constant = [name for name in same if len(pc.unique(table.whole[name].drop_null())) < 2]
    if constant:
        yield Caution(
            "constant",
            f"{named(constant)} {'has' if len(constant) == 1 else 'have'} one value or none: "
            f"nothing can be learnt from it; leave it out ({ignore(constant)}).",
        )
    n = max(len(table.frame), 1)
    lost = {c.name: c.gaps / n for c in table.columns if n > c.gaps > MOSTLY_MISSING * n}
    if lost:
        said = ", ".join(f"{name!r} ({share(part)})" for name, part in [*lost.items()][:NAMED])
        yield Caution(
            "mostly-missing",
            f"Mostly missing: {said}{rest(len(lost))}: leave it out, or let the model see where it "
            "is missing (SimpleImputer(add_indicator=True)).",
        )


def _twice(table: TableSample, leaking: Sequence[str]) -> Iterator[Caution]:
    """Yield which columns are others under another name or in another unit."""
    first: dict[bytes, str] = {}
    same: dict[str, str] = {}
    for column in table.columns:
        known = column.codes[column.codes >= 0]
        if column.name in leaking or len(known) - np.bincount(known).max(initial=0) < FEWEST:
            continue
        values = column.codes if column.kind == "text" else _standardised(column.numbers)
        earlier = first.setdefault(values.tobytes(), column.name)
        if earlier != column.name:
            same[column.name] = earlier
    if same:
        said = ", ".join(f"{name!r} as {earlier!r}" for name, earlier in [*same.items()][:NAMED])
        yield Caution(
            "duplicate-column",
            f"The same column twice: {said}{rest(len(same))}: it costs time and adds nothing; "
            f"leave it out ({ignore([*same])}).",
        )


def _standardised(numbers: np.ndarray) -> np.ndarray:
    """Return numbers so that those of another unit are the same."""
    with np.errstate(all="ignore"):
        away = (numbers - np.nanmean(numbers)) / np.nanstd(numbers)
    known = away[np.isfinite(away)]
    sign = np.sign(known[np.flatnonzero(known)[:1]]).sum()
    return np.nan_to_num(np.round(away * sign, 6), nan=1e9) + 0.0
