"""How much of a target a single column tells, or a few columns together.

Each column alone predicts rows that it did not learn from: by the mean of the target in each of its
values, or in each range of as many of them, of two halves crosswise. That costs a sort a column.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from pipeline.data.schema import kind_of

BINS = 128
"""Ranges of a number, at most."""
PER_BIN = 10
NEARLY = {"AUC": 0.99, "accuracy beyond guessing": 0.97, "R²": 0.97}
"""Held-out scores of one column that deserve a question."""
ALONE = {"AUC": (0.95, 0.7), "accuracy beyond guessing": (0.9, 0.3)}
"""The best column's score, if the next one has no more than the second."""
EXACT = 1e-9
LEAST_KNOWN = 0.25
"""Share of the rows in which a column has a value, for what it tells there to count."""
MOST_SUMMED, ROWS_SUMMED = 200, 5_000


@dataclass(frozen=True)
class CodedColumn:
    """A column as numbers.

    Attributes
    ----------
    name, kind : str
        See `pipeline.data.schema.kind_of`; booleans are numbers.
    numbers : numpy.ndarray
        float64, missing as NaN; of texts their codes.
        So are infinite ones.
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


@dataclass(frozen=True)
class Answer:
    """The target of known rows, as it is predicted.

    Attributes
    ----------
    y : numpy.ndarray, shape (n_rows, n_outputs)
        Whether a row is of the class, for each class but of two the second; or its rank, 0 to 1.
    kind : {"binary", "multiclass", "regression"}
    """

    y: np.ndarray
    kind: str

    @classmethod
    def of(cls, target: CodedColumn, kind: str) -> Answer:
        """Make it of a target without gaps."""
        if kind == "regression":
            return cls(rankdata(target.numbers)[:, None] / len(target.numbers), kind)
        classes = np.unique(target.codes)
        if len(classes) <= 2:
            return cls((target.codes == classes[-1]).astype(float)[:, None], "binary")
        return cls((target.codes[:, None] == classes).astype(float), kind)

    @property
    def measure(self) -> str:
        """Name of what `score_alone` returns."""
        return {"binary": "AUC", "multiclass": "accuracy beyond guessing"}.get(self.kind, "R²")


def score_alone(column: CodedColumn, answer: Answer) -> float:
    """Return how well a column alone predicts rows that it did not learn from.

    AUC of two classes; of more the share of the errors of the largest class that it avoids; R² of
    the ranks of a number.
    """
    half = np.random.default_rng(0).permutation(len(column.codes)) % 2 == 0
    bins = _bins(column)
    guess = np.empty(answer.y.shape)
    for learnt in (half, ~half):
        guess[~learnt] = _means(bins[learnt], answer.y[learnt], bins.max() + 1)[bins[~learnt]]
    if answer.kind == "binary":
        return _auc(guess[:, 0], answer.y[:, 0])
    if answer.kind == "multiclass":
        right = answer.y[np.arange(len(guess)), guess.argmax(axis=1)].mean()
        largest = answer.y.mean(axis=0).max()
        return float(1 - (1 - right) / max(1 - largest, EXACT))
    return float(1 - ((answer.y - guess) ** 2).mean() / max(answer.y.var(), EXACT))


def score_where_known(column: CodedColumn, answer: Answer) -> float:
    """Return the same, or that of the rows in which a column has a value if it is better."""
    known, whole = column.codes >= 0, score_alone(column, answer)
    part = replace(answer, y=answer.y[known])
    if known.all() or known.mean() < LEAST_KNOWN or not _varies(part):
        return whole
    return max(whole, score_alone(column.at(known), part))


def _varies(answer: Answer) -> bool:
    """Tell whether there are enough rows of more than one class for a score."""
    share = answer.y.mean(axis=0) if len(answer.y) else np.ones(1)
    largest = max(share.max(), 1 - share[0] if answer.kind == "binary" else 0)
    return answer.kind == "regression" or len(answer.y) * (1 - largest) >= 2 * PER_BIN


def stands_out(scores: Mapping[str, float], answer: Answer) -> bool:
    """Tell whether one column says nearly all, and each other little.

    Parameters
    ----------
    scores : mapping of str to float
        Of the columns, from `score_alone`.
    answer : Answer
    """
    most, least = ALONE[answer.measure]
    best, *others = sorted(scores.values(), reverse=True) or [0.0]
    return best >= most and len(others) > 1 and others[0] <= least


def _bins(column: CodedColumn) -> np.ndarray:
    """Return the bin of each row, that of the missing ones last."""
    n = len(column.codes)
    most = int(np.clip(n // (2 * PER_BIN), 2, BINS))
    missing = column.codes < 0
    if column.kind == "text" or column.distinct <= most:
        return np.where(missing, column.distinct, column.codes)
    return np.where(missing, most, column.codes * most // column.distinct)


def _means(bins: np.ndarray, y: np.ndarray, count: int) -> np.ndarray:
    """Return the mean of each bin, as if each had one more row with the mean of all."""
    rows = np.bincount(bins, minlength=count)[:, None] + 1
    sums = np.stack([np.bincount(bins, each, minlength=count) for each in y.T], axis=1)
    return np.asarray((sums + y.mean(axis=0)) / rows)


def _auc(score: np.ndarray, y: np.ndarray) -> float:
    positive = y.sum()
    negative = len(y) - positive
    if not positive or not negative:
        return 0.5
    above = rankdata(score)[y == 1].sum() - positive * (positive + 1) / 2
    return float(above / (positive * negative))


def same_as_target(column: CodedColumn, target: CodedColumn, kind: str) -> str:
    """Say in which way a column is the target itself, or nothing."""
    known = column.codes >= 0
    if known.mean() < LEAST_KNOWN or column.distinct < 2:
        return ""
    how = _same(column.at(known), target.at(known), kind)
    return how + " where it is known" * bool(how and column.gaps)


def _same(column: CodedColumn, target: CodedColumn, kind: str) -> str:
    if kind == "regression":
        return _scaled(column, target)
    if column.distinct != target.distinct:
        return ""
    pairs = np.unique(column.codes * target.distinct + target.codes)
    return "is the target under another name" if len(pairs) == target.distinct else ""


def _scaled(column: CodedColumn, target: CodedColumn) -> str:
    if column.kind == "text" or column.distinct < 3:
        return ""
    if np.array_equal(column.numbers, target.numbers):
        return "is a copy of the target"
    spread = column.numbers.std() * target.numbers.std()
    if abs(np.cov(column.numbers, target.numbers, bias=True)[0, 1]) > (1 - EXACT) * spread > 0:
        return "is the target in another unit"
    return ""


def summed(columns: Sequence[CodedColumn], target: CodedColumn) -> tuple[str, list[str]]:
    """Return how numbers make the target exactly, and which: as a sum or as a product.

    >>> a, b = pd.Series([1.0, 5, 2, 8, 3] * 9, name="a"), pd.Series(range(45), name="b")
    >>> summed([code_column(a), code_column(b)], code_column((a + b).rename("y")))
    ('the sum', ['a', 'b'])
    """
    n = len(target.numbers)
    numbers = [each for each in columns if each.kind == "number" and 10 * each.gaps <= n]
    every = [np.ones(n, dtype=bool), *(each.codes >= 0 for each in numbers)]
    known = np.flatnonzero(np.all(every, axis=0))
    rows = known[
        np.unique(np.linspace(0, len(known) - 1, min(len(known), ROWS_SUMMED)).astype(int))
    ]
    if not 2 <= len(numbers) <= min(MOST_SUMMED, len(rows) // 4):
        whole = [each for each in numbers if not each.gaps]
        return summed(whole, target) if 2 <= len(whole) < len(numbers) else ("", [])
    X, y = np.stack([each.numbers[rows] for each in numbers], axis=1), target.numbers[rows]
    if found := list(_terms(X, y)):
        plain = np.allclose(X[:, found].sum(axis=1), y)
        return "the sum" if plain else "a weighted sum", [numbers[i].name for i in found]
    positive = (X > 0).all(axis=0)
    if (y > 0).all() and positive.sum() >= 2:
        found = np.flatnonzero(positive)[list(_terms(np.log(X[:, positive]), np.log(y)))].tolist()
        plain = np.allclose(X[:, found].prod(axis=1), y)
        how = "the product" if plain else "a product of powers"
        return how if found else "", [numbers[i].name for i in found]
    return "", []


def _terms(X: np.ndarray, y: np.ndarray) -> Iterator[int]:
    """Yield the columns of a linear function that is the target on the other half of the rows."""
    spread = X.std(axis=0)
    scaled = np.c_[(X - X.mean(axis=0)) / np.where(spread > 0, spread, 1), np.ones(len(X))]
    learnt = np.random.default_rng(0).permutation(len(X)) % 2 == 0
    weights, *_ = np.linalg.lstsq(scaled[learnt], y[learnt], rcond=None)
    miss = np.mean((scaled[~learnt] @ weights - y[~learnt]) ** 2)
    if y.std() > 0 and miss < EXACT * y.var():
        yield from np.flatnonzero(np.abs(weights[:-1]) > 1e-3 * y.std()).tolist()
