"""Cautions of a split: how training and test rows are too alike, or too unlike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from pipeline.benchmark.cautions import (
    MOST_COLUMNS,
    NAMED,
    REPEATED,
    Ranked,
    as_texts_if_mixed,
    hashes,
    in_rank,
    most_rows,
    occur_again,
    percent,
    rest,
    to_pandas,
)
from pipeline.benchmark.dependence import by_chance, says_when
from pipeline.benchmark.leaks import code_column
from pipeline.data.drift import count_rows, drift, fit_profiles
from pipeline.data.schema import kind_of

FEWEST_JUDGED = 10
"""Test rows of a class below which it deserves a word."""
DRIFTED = 0.25
"""Population stability index; see `pipeline.data.drift`."""
UNSEEN = 0.05
"""Share of test rows with values that training lacks, above which it deserves a word."""


def of_split(
    train: pd.DataFrame,
    test: pd.DataFrame,
    target: str,
    features: Sequence[str],
    kind: str,
    *,
    groups: str = "",
) -> list[str]:
    """Return what to know of training and test rows before a score is believed.

    Parameters
    ----------
    train, test : pandas.DataFrame
    target : str
    features : sequence of str
    kind : str
        See `of_table`.
    groups : str
        The column that the split goes by, if it does: rows of one group count as one.

    Examples
    --------
    >>> rows = pd.DataFrame(np.random.default_rng(0).random((400, 3)), columns=["x", "z", "y"])
    >>> of_split(rows[:300], rows[200:], "y", ["x", "z"], "regression")
    ['50.0 % of the test rows are among the training rows: scores are too good; remove the copies.']
    """
    return in_rank([ranked_of_split(train, test, target, features, kind, groups)])


def ranked_of_split(
    train: pd.DataFrame, test: pd.DataFrame, target: str, features: Sequence[str], kind: str,
    groups: str = "",
) -> Ranked:  # fmt: skip
    """Return the same by rank."""
    if kind in ("ranking", "clusters") or not len(train) or not len(test):
        return [], [], []
    train, test = to_pandas(train), to_pandas(test)
    train[target], test[target] = as_texts_if_mixed(train[target]), as_texts_if_mixed(test[target])
    counts = [part[groups].nunique() if groups else len(part) for part in (train, test)]
    names = [str(name) for name in features if name != target][:MOST_COLUMNS]
    names = [name for name in names if kind_of(train[name].infer_objects()) != "other"]
    inside = [n for n in names if n != groups and not _goes_by(train[n], test[n])]
    with np.errstate(all="ignore"):
        drifted = _drifted(train[inside], test[inside], sum(1 / max(n, 1) for n in counts))
        answers = _answers(train[target], test[target], kind)
        return [*_shared(train[names], test[names])], [*answers, *drifted], []


def _goes_by(train: pd.Series, test: pd.Series) -> bool:
    """Tell whether all test rows are later by a column, as in a split by time."""
    here, there = code_column(train), code_column(test)
    return bool(
        here
        and there
        and here.distinct
        and says_when(there)
        and np.nanmin(there.numbers) > np.nanmax(here.numbers)
    )


def _answers(train: pd.Series, test: pd.Series, kind: str) -> Iterator[str]:
    if kind == "regression":
        yield from _moved(train, test)
        return
    here, there = train.value_counts(), test.value_counts()
    here, there = here[here > 0], there[there > 0]
    for part, found, others in (("training", here, there), ("test", there, here)):
        if lost := [str(name) for name in others.index if name not in found.index]:
            said = ", ".join(sorted(lost)[:NAMED]) + rest(len(lost))
            yield f"No {part} row is of the class {said}."
    few = there[there < FEWEST_JUDGED]
    if len(few):
        said = ", ".join(f"{name!s} ({n})" for name, n in few.sort_index().iloc[:NAMED].items())
        yield f"Fewer than {FEWEST_JUDGED} test rows are of the class {said}: too few to judge it."
    for name in here.index.intersection(there.index)[:10]:
        p, q = here[name] / here.sum(), there[name] / there.sum()
        error = (p * (1 - p) * (1 / here.sum() + 1 / there.sum())) ** 0.5
        if abs(p - q) > max(6 * error, 0.2 * p):
            yield (
                f"{train.name!r} is {name!s} in {percent(p)} of the training rows and {percent(q)} "
                "of the test rows."
            )
            return


def _moved(train: pd.Series, test: pd.Series) -> Iterator[str]:
    here, there = (part.to_numpy("float64", na_value=np.nan) for part in (train, test))
    here, there = here[np.isfinite(here)], there[np.isfinite(there)]
    if len(here) < 2 or len(there) < 2:
        return
    spread = here.std()
    error = spread * (1 / len(here) + 1 / len(there)) ** 0.5
    if abs(here.mean() - there.mean()) > max(6 * error, 0.25 * spread) > 0:
        yield (
            f"{train.name!r} is {here.mean():.4g} on average in the training rows and "
            f"{there.mean():.4g} in the test rows."
        )


def _shared(train: pd.DataFrame, test: pd.DataFrame) -> Iterator[str]:
    if not len(train.columns):
        return
    both = pd.concat([train, test], ignore_index=True)
    keys = hashes(both)
    share, again = np.isin(keys[len(train) :], keys[: len(train)]).mean(), occur_again(keys)
    columns = [found for name in both if (found := code_column(both[name])) is not None]
    if share >= REPEATED and share * len(test) >= 3 and not by_chance(columns, again):
        yield (
            f"{percent(share)} of the test rows are among the training rows: scores are too good; "
            "remove the copies."
        )


def _drifted(train: pd.DataFrame, test: pd.DataFrame, chance: float) -> Iterator[str]:
    """Yield where the parts differ by much more than by chance, which is as large for each bin."""
    most = most_rows(len(train.columns))
    train, test = (part.iloc[:: -(-len(part) // most)] for part in (train, test))
    profile = fit_profiles(train)
    counted = count_rows(test, profile)
    every = drift(profile, counted)
    far = [
        each for each in every
        if each.psi > max(DRIFTED, 3 * len(profile[each.name].counts) * chance)
    ]  # fmt: skip
    if far:
        said = ", ".join(f"{each.name!r} ({each.psi:.2f})" for each in far[:NAMED])
        yield (
            f"Training and test rows differ in {said}{rest(len(far))} (population stability "
            f"index, {DRIFTED} is much): the test asks for what training does not show."
        )
    again = [each for each in every if 2 * len(profile[each.name].values or ()) <= len(train)]
    shares = {each.name: (each.unseen or 0) / len(test) for each in again}
    new = {name: share for name, share in shares.items() if share > UNSEEN}
    if new:
        said = ", ".join(f"{name!r} ({percent(share)})" for name, share in [*new.items()][:NAMED])
        yield f"Test rows with a value that no training row has: {said}{rest(len(new))}."
