"""Cautions of a split: how training and test rows are too alike, or too unlike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from shlex import quote

import numpy as np
import pandas as pd

from pipeline.benchmark.cautions import (
    MOST_COLUMNS,
    REPEATED,
    Ranked,
    as_texts_if_mixed,
    hashes,
    in_rank,
    most_rows,
    occur_again,
    to_pandas,
)
from pipeline.benchmark.dependence import by_chance, is_id, says_when
from pipeline.benchmark.leaks import code_column
from pipeline.benchmark.report.format import NAMED, ignore, named, rest, share
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
    times: Sequence[str] = (),
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
    times : sequence of str
        Columns of the time that the split goes by, if it does, the first one first.

    Examples
    --------
    >>> rows = pd.DataFrame(np.random.default_rng(0).random((400, 3)), columns=["x", "z", "y"])
    >>> [said] = of_split(rows[:300], rows[200:], "y", ["x", "z"], "regression")
    >>> said.partition("; ")[0]
    '50.0 % of the test rows are among the training rows: scores are too good'
    """
    return in_rank([ranked_of_split(train, test, target, features, kind, groups, times)])


def ranked_of_split(
    train: pd.DataFrame, test: pd.DataFrame, target: str, features: Sequence[str], kind: str,
    groups: str = "", times: Sequence[str] = (),
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
    parted = bool(groups or times) or any(_goes_by(train[n], test[n]) for n in train)
    way = (
        "time or groups part them: train on newer rows, or on more groups"
        if parted
        else "draw the test rows at random (--split random), unless time or groups are to part them"
    )
    with np.errstate(all="ignore"):
        chance = sum(1 / max(n, 1) for n in counts)
        drifted = _drifted(train[inside], test[inside], chance, way)
        answers = _answers(train[target], test[target], kind, way)
        worthless = [*_shared(train[names], test[names]), *_late(train, test, times)]
        return worthless, [*answers, *_constant(train[names], test[names]), *drifted], []


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


def _late(train: pd.DataFrame, test: pd.DataFrame, times: Sequence[str]) -> Iterator[str]:
    """Yield how much of the training is later than the test, which no split by time has."""
    if times and {*times} <= {*train.columns}:
        both = pd.concat([train[[*times]], test[[*times]]], ignore_index=True)
        when = both.groupby([*times], sort=True).ngroup().to_numpy()
        here, there = when[: len(train)], when[len(train) :]
        late = (here > there[there >= 0].min(initial=len(when))).mean()
        if late:
            yield (
                f"The split goes by {named(times)}, and {share(late)} of the training rows are "
                "later than the first test row: train on the rows before it alone."
            )
        return
    for name in train.columns:
        if _goes_by(test[name], train[name]):
            yield (
                f"All training rows are later than the test rows by {name!r}: a model that is used "
                "learns from the past; judge on the last rows "
                f"(--split time --by {quote(str(name))})."
            )
            return


def _constant(train: pd.DataFrame, test: pd.DataFrame) -> Iterator[str]:
    """Yield which columns vary in the test rows alone."""
    once = [str(name) for name in train if train[name].nunique() == 1]
    values = {name: train[name].dropna().iloc[0] for name in once}
    same = [n for n in once if (test[n].notna() & (test[n] != values[n])).mean() > UNSEEN]
    if same:
        yield (
            f"{named(same)} {'has' if len(same) == 1 else 'have'} one value in the training rows "
            "and others in the test rows: nothing can be learnt from it; leave it out "
            f"({ignore(same)}), or train on rows that show them."
        )


def _answers(train: pd.Series, test: pd.Series, kind: str, way: str) -> Iterator[str]:
    if kind == "regression":
        yield from _moved(train, test, way)
        return
    here, there = train.value_counts(), test.value_counts()
    here, there = here[here > 0], there[there > 0]
    for part, found, others in (("training", here, there), ("test", there, here)):
        if lost := [str(name) for name in others.index if name not in found.index]:
            said = ", ".join(sorted(lost)[:NAMED]) + rest(len(lost))
            lacking = "no model can learn it" if part == "training" else "nothing judges it"
            yield (
                f"No {part} row is of the class {said} of {train.name!r}: {lacking}; give both "
                "parts rows of it, or put it together with another."
            )
    few = there[there < FEWEST_JUDGED]
    if len(few):
        said = ", ".join(f"{name!s} ({n})" for name, n in few.sort_index().iloc[:NAMED].items())
        yield (
            f"Fewer than {FEWEST_JUDGED} test rows are of the class {said} of {train.name!r}: too "
            "few to judge it; judge on more rows, or put it together with another."
        )
    for name in here.index.intersection(there.index)[:10]:
        p, q = here[name] / here.sum(), there[name] / there.sum()
        error = (p * (1 - p) * (1 / here.sum() + 1 / there.sum())) ** 0.5
        if abs(p - q) > max(6 * error, 0.2 * p):
            yield (
                f"{train.name!r} is {name!s} in {share(p)} of the training rows and {share(q)} "
                f"of the test rows: {way}."
            )
            return


def _moved(train: pd.Series, test: pd.Series, way: str) -> Iterator[str]:
    here, there = (part.to_numpy("float64", na_value=np.nan) for part in (train, test))
    here, there = here[np.isfinite(here)], there[np.isfinite(there)]
    if len(here) < 2 or len(there) < 2:
        return
    spread = here.std()
    error = spread * (1 / len(here) + 1 / len(there)) ** 0.5
    if abs(here.mean() - there.mean()) > max(6 * error, 0.25 * spread) > 0:
        yield (
            f"{train.name!r} is {here.mean():.4g} on average in the training rows and "
            f"{there.mean():.4g} in the test rows: {way}."
        )


def _shared(train: pd.DataFrame, test: pd.DataFrame) -> Iterator[str]:
    both = pd.concat([train, test], ignore_index=True)
    every = [found for name in both if (found := code_column(both[name])) is not None]
    columns = [column for column in every if not is_id(column)]
    if not columns:
        return
    keys = hashes(both[[column.name for column in columns]])
    copied, again = np.isin(keys[len(train) :], keys[: len(train)]).mean(), occur_again(keys)
    if copied >= REPEATED and copied * len(test) >= 3 and not by_chance(columns, again):
        yield (
            f"{share(copied)} of the test rows are among the training rows: scores are too good; "
            "remove the copies, unless each is a case of its own."
        )


def _drifted(train: pd.DataFrame, test: pd.DataFrame, chance: float, way: str) -> Iterator[str]:
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
            f"index, {DRIFTED} is much): {way}."
        )
    again = [each for each in every if 2 * len(profile[each.name].values or ()) <= len(train)]
    parts = {each.name: (each.unseen or 0) / len(test) for each in again}
    new = {name: part for name, part in parts.items() if part > UNSEEN}
    if new:
        said = ", ".join(f"{name!r} ({share(part)})" for name, part in [*new.items()][:NAMED])
        yield (
            f"Test rows with a value that no training row has: {said}{rest(len(new))}: take an "
            "encoder that allows for these (handle_unknown=…), or leave the column out."
        )
