"""Cautions of a target: classes too few to judge, codes taken for numbers, metrics that mislead."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np
import pandas as pd
from scipy.stats import skew

from pipeline.benchmark.dependence import is_id
from pipeline.benchmark.leaks import CodedColumn
from pipeline.benchmark.report.format import NAMED, share
from pipeline.benchmark.responses import metric_words

RARE, FEWEST = 0.05, 20
"""Share and rows of a class below which it deserves a word."""
_OF_EACH_CLASS = {
    "auc", "balanced", "brier", "corrcoef", "f1", "jaccard", "kappa", "log", "macro", "mcc",
    "precision", "recall",
}  # fmt: skip
"""Words of metrics that a rare class cannot hide from, as it can from accuracy."""


def of_target(
    target: CodedColumn, values: pd.Series, kind: str, metrics: Collection[str] = ()
) -> Iterator[str]:
    """Yield what to know of a target before a model learns it.

    Parameters
    ----------
    target : CodedColumn
    values : pandas.Series
        The same as it is in the table, without gaps.
    kind : {"binary", "multiclass", "regression"}
    metrics : collection of str
        Names of what the pipelines are judged by, where that is known.

    Examples
    --------
    >>> from pipeline.benchmark.leaks import code_column
    >>> ill = pd.Series(["ill", *["well"] * 49] * 20, name="state")
    >>> said = [*of_target(code_column(ill), ill, "binary", ["accuracy"])]
    >>> said[0][:40], [*of_target(code_column(ill), ill, "binary", ["roc_auc"])]
    ("'state' is ill in 2.0 % of the rows: acc", [])
    """
    words = {word for name in metrics for word in metric_words(name)}
    yield from _number(target, words) if kind == "regression" else _classes(target, values, words)


def _classes(target: CodedColumn, values: pd.Series, metrics: set[str]) -> Iterator[str]:
    counts = values.value_counts().sort_index()
    counts = counts[counts > 0]
    rare = counts[counts < FEWEST]
    if len(rare):
        said = ", ".join(f"{name!s} ({count} rows)" for name, count in rare.iloc[:NAMED].items())
        yield (
            f"{len(rare)} class{'' if len(rare) == 1 else 'es'} of {target.name!r} with fewer than "
            f"{FEWEST} rows: {said}: too few to learn and to judge; put them together with others."
        )
    least = counts.min() if len(counts) else 0
    if not _OF_EACH_CLASS & metrics and FEWEST <= least < RARE * counts.sum():
        yield (
            f"{target.name!r} is {counts.idxmin()!s} in {share(least / counts.sum())} of "
            "the rows: accuracy says little; judge by average precision or balanced accuracy."
        )
    if target.whole and len(counts) >= 5 and _one_hill(counts.to_numpy()):
        yield (
            f"{target.name!r} has {len(counts)} whole numbers as classes: if they are counts or "
            "grades, predict a number (--kind regression)."
        )


def _one_hill(counts: np.ndarray) -> bool:
    """Tell whether counts rise, then fall, as those of grades do and those of codes do not."""
    top = int(counts.argmax())
    chance = 4 * np.sqrt(counts[:-1] + counts[1:])
    rises = np.diff(counts) * np.where(np.arange(len(counts) - 1) < top, 1, -1)
    return bool((rises >= -chance).all() and counts.max() >= 3 * counts.min())


def _number(target: CodedColumn, metrics: set[str]) -> Iterator[str]:
    y = target.numbers[np.isfinite(target.numbers)]
    values, counts = np.unique(y, return_counts=True)
    if len(y) < 2 or len(values) < 2:
        return
    codes = len(values) <= 100 and len(values) * 10 <= len(y) and target.whole
    if codes and (len(values) <= 20 or not _one_hill(counts)):
        yield (
            f"{target.name!r} is predicted as a number and has {len(values)} different ones, "
            f"{values[0]:g} to {values[-1]:g}: if they are codes of classes: --kind multiclass."
        )
    if is_id(target):
        yield (
            f"{target.name!r} has another whole number in each row, as a row number or an id has: "
            "name another TARGET if it is one."
        )
    if counts.max() > len(y) / 2:
        yield (
            f"{target.name!r} is {values[counts.argmax()]:g} in {share(counts.max() / len(y))} of "
            "the rows: predict first whether it is, as a class, and the number of the others."
        )
    yield from _tail(target.name, y, metrics)


def _tail(name: str, y: np.ndarray, metrics: set[str]) -> Iterator[str]:
    away = np.sort((y - y.mean()) ** 2)
    top = max(len(y) // 100, 1)
    held = away[-top:].sum() / max(away.sum(), 1e-300)
    if held < 0.5 or len(y) < 100:
        return
    said = f"1 % of the rows hold {share(held)} of the variance of {name!r}: R² is decided by them"
    if y.min() > -1 and abs(skew(np.log1p(y))) < abs(skew(y)) / 2:
        yield (
            f"{said}; the scale is logarithmic, try TransformedTargetRegressor(func=np.log1p, "
            "inverse_func=np.expm1)."
        )
    elif not metrics & {"absolute", "median"}:
        yield f"{said}; look at the mean absolute error as well."
