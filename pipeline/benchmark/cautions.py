"""Cautions: what to know of a table before a score is believed; `split_cautions` has the rest.

Each is a sentence that names columns and numbers, and a way out. First comes what makes a score
worthless, then what costs quality, then remarks. They look at a sample of the rows, the same one
each time, and cost some seconds at most.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain
from shlex import quote
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.benchmark.dependence import (
    CALENDAR,
    GROUP_ID,
    GROUPS,
    by_chance,
    drifts,
    in_order,
    is_code,
    is_group,
    is_id,
    named_group,
    says_when,
    totals,
    words_of,
)  # fmt: skip
from pipeline.benchmark.leaks import (
    NEARLY,
    Answer,
    CodedColumn,
    code_column,
    same_as_target,
    score_where_known,
    stands_out,
    summed,
)
from pipeline.benchmark.report.format import NAMED, ignore, named, rest, share
from pipeline.benchmark.target_cautions import FEWEST, of_target
from pipeline.data.schema import kind_of

MOST_ROWS, MOST_CELLS = 100_000, 10_000_000
"""Of the sample."""
MOST_COLUMNS = 2_000
MOST_KEYS = 50
"""Columns among which those are looked for that tell rows apart."""
FEW_ROWS = 400
MOSTLY_MISSING = 0.5
REPEATED = 0.01
"""Share of repeated rows that deserves a word."""

Ranked: TypeAlias = tuple[list[str], list[str], list[str]]
"""What makes a score worthless, what costs quality, and remarks."""


def of_table(
    table: pa.Table | pd.DataFrame,
    target: str,
    kind: str,
    features: Sequence[str],
    *,
    by_time: str = "",
    groups: str = "",
    test: np.ndarray | None = None,
) -> list[str]:
    """Return what to know of a table before a model learns from it, a sentence each.

    Parameters
    ----------
    table : pyarrow.Table or pandas.DataFrame
        Columns of their own types, classes as their names.
    target : str
    kind : {"binary", "multiclass", "regression", "ranking", "clusters"}
        Of the last two only the columns are looked at.
    features : sequence of str
        Columns to learn from.
    by_time, groups : str
        The column that the split goes by, if it does.
    test : numpy.ndarray of bool, optional
        The rows to be judged on, where they are chosen; groups and times that they heed are not
        spoken of.

    Examples
    --------
    >>> rows = pd.DataFrame({"x": [0.0, 1.0] * 200, "y": ["no", "yes"] * 200})
    >>> of_table(rows, "y", "binary", ["x"])[0]
    "'x' is the target under another name: leave it out (--ignore x)."
    """
    return in_rank([ranked_of_table(table, target, kind, features, by_time, groups, test)])


def ranked_of_table(
    table: pa.Table | pd.DataFrame, target: str, kind: str, features: Sequence[str],
    by_time: str = "", groups: str = "", test: np.ndarray | None = None,
    metrics: Collection[str] = (),
) -> Ranked:  # fmt: skip
    """Return the same by rank; of metrics that are known, their names."""
    names = [str(name) for name in features if name != target]
    everything = _Table(table, target, kind, names, test)
    with np.errstate(all="ignore"):
        return _every(everything, by_time, groups, metrics)


def in_rank(found: Iterable[Ranked]) -> list[str]:
    """Return all cautions, those of the first rank first."""
    return [*chain.from_iterable(chain.from_iterable(zip(*found, strict=True)))]


def _every(table: _Table, by_time: str, groups: str, metrics: Collection[str]) -> Ranked:
    if table.kind in ("ranking", "clusters"):
        return [], [], [*_columns(table)]
    worthless: list[str] = [*_totals(table)]
    costly: list[str] = []
    if len(table.frame) >= FEWEST and table.target.distinct > 1:
        worthless += [*_leaks(table), *_repeats(table)]
        grouped = [] if groups else [*_groups(table)]
        worthless += grouped
        worthless += [] if by_time else _times(table, together=bool(groups or grouped))
        costly = [*_target(table, metrics), *_ids(table)]
    return worthless, costly + [*_size(table)], [*_columns(table)]


class _Table:
    """A sample of a table, each column as numbers when it is asked for."""

    def __init__(
        self, table: Any, target: str, kind: str, features: Sequence[str], test: np.ndarray | None
    ) -> None:
        self.whole, self.name, self.kind = table, target, kind
        self.features = features[:MOST_COLUMNS]
        self.all_rows, self.all_columns = len(table), len(features)
        known = sample(table, target, self.features)
        known[target] = as_texts_if_mixed(known[target])
        self.totals = totals(known) if len(known) == len(table) else np.empty(0, dtype=int)
        known = known.drop(index=known.index[self.totals])
        answers: Any = code_column(known[target])
        self.missing = answers.gaps / max(len(known), 1)
        self.target: CodedColumn = answers.at(answers.codes >= 0)
        self.frame = known[answers.codes >= 0]
        self.rows = self.frame.index.to_numpy()
        self.test = None if test is None else test[self.rows]
        self.leaking: set[str] = set()
        self._coded: dict[str, CodedColumn | None] = {}

    def __getitem__(self, name: str) -> CodedColumn | None:
        """Return a column as numbers; None where it cannot be."""
        if name not in self._coded:
            self._coded[name] = code_column(self.frame[name])
        return self._coded[name]

    def apart(self, column: CodedColumn) -> bool:
        """Tell whether most values of a column are in one part of the split alone."""
        here, there = self._parts(column.codes, column.codes >= 0)
        return len(there) > 0 and bool(np.isin(np.unique(there), here).mean() < 0.5)

    def later(self, when: np.ndarray) -> bool:
        """Tell whether all rows to be judged on come after the others."""
        here, there = self._parts(when, np.isfinite(when))
        return len(here) > 0 and len(there) > 0 and bool(there.min() >= here.max())

    def _parts(self, values: np.ndarray, known: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the known values of the rows to learn from and to be judged on."""
        test = np.zeros(len(values), dtype=bool) if self.test is None else self.test
        return values[known & ~test], values[known & test]

    @cached_property
    def columns(self) -> list[CodedColumn]:
        """The features that are numbers, texts or dates."""
        return [found for name in self.features if (found := self[name]) is not None]

    @cached_property
    def every(self) -> list[CodedColumn]:
        """The same of all columns of the table but the target."""
        others = (name for name in map(str, self.frame.columns) if name != self.name)
        names = [*dict.fromkeys([*self.features, *others])][:MOST_COLUMNS]
        return [found for name in names if (found := self[name]) is not None]

    @cached_property
    def answer(self) -> Answer:
        """The target as it is predicted."""
        return Answer.of(self.target, self.kind)


