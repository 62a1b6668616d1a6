"""Cautions of columns: those that tell the target, tell rows apart, or say nothing.

Each column alone predicts the target of rows that it did not learn from: by the mean of the target
in each of its values, or in each range of as many rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from scipy.stats import rankdata
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold
from sklearn.preprocessing import TargetEncoder

from pipeline.benchmark.cautions import Caution
from pipeline.benchmark.report.format import NAMED, ignore, named, rest, share
from pipeline.data.schema import kind_of

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
    name, kind : str
        See `pipeline.data.schema.kind_of`; booleans are numbers.
    numbers : numpy.ndarray
        float64, missing and infinite ones as NaN; of texts their codes.
    codes : numpy.ndarray
        Of the distinct values, in their order where they are numbers; -1 for missing.
    distinct : int
    """

    name: str
    kind: str
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


def code_column(column: pd.Series) -> CodedColumn | None:
    """Return a column as numbers; None where it holds what no step takes.

    >>> found = code_column(pd.Series(["b", None, "a", "b"], name="letter"))
    >>> found.kind, found.codes.tolist(), found.distinct
    ('text', [0, -1, 1, 0], 2)
    """
    column = column.infer_objects()
    name, kind = str(column.name), kind_of(column)
    if kind == "other":
        return None
    if kind == "text":
        codes, values = pd.factorize(column)
        return CodedColumn(name, kind, np.where(codes < 0, np.nan, codes), codes, len(values))
    numbers = _numbers(column, kind)
    numbers = np.where(np.isfinite(numbers), numbers, np.nan)
    codes, levels = pd.factorize(numbers, sort=True)
    return CodedColumn(name, "number" if kind == "boolean" else kind, numbers, codes, len(levels))


def _numbers(column: pd.Series, kind: str) -> np.ndarray:
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(column.cat.categories.dtype if column.notna().all() else object)
    if kind in ("date", "duration"):
        zone = getattr(column.dt, "tz", None) if kind == "date" else None
        column = column.dt.tz_convert(None) if zone is not None else column
        ticks = column.to_numpy(f"{'datetime' if kind == 'date' else 'timedelta'}64[us]")
        return np.where(np.isnat(ticks), np.nan, ticks.astype("int64") / 1e6)
    return np.asarray(column.to_numpy("float64", na_value=np.nan))


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
        self.frame = to_pandas(table)
        known = self.frame[target].notna().to_numpy()
        self.frame, self.rows = self.frame[known], self.rows[known]
        self.test = self.in_test[self.rows]

    def column(self, name: str) -> CodedColumn | None:
        """Return a column as numbers; None where it cannot be."""
        return code_column(self.frame[name])

    @cached_property
    def target(self) -> CodedColumn | None:
        """The target."""
        return self.column(self.target_name)

    @cached_property
    def columns(self) -> list[CodedColumn]:
        """The features that are numbers, texts or dates."""
        return [found for name in self.features if (found := self.column(name)) is not None]

    @cached_property
    def others(self) -> list[CodedColumn]:
        """The same of the other columns of the table, but the target."""
        known = {self.target_name, *self.features}
        names = [name for name in map(str, self.frame) if name not in known][:MOST_COLUMNS]
        return [found for name in names if (found := self.column(name)) is not None]

    @cached_property
    def answer(self) -> tuple[np.ndarray, str]:
        """The target as `held_out_score` takes it, and the kind of it."""
        assert self.target is not None
        if self.kind == "regression":
            return rankdata(self.target.numbers) / len(self.frame), "continuous"
        codes = np.unique(self.target.codes, return_inverse=True)[1]
        return codes, "binary" if codes.max() < 2 else "multiclass"

    @property
    def measure(self) -> str:
        """Name of what `held_out_score` returns of the target."""
        names = {"binary": "AUC", "multiclass": "accuracy beyond guessing", "continuous": "R²"}
        return names[self.answer[1]]


def to_pandas(table: pa.Table) -> pd.DataFrame:
    """Return a table as a frame of pandas, without columns of objects where there are others."""
    return table.cast(pa.schema(map(_plain, table.schema))).to_pandas(date_as_object=False)


def _plain(field: pa.Field) -> pa.Field:
    if pa.types.is_decimal(field.type):
        return pa.field(field.name, pa.float64())
    return pa.field(field.name, pa.int8()) if pa.types.is_boolean(field.type) else field


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
    target = table.target
    if table.kind not in ("ranking", "clusters") and _is_enough(table) and target is not None:
        scores = {c.name: held_out_score(c, *table.answer) for c in table.columns}
        found = {n: score for n, score in scores.items() if score >= NEARLY[table.measure]}
        leaking = sorted(found, key=lambda name: -found[name])
        yield from _leaks(leaking, found, table)
        yield from _ids(table, leaking)
    yield from _without_content(table)
    yield from _twice(table, leaking)


def _is_enough(table: TableSample) -> bool:
    """Tell whether there are two rows of each of two classes, or as many numbers."""
    if table.target is None or len(table.frame) < FEWEST or table.target.distinct < 2:
        return False
    counts = np.bincount(table.target.codes)
    return table.kind == "regression" or bool((counts >= 2).sum() > 1)


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
    constant = [name for name in same if count_distinct(table.whole[name]) < 2]
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


def count_distinct(column: pa.ChunkedArray) -> int:
    """Return the number of values of a column that has one kind of them in a sample."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return int(pc.count_distinct(column, mode="only_valid").as_py())


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
