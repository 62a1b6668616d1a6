"""Cautions about columns that give away the target, only identify rows, or say nothing.

Each column alone predicts the target of held-out rows: by the mean of the target for each of its
values, or for each range with an equal number of rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from scipy.stats import rankdata
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold
from sklearn.preprocessing import TargetEncoder

from pipeline.task.cautions.caution import Caution, of_names
from pipeline.task.numerals import NAMED, ignore, rest, share

MOST_ROWS, MOST_CELLS = 100_000, 10_000_000
"""Of the sample."""
MOST_COLUMNS = 2_000
FEWEST = 20
"""Rows below which nothing is said about a target."""
MOSTLY_MISSING = 0.5
BINS, PER_BIN = 128, 20
"""Most ranges of a number, and fewest rows of one."""
MEASURES = {
    "binary": ("AUC", 0.99), "multiclass": ("accuracy beyond guessing", 0.97),
    "continuous": ("R²", 0.97),
}  # fmt: skip
"""Kind of the target -> what `held_out_score` returns, and from which value it is suspicious."""
ROW_ID = {"guid", "id", "ids", "idx", "index", "key", "no", "nr", "number", "row", "serial", "uuid"}


class CodedColumn(NamedTuple):
    """A column as numbers."""

    name: str
    kind: Literal["number", "date", "text"]
    numbers: np.ndarray
    """float64, missing and infinite ones as NaN; of texts their codes."""
    codes: np.ndarray
    """Of the distinct values, in their order where they are numbers; -1 for missing."""
    distinct: int

    @property
    def whole(self) -> bool:
        """Whether these are whole numbers."""
        known = self.numbers[self.codes >= 0]
        return self.kind == "number" and bool(np.all(known == np.round(known)))

    @property
    def missing(self) -> float:
        """Share of missing values."""
        return float((self.codes < 0).mean()) if len(self.codes) else 1.0

    @property
    def words(self) -> set[str]:
        """The words of its name."""
        spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", self.name)
        return set(re.findall(r"[^\W\d_]+|\d+", spaced.lower()))


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
    numbers = column.to_numpy("float64" if letter != "M" else None)
    if letter == "M":
        numbers = np.where(column.isna(), np.nan, column.astype("int64") / 1e6)
    numbers = np.where(np.isfinite(numbers), numbers, np.nan)
    codes, levels = pd.factorize(numbers, sort=True)
    return CodedColumn(name, "date" if letter == "M" else "number", numbers, codes, len(levels))


def plain_frame(table: pa.Table) -> pd.DataFrame:
    """Return the columns of numbers, dates and texts, without types that pandas has not.

    >>> table = pa.table({"sure": [True, None], "lists": [[1], [2]]})
    >>> plain_frame(table).to_dict("list")
    {'sure': [1.0, nan]}
    """
    fields = [(f.name, plain) for f in table.schema if (plain := _plain(f.type)) is not None]
    chosen = table.select([name for name, _ in fields])
    return chosen.cast(pa.schema(fields)).to_pandas()


def _plain(kind: pa.DataType) -> pa.DataType | None:
    types = pa.types
    if types.is_dictionary(kind):
        return _plain(kind.value_type)
    if types.is_timestamp(kind) or types.is_date(kind):
        return pa.timestamp("us")
    if types.is_decimal(kind):
        return pa.float64()
    plain = types.is_string, types.is_large_string, types.is_integer, types.is_floating
    return pa.int8() if types.is_boolean(kind) else kind if any(f(kind) for f in plain) else None


class TableSample:
    """A sample of a table in the order of its rows, each column as numbers when it is asked for.

    `features` are the columns to learn from. `test` and `train` say which rows are of which part;
    without them no row is a test row, and all others are training rows.
    """

    def __init__(
        self,
        table: pa.Table,
        target: str,
        kind: str,
        features: Sequence[str],
        test: Any = None,
        train: Any = None,
    ) -> None:
        self.whole, self.target_name, self.kind = table, target, kind
        self.features = [name for name in features if name != target][:MOST_COLUMNS]
        self.in_test = np.zeros(len(table), dtype=bool) if test is None else test
        most = max(min(MOST_ROWS, MOST_CELLS // max(len(self.features), 1)), 1_000)
        self.rows = np.arange(len(table))
        self.is_part = len(table) > most
        if self.is_part:
            draw = np.random.default_rng(0)
            self.rows = np.sort(draw.choice(len(table), most, replace=False))
            table = table.take(self.rows)
        self.frame = plain_frame(table)
        self.target: CodedColumn | None = None
        if target in self.frame:
            known = code_column(self.frame[target]).codes >= 0
            self.frame, self.rows = self.frame[known], self.rows[known]
            self.target = code_column(self.frame[target])
        self.test = self.in_test[self.rows]
        self.train = ~self.test if train is None else train[self.rows]
        self._drift: dict[str, float] = {}

    @cached_property
    def columns(self) -> list[CodedColumn]:
        """The features that are numbers, texts or dates."""
        return [code_column(self.frame[name]) for name in self.features if name in self.frame]

    @cached_property
    def every(self) -> list[CodedColumn]:
        """The features, then the other columns of the table, but not the target."""
        known = {self.target_name, *self.features}
        names = [name for name in self.frame if name not in known][:MOST_COLUMNS]
        return [*self.columns, *(code_column(self.frame[name]) for name in names)]

    @cached_property
    def labels(self) -> tuple[np.ndarray, str]:
        """The target as `held_out_score` takes it, and the kind of it."""
        assert self.target is not None
        if self.kind == "regression":
            return rankdata(self.target.numbers) / len(self.frame), "continuous"
        return self.target.codes, "binary" if self.target.distinct < 3 else "multiclass"

    def drift(self, column: CodedColumn) -> float | None:
        """Return how well a column alone separates test rows from training rows, as an AUC.

        It is computed once for each column; None where a part has fewer than two rows.
        """
        if min(self.train.sum(), self.test.sum()) < 2:
            return None
        if column.name not in self._drift:
            here = self.train | self.test
            part = column._replace(numbers=column.numbers[here], codes=column.codes[here])
            score = held_out_score(part, self.test[here].astype(int), "binary")
            self._drift[column.name] = score
        return self._drift[column.name]

    @property
    def varies(self) -> bool:
        """Whether there are enough rows of a target that is not the same in nearly all."""
        if self.kind in ("ranking", "clusters") or self.target is None:
            return False
        known = np.bincount(self.target.codes, minlength=1)
        return len(self.frame) >= FEWEST and bool(len(self.frame) - known.max() > 1)


def held_out_score(column: CodedColumn, y: np.ndarray, kind: str) -> float:
    """Return how well a column alone predicts held-out rows.

    Of a binary target, as 0 and 1, that is the AUC; of a multiclass one, as places of classes,
    the share of the errors of the largest class that are avoided; of a continuous one R².
    """
    halves = KFold(2, shuffle=True, random_state=0)
    encoder = TargetEncoder(target_type=kind, cv=halves, smooth=1.0)
    most, bins = int(np.clip(len(column.codes) // PER_BIN, 2, BINS)), column.codes
    if column.kind != "text" and column.distinct > most:
        bins = np.where(bins < 0, -1, bins * most // column.distinct)
    guess = encoder.fit_transform(bins[:, None], y)
    if kind == "binary":
        return float(roc_auc_score(y, guess[:, 0]))
    if kind == "multiclass":
        right, largest = np.mean(guess.argmax(axis=1) == y), np.bincount(y).max() / len(y)
        return float(1 - (1 - right) / max(1 - largest, 1e-9))
    return float(1 - np.mean((y - guess[:, 0]) ** 2) / max(y.var(), 1e-9))


def is_row_id(column: CodedColumn) -> bool:
    """Return whether a column numbers or names each row."""
    n = len(column.codes)
    if column.missing or column.distinct < max(0.99 * n, 50):
        return False
    if column.words & ROW_ID:
        return column.kind == "text" or column.whole
    return column.whole and bool(np.ptp(column.numbers) < 1.02 * n)


def of_columns(table: TableSample) -> Iterator[Caution]:
    """Yield the cautions about the columns of a table."""
    leaking: list[str] = []
    if table.varies:
        scores = {c.name: held_out_score(c, *table.labels) for c in table.columns}
        measure, nearly = MEASURES[table.labels[1]]
        leaking = sorted((n for n in scores if scores[n] >= nearly), key=lambda n: -scores[n])
        # No score is rounded up to 1.
        said = [f"{n!r} ({measure} {np.floor(1e3 * scores[n]) / 1e3:.3f})" for n in leaking[:NAMED]]
        if leaking:
            yield Caution(
                "leak",
                f"{', '.join(said)}{rest(len(leaking))} alone predicts {table.target_name!r} "
                "almost perfectly: if it is not known before the target, leave it out "
                f"({ignore(leaking)}).",
                leaking,
            )
        ids = [c.name for c in table.columns if is_row_id(c) and c.name not in leaking]
        way = f"it only identifies rows; leave it out ({ignore(ids)})"
        yield from of_names("row-id", "A row number", dict.fromkeys(ids, ""), way)
    same = [c.name for c in table.columns if c.distinct < 2 and c.missing in (0, 1)]
    same = [name for name in same if len(pc.unique(table.whole[name].drop_null())) < 2]
    way = f"nothing can be learned from it; leave it out ({ignore(same)})"
    yield from of_names("constant", "One value or none", dict.fromkeys(same, ""), way)
    lost = [column for column in table.columns if MOSTLY_MISSING < column.missing < 1]
    shares = {column.name: f" ({share(column.missing)})" for column in lost}
    way = "leave it out, or mark the missing values (SimpleImputer(add_indicator=True))"
    yield from of_names("mostly-missing", "Mostly missing", shares, way)
    twice = _twice(table.columns)
    way = f"it costs time and adds nothing; leave it out ({ignore([*twice])})"
    yield from of_names("duplicate-column", "The same column twice", twice, way)


def _twice(columns: Sequence[CodedColumn]) -> dict[str, str]:
    """Return which columns are others under another name or in another unit."""
    first: dict[tuple[bool, bytes], CodedColumn] = {}
    same: dict[str, str] = {}
    for column in columns:
        known = column.codes >= 0
        if known.sum() - np.bincount(column.codes[known]).max(initial=0) < FEWEST:
            continue
        # Codes of texts are in the order of the rows, and no number is their likeness.
        earlier = first.setdefault((column.kind == "text", column.codes.tobytes()), column)
        alike = np.corrcoef(column.numbers[known], earlier.numbers[known])[0, 1]
        if earlier is not column and alike > 1 - 1e-9:
            same[column.name] = f" as {earlier.name!r}"
    return same
