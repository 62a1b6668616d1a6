"""A task made of your own table: its data as Parquet, its pipelines as a file to edit.

Columns that cannot be used are named, with the reason; the target decides the kind of the task: a
class of two, one of several, or a number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from jinja2 import Environment, PackageLoader, StrictUndefined

from pipeline.benchmark.task import FOLDER, Kind, pick
from pipeline.data.read import read_table
from pipeline.errors import ConfigError, DataError
from pipeline.system import atomic

__all__ = ["NewTask", "create", "find_table"]

FOLD, TARGET = "(fold)", "(target)"
"""Columns that are added; no table has them by chance."""
LEAST_ROWS = 100


@dataclass(frozen=True)
class NewTask:
    """What became of a table.

    Attributes
    ----------
    name, file, label : str
        Of the task, of the file it was made from, of the column to predict.
    rows, all_rows : int
        Kept, and in the file.
    columns : Columns
    target : Target
    data, task : Path
        What was written.
    """

    name: str
    file: str
    label: str
    rows: int
    all_rows: int
    columns: Columns
    target: Target
    data: Path
    task: Path

    def lines(self) -> Iterator[str]:
        """Yield what was made of each column, what was not, and what to do next."""
        kept, columns = f"{self.rows:,} of {self.all_rows:,} rows", self.columns
        yield f"{self.file}: {kept}; {self.label!r} is predicted ({self.target.kind})"
        if self.target.classes:
            yield "  classes: " + ", ".join(map(repr, self.target.classes))
        if self.target.left_out:
            yield "  too rare, left out: " + ", ".join(map(repr, self.target.left_out))
        dated = sum(columns.dates.values(), [])
        yield from _listed("numbers", [n for n in columns.numbers if n not in dated])
        yield from _listed("dates, by their parts", list(columns.dates))
        yield from _listed("categories of few values", columns.few)
        yield from _listed("categories of many values", columns.many)
        yield from (f"  not used: {name!r} {why}" for name, why in columns.unused.items())
        yield f"data: {self.data}"
        yield f"task: {self.task}, yours to change"
        yield f"next: make report TASK={self.name}"


def _listed(what: str, names: list[str]) -> Iterator[str]:
    if names:
        yield f"  {what}: " + ", ".join(map(repr, names))


def create(file: Path, label: str, home: Path, name: str = "") -> NewTask:
    """Write a task and its data: see `pipeline.benchmark.api.new_task`."""
    name = _free(name or _identifier(file.stem), home)
    table = read_table(file)
    asked = target(label, table[pick(label, table.column_names, "column")])
    known = pc.is_valid(asked.values)
    rows = table.filter(known)
    columns = Columns()
    for column in rows.drop_columns([label]).column_names:
        if counts(table[column]):
            columns.unused[column] = "numbers the rows"
        else:
            columns.add(column, rows[column])
    _check(file, len(rows), columns)
    answers = pc.filter(asked.values, known)
    data = _store(home / name, {**columns.values, TARGET: answers})
    new = NewTask(
        name, file.name, label, len(rows), len(table), columns, asked, data, FOLDER / f"{name}.py"
    )
    atomic.write_text(new.task, _program(new, answers))
    return new


def find_table(home: Path, name: str) -> Path:
    """Return the Parquet file of a table of your own.

    Raises
    ------
    DataError
        It is not below `home`.
    """
    path = home / name / f"{name}.parquet"
    if not path.exists():
        raise DataError(f"{path}: no such file; make it with `python -m pipeline new-task`")
    return path


def _identifier(text: str) -> str:
    """Return a name that Python takes for a module.

    >>> _identifier("2024 Häuser (neu)"), _identifier("class")
    ('table_2024_häuser_neu', 'table_class')
    """
    from keyword import iskeyword

    plain = re.sub(r"\W+", "_", text).strip("_").lower()
    return plain if plain.isidentifier() and not iskeyword(plain) else f"table_{plain}"


def _free(name: str, home: Path) -> str:
    if name != _identifier(name):
        raise ConfigError(f"--name {name}: write it as {_identifier(name)}")
    for path in (FOLDER / f"{name}.py", home / name):
        if path.exists():
            raise ConfigError(f"{path} is there already; remove it, or choose another --name")
    if not FOLDER.is_dir():
        raise ConfigError("no folder `tasks` here; run from the root of the repository")
    return name


def _check(file: Path, rows: int, columns: Columns) -> None:
    if rows < LEAST_ROWS:
        raise DataError(f"{file}: {rows} rows with a known target; at least {LEAST_ROWS} it takes")
    if not columns.values:
        why = "; ".join(f"{name!r} {reason}" for name, reason in columns.unused.items())
        raise DataError(f"{file}: no column to learn from: {why}")


def _store(folder: Path, values: dict[str, pa.Array]) -> Path:
    rows = len(values[TARGET])
    fold = np.random.default_rng(0).permutation(rows) % 100
    table = pa.table({**values, FOLD: fold.astype("uint8")})
    with atomic.publishing(folder) as draft:
        pq.write_table(table, draft / f"{folder.name}.parquet", write_page_checksum=True)
    return folder / f"{folder.name}.parquet"


def _program(new: NewTask, answers: pa.Array) -> str:
    environment = Environment(
        loader=PackageLoader("pipeline.benchmark"), undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    environment.filters["repr"] = repr
    spread = pc.stddev(pc.cast(answers, "float64")).as_py()
    template = environment.get_template("task.py.j2")
    return template.render(new=new, margin=float(f"{spread / 100:.1g}"), FOLD=FOLD, TARGET=TARGET)


FEW = 20
"""Distinct texts up to which each gets a column of its own."""
OWN = 0.5
"""Share of distinct texts among the rows above which a column tells rows apart, no more."""
PARTS = ("year", "month", "day", "weekday", "hour")


@dataclass
class Columns:
    """The columns to learn from.

    Attributes
    ----------
    values : dict of str to pyarrow array
        By name, as they are stored.
    numbers, few, many : list of str
        Numbers; categories of few values; categories of many.
    dates : dict of str to list of str
        Date -> the numbers it became.
    unused : dict of str to str
        Column -> why it cannot be used.
    """

    values: dict[str, Any] = field(default_factory=dict)
    numbers: list[str] = field(default_factory=list)
    few: list[str] = field(default_factory=list)
    many: list[str] = field(default_factory=list)
    dates: dict[str, list[str]] = field(default_factory=dict)
    unused: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, values: pa.ChunkedArray) -> None:
        """Take a column as what it is."""
        kind, distinct = values.type, _distinct(values)
        if values.null_count == len(values):
            distinct = 0
        if distinct is not None and distinct < 2:
            self.unused[name] = "has one value" if distinct else "has no values"
        elif pa.types.is_boolean(kind) or _is_number(kind):
            self._number(name, values)
        elif pa.types.is_date(kind) or pa.types.is_timestamp(kind):
            self._date(name, values)
        elif _is_text(kind):
            self._text(name, values, distinct or 0)
        else:
            self.unused[name] = f"is of type {kind}, which no program here takes"

    def _number(self, name: str, values: pa.ChunkedArray) -> None:
        real = pc.cast(values, "float64", safe=False)
        self.values[name] = pc.if_else(pc.is_finite(real), real, pa.scalar(None, "float64"))
        self.numbers.append(name)

    def _date(self, name: str, values: pa.ChunkedArray) -> None:
        parts = {f"{name}: {part}": each for part, each in _parts(values) if _distinct(each) != 1}
        for part, each in parts.items():
            self.values[part] = pc.cast(each, "float64")
        self.dates[name] = list(parts)
        self.numbers.extend(parts)

    def _text(self, name: str, values: pa.ChunkedArray, distinct: int) -> None:
        if distinct > FEW and distinct > OWN * len(values):
            self.unused[name] = f"has {distinct:,} texts in {len(values):,} rows, one or two each"
            return
        self.values[name] = encoded(values)
        (self.few if distinct <= FEW else self.many).append(name)


def counts(values: pa.ChunkedArray) -> bool:
    """Tell whether whole numbers rise by one from row to row."""
    if not pa.types.is_integer(values.type) or values.null_count or len(values) < 2:
        return False
    steps = pc.pairwise_diff(pc.cast(values.combine_chunks(), "int64")).drop_null()
    return bool(pc.all(pc.equal(steps, 1)).as_py())


def encoded(values: pa.ChunkedArray) -> Any:
    """Return texts as codes into their sorted levels."""
    texts = pc.cast(values, "string").combine_chunks()
    levels = pc.unique(texts).drop_null()
    levels = levels.take(pc.sort_indices(levels))
    return pa.DictionaryArray.from_arrays(pc.index_in(texts, value_set=levels), levels)


def _distinct(values: Any) -> int | None:
    try:
        return int(pc.count_distinct(values).as_py())
    except pa.ArrowNotImplementedError:
        return None


def _is_number(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _is_text(kind.value_type)
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def _parts(values: pa.ChunkedArray) -> Iterator[tuple[str, Any]]:
    times = pc.cast(values, "timestamp[us]") if pa.types.is_date(values.type) else values
    functions = (pc.year, pc.month, pc.day, pc.day_of_week, pc.hour)
    for part, function in zip(PARTS, functions, strict=True):
        yield part, function(times)


MOST_CLASSES = 100
FEWEST = 20
"""Rows of a class below which it cannot be learnt and judged."""


@dataclass(frozen=True)
class Target:
    """A target as it is stored.

    Attributes
    ----------
    kind : {"binary", "multiclass", "regression"}
    values : pyarrow array
        Codes of classes, or numbers; missing where the row is left out.
    classes : tuple of str
        Their names, in the order of the codes.
    left_out : tuple of str
        Classes of too few rows.
    """

    kind: Kind
    values: Any
    classes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def target(name: str, values: pa.ChunkedArray) -> Target:
    """Read a target column.

    Raises
    ------
    DataError
        It has one value, too many classes, or a type that is neither class nor number.
    """
    real = pa.types.is_floating(values.type) or pa.types.is_decimal(values.type)
    if real or (pa.types.is_integer(values.type) and pc.count_distinct(values).as_py() > FEWEST):
        numbers = pc.cast(values, "float64", safe=False)
        if pc.count_distinct(numbers).as_py() > 2:
            finite = pc.if_else(pc.is_finite(numbers), numbers, pa.scalar(None, "float64"))
            return Target("regression", finite)
    try:
        texts = pc.cast(values, "string").combine_chunks()
    except pa.ArrowException as error:
        raise DataError(f"target {name!r}: is of type {values.type}, not classes") from error
    return _classes(name, texts)


def _classes(name: str, texts: pa.Array) -> Target:
    counts = {c["values"]: c["counts"] for c in pc.value_counts(texts.drop_null()).to_pylist()}
    kept = sorted((c for c, count in counts.items() if count >= FEWEST), key=_order)
    if not 2 <= len(kept) <= MOST_CLASSES:
        raise DataError(
            f"target {name!r}: {len(kept)} classes of {FEWEST} rows or more, of {len(counts)} "
            f"in all; a class takes 2 to {MOST_CLASSES}, a number a column of numbers"
        )
    codes = pc.cast(pc.index_in(texts, value_set=pa.array(kept)), "int64")
    kind: Kind = "binary" if len(kept) == 2 else "multiclass"
    return Target(kind, codes, tuple(kept), tuple(sorted(set(counts) - set(kept))))


def _order(text: str) -> tuple[float, str]:
    """Sort numbers by value, before texts."""
    try:
        return float(text), text
    except ValueError:
        return float("inf"), text