def as_texts_if_mixed(column: pd.Series) -> pd.Series:
    """Return a column of mixed objects as their texts."""
    mixed = code_column(column) is None
    return column.astype("str").where(column.notna()) if mixed else column


def sample(table: pa.Table | pd.DataFrame, target: str, features: Sequence[str]) -> pd.DataFrame:
    """Return rows in their order, numbered as in the table; rows that are the same stay together.

    Parameters
    ----------
    table : pyarrow.Table or pandas.DataFrame
    target : str
    features : sequence of str
    """
    parts = -(-len(table) // most_rows(len(features)))
    if parts <= 1:
        return to_pandas(table)
    head = to_pandas(_first(table, 2_000))
    names = [name for name in dict.fromkeys(features) if name in head][:MOST_KEYS]
    distinct = {name: found.distinct for name in names if (found := code_column(head[name]))}
    by = sorted(distinct, key=lambda name: -distinct[name])[:3] or [target]
    keys = to_pandas(table.select(by) if isinstance(table, pa.Table) else table[by])
    rows = np.flatnonzero(hashes(keys) % parts == 0)
    if isinstance(table, pa.Table):
        return to_pandas(table.take(rows)).set_axis(rows)
    return to_pandas(table.iloc[rows]).set_axis(rows)


def most_rows(columns: int) -> int:
    """Return the rows of a sample of so many columns."""
    return max(min(MOST_ROWS, MOST_CELLS // max(columns, 1)), 1_000)


def _first(table: Any, rows: int) -> Any:
    return table.slice(0, rows) if isinstance(table, pa.Table) else table.iloc[:rows]


def to_pandas(table: Any) -> pd.DataFrame:
    """Return a table as a frame of pandas."""
    if isinstance(table, pd.DataFrame):
        return table.set_axis(table.columns.astype(str), axis=1).reset_index(drop=True)
    return table.cast(pa.schema(map(_plain, table.schema))).to_pandas(date_as_object=False)


def _plain(field: pa.Field) -> pa.Field:
    """Return a type that pandas has, so that no column of it is one of objects."""
    if pa.types.is_decimal(field.type):
        return pa.field(field.name, pa.float64())
    return pa.field(field.name, pa.int8()) if pa.types.is_boolean(field.type) else field


def hashes(frame: pd.DataFrame) -> np.ndarray:
    """Return a number for each row, the same for rows that are the same."""
    plain = [name for name in frame.columns if kind_of(frame[name].infer_objects()) != "other"]
    return np.asarray(pd.util.hash_pandas_object(frame[plain], index=False))


def _target(table: _Table, metrics: Collection[str]) -> Iterator[str]:
    if table.missing:
        yield (
            f"{share(table.missing)} of the rows have no {table.name!r}: they are neither learnt "
            "from nor judged."
        )
    yield from of_target(table.target, table.frame[table.name], table.kind, metrics)


def _totals(table: _Table) -> Iterator[str]:
    """Yield which rows sum up others; the cautions that follow are of the rows without them."""
    rows = table.totals.tolist()
    if rows == [table.all_rows - 1]:
        yield f"row {rows[0]}, the last, looks like a total: delete it in the file if it is one."
    elif rows:
        said = f"{', '.join(map(str, rows[:NAMED]))}{rest(len(rows))}"
        plural = "s look like totals" if len(rows) > 1 else " looks like a total"
        yield f"row{plural} of others: {said}; delete what is no row of its own in the file."


def _leaks(table: _Table) -> Iterator[str]:
    """Yield which columns tell the target, alone or together."""
    every = {c.name: same_as_target(c, table.target, table.kind) for c in table.columns}
    twins = {name: how for name, how in every.items() if how}
    scores = {
        c.name: score_where_known(c, table.answer) for c in table.columns if c.name not in twins
    }
    least = NEARLY[table.answer.measure]
    if table.kind != "regression" and stands_out(scores, table.answer):
        least = max(scores.values())
    found = {n: score for n, score in scores.items() if score >= least}
    table.leaking = {*twins, *found}
    yield from (f"{n!r} {how}: leave it out ({ignore([n])})." for n, how in twins.items())
    best = sorted(found, key=lambda name: -found[name])[:NAMED]
    if best:
        measure = table.answer.measure
        said = ", ".join(f"{name!r} ({measure} {_cut(found[name])})" for name in best)
        yield (
            f"{said} alone {'tells' if len(found) == 1 else 'tell'} {table.name!r} almost "
            f"perfectly{rest(len(found))}: if it is not known before the target is, leave it out "
            f"({ignore(best)})."
        )
    elif table.kind == "regression" and not twins:
        how, names = summed(table.columns, table.target)
        if names:
            yield (
                f"{table.name!r} is {how} of {named(names)}, exactly: if they are not known "
                f"before it is, leave one out ({ignore(names[:1])})."
            )


def _repeats(table: _Table) -> Iterator[str]:
    """Yield how many rows repeat an earlier one, but for a number that each row has of its own."""
    columns = [column for column in table.columns if not is_id(column)]
    if len(table.frame) < 2 or not columns:
        return
    keys = hashes(table.frame[[*(column.name for column in columns), table.name]])
    again = occur_again(keys)
    copied = again.mean()
    if copied < REPEATED or again.sum() < 3 or by_chance([*columns, table.target], again):
        return
    rows = ", ".join(str(row) for row in table.rows[again][:3])
    yield (
        f"{share(copied)} of the rows repeat an earlier one (rows {rows}, …): the same row in "
        "training and test makes scores too good; remove the copies, unless each is a case of its "
        "own."
    )


def occur_again(keys: np.ndarray) -> np.ndarray:
    """Return which keys equal one before them."""
    return np.asarray(pd.Series(keys).duplicated())


def _groups(table: _Table) -> Iterator[str]:
    for column in table.every:
        kinds = column.kind == "text" or column.whole
        if not kinds or column.distinct < 5 or table.apart(column):
            continue
        rows, values = len(column.codes) - column.gaps, column.distinct
        if len(table.frame) < table.all_rows and words_of(column.name) & (GROUPS | GROUP_ID):
            rows, values = _counted(table.whole, column.name)
        if rows >= 1.2 * values and (
            named_group(column, rows, values) or is_group(column, table.columns, table.answer)
        ):
            yield (
                f"{column.name!r} has {values:,} values in {rows:,} rows: those of the same one "
                "are in training and test, and scores are too good for new ones; to judge these: "
                f"--split groups --by {quote(column.name)}."
            )
            return


def _counted(table: Any, name: str) -> tuple[int, int]:
    values = table[name] if isinstance(table, pa.Table) else pa.array(table[name])
    return len(values) - values.null_count, int(
        pc.count_distinct(values, mode="only_valid").as_py()
    )


def _times(table: _Table, *, together: bool) -> Iterator[str]:
    """Yield how the target changes with time; rows that belong together are alike anyway."""
    if len(table.frame) < 100 or table.later(table.rows):
        return
    times = [column for column in table.every if says_when(column)]
    if any(table.later(column.numbers) for column in times):
        return
    for column in times:
        if drifts(table.answer, column.numbers):
            sure = column.kind == "date" or column.name.lower() in CALENDAR
            unsure = "" if sure else f"if {column.name!r} says when a row was made, "
            yield (
                f"{table.name!r} changes with {column.name!r}: {unsure}training has rows that are "
                "later than those of the test, and scores are too good for what is to come; to "
                f"judge that: --split time --by {quote(column.name)}."
            )
            return
    if not together and in_order(table.answer, table.target, table.every):
        yield (
            f"Neighbouring rows have alike values of {table.name!r}: if the rows are in order of "
            "time or place, scores of a random split are too good for new ones; split by a column "
            "that says when or where (--split time or groups, --by …)."
        )


def _ids(table: _Table) -> Iterator[str]:
    found = [c.name for c in table.columns if is_id(c) and c.name not in table.leaking]
    if found:
        yield (
            f"{named(found)} {'tells' if len(found) == 1 else 'tell'} rows apart and nothing "
            f"else, as a row number does: leave it out ({ignore(found)})."
        )
    codes = [c.name for c in table.columns if c.name not in found and is_code(c)]
    if codes:
        yield (
            f"{named(codes)} {'is' if len(codes) == 1 else 'are'} read as numbers: if these are "
            f'codes, say Text() for them in READ ("{codes[0]}": Text()), which makes them '
            "categories."
        )


def _columns(table: _Table) -> Iterator[str]:
    same = [
        c.name for c in table.columns
        if c.distinct < 2 and not (c.distinct and c.gaps) and not _is_merged(table, c)
    ]  # fmt: skip
    sampled = table.all_rows > most_rows(table.all_columns)
    constant = [n for n in same if not sampled or _counted(table.whole, n)[1] < 2]
    if constant:
        yield (
            f"{named(constant)} {'has' if len(constant) == 1 else 'have'} one value or none: "
            "nothing can be learnt from it; "
            f"leave it out ({ignore(constant)})."
        )
    n = max(len(table.frame), 1)
    lost = {
        c.name: c.gaps / n
        for c in table.columns
        if n > c.gaps > MOSTLY_MISSING * n and c.distinct > 1
    }
    if lost:
        said = ", ".join(f"{name!r} ({share(part)})" for name, part in [*lost.items()][:NAMED])
        yield (
            f"Mostly missing: {said}{rest(len(lost))}: leave it out, or let the model see where it "
            "is missing (SimpleImputer(add_indicator=True))."
        )
    yield from _twice(table)


def _is_merged(table: _Table, column: CodedColumn) -> bool:
    """Tell whether integers are one value only because float64 rounds them to it."""
    large = column.distinct == 1 and np.nanmax(np.abs(column.numbers)) >= 2**53
    return bool(large and _counted(table.whole, column.name)[1] > 1)


def _twice(table: _Table) -> Iterator[str]:
    """Yield which columns are others under another name or in another unit."""
    first: dict[bytes, str] = {}
    same: dict[str, str] = {}
    for column in table.columns:
        known = column.codes[column.codes >= 0]
        if column.name in table.leaking or len(known) - np.bincount(known).max(initial=0) < FEWEST:
            continue
        values = column.codes if column.kind == "text" else _standardised(column.numbers)
        earlier = first.setdefault(values.tobytes(), column.name)
        if earlier != column.name:
            same[column.name] = earlier
    if same:
        said = ", ".join(f"{name!r} as {earlier!r}" for name, earlier in [*same.items()][:NAMED])
        yield (
            f"The same column twice: {said}{rest(len(same))}: it costs time and adds nothing; "
            f"leave it out ({ignore([*same])})."
        )


def _standardised(numbers: np.ndarray) -> np.ndarray:
    """Return numbers so that those of another unit are the same."""
    away = numbers - np.nanmean(numbers)
    known = away[np.isfinite(away)]
    sign = np.sign(known[np.flatnonzero(known)[:1]]).sum()
    return np.nan_to_num(np.round(away * sign / max(np.nanstd(numbers), 1e-300), 6), nan=1e9) + 0.0


def _size(table: _Table) -> Iterator[str]:
    n = len(table.frame)
    if n < FEW_ROWS:
        yield f"{n} rows: few to learn from, and scores are known only roughly."
    if table.all_columns > MOST_COLUMNS:
        yield f"Only the first {MOST_COLUMNS:,} columns were looked through."
    if table.all_columns >= n:
        yield (
            f"{table.all_columns:,} columns and {n:,} rows: a model can fit anything; take fewer "
            "columns (--features …) or a strong penalty."
        )


def _cut(score: float) -> str:
    """Write a score without rounding it up to 1."""
    return f"{min(score, 0.999) if score < 1 - 1e-12 else 1:.3f}"
