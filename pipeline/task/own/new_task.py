"""A task for your own table: its data as Parquet, its pipelines as a file to edit.

The role of each column, the kind of target and the test rows are guessed, shown, and written into
the file; options override the guesses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from keyword import iskeyword
from pathlib import Path
from shlex import quote
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline.errors import ConfigError, DataError, clean, pick
from pipeline.files.read import read_arrow
from pipeline.files.sniff import sniff
from pipeline.files.table_format import Decimal, TableFormat, Text
from pipeline.optional import COMMAND
from pipeline.system import atomic
from pipeline.task.cautions.examine import of_table
from pipeline.task.included import FOLDER, TASKS
from pipeline.task.own.own_program import write_program
from pipeline.task.own.own_table import FOLDS, SPLITS, OwnTable, cut_of, to_store
from pipeline.task.own.own_target import FEWEST, Class, Target, choose_positive, read_target
from pipeline.task.own.roles import ROLES, Roles, assign_roles, role_of_type
from pipeline.typing import Table

__all__ = ["Choices", "NewTask", "create"]

FEW_ROWS, LEAST_ROWS = 100, 20
"""Rows below which scores say little, and below which there is no task."""
_SHOWN = 20
"""Columns, or notes, that are listed; the others are only counted."""


@dataclass(frozen=True, kw_only=True)
class Choices:
    """Options of a new task; empty ones are guessed."""

    name: str = ""
    """Name of the task; by default that of the file."""
    kind: str = ""
    """binary, multiclass or regression."""
    ignore: Sequence[str] = ()
    """Columns not to learn from."""
    split: str = "random"
    """Test rows: "random", a random quarter; "time", the latest quarter; or "groups", a quarter of
    the groups."""
    by: str = ""
    """Column with the time or the group."""
    encoding: str = ""
    """Of a text file."""
    delimiter: str = ""
    decimal: Decimal | None = None
    """The decimal mark, "." or ",", if the table leaves it open, as with 1,234."""
    missing: Sequence[str] = ()
    """Words that mean a missing value, in addition to those of `pandas.read_csv`."""
    keep: Sequence[str] = ()
    """Words of a CSV file that are values although `pandas.read_csv` reads them as missing."""
    day_first: bool | None = None
    """Whether dates such as 02/01/2018 begin with the day."""
    force: bool = False
    """Overwrite a task of this name that `new-task` created, including your changes."""

    def __post_init__(self) -> None:
        pick(self.split, SPLITS, "--split")
        if self.by and self.split not in ("time", "groups"):
            raise ConfigError("--by needs --split time or --split groups")


@dataclass(frozen=True, repr=False)
class NewTask:
    """The result of `new_task`: what was guessed, and what you should check."""

    name: str
    file: str
    label: str
    """The column to predict."""
    rows: int
    """That are used."""
    all_rows: int
    columns: Roles
    target: Target
    split: str
    """Description of the test rows."""
    notes: tuple[str, ...]
    cautions: tuple[str, ...]
    data: Path
    task: Path

    def lines(self) -> Iterator[str]:
        """Yield what was guessed, the role of each column, and what to do next."""
        kept = f"{self.rows:,} of {self.all_rows:,} rows"
        yield f"{self.file}: {kept}; predicts {self.label!r} ({self.target.kind})"
        yield from (f"  {fact}" for fact in (*self._of_target(), *_of_columns(self.columns)))
        yield f"  test rows: {self.split}"
        yield from (f"  note: {note}" for note in _cut(self.notes))
        yield from (f"  {caution}" for caution in self.cautions)
        yield f"data: {self.data}"
        yield f"task: {self.task} (edit it as you like)"
        yield f"next: {COMMAND} report {self.name}"
        yield f"or:   {COMMAND} run {self.name}"
        files = f"runs/{self.name}/boosting.model {quote(self.file)} runs/{self.name}.csv"
        yield f"      {COMMAND} predict {files}"

    def _of_target(self) -> Iterator[str]:
        target = self.target
        if target.classes:
            yield f"classes: {_counted(target.classes)}"
        if target.positive is not None:
            yield f"positive class: {target.positive!r}; change it by positive= in the task"
        if target.left_out:
            rare = _counted(target.left_out)
            yield f"rare classes, left out: {rare}; lower min_rows= in the task to keep them"

    def __repr__(self) -> str:
        """Return all lines."""
        return clean("\n".join(self.lines()))


def _of_columns(roles: Roles) -> Iterator[str]:
    """Yield what became of each column."""
    for role, names in roles.by_name.items():
        yield f"{ROLES[role]}: {', '.join(_cut([*map(repr, names)]))}"
    yield from _cut([f"not used: {name!r} {why}" for name, why in roles.unused.items()])


def _cut(lines: Sequence[str]) -> list[str]:
    """Return lines as far as one reads them, and how many more there are.

    >>> _cut(["a"] * 5_000)[-2:]
    ['a', '4,980 more']
    """
    more = len(lines) - _SHOWN
    return [*lines[:_SHOWN], f"{more:,} more"] if more > 1 else [*lines]


def _counted(classes: dict[Class, int]) -> str:
    return ", ".join(f"{each!r} ({rows:,} rows)" for each, rows in classes.items())


def create(source: Path | Table, label: str, home: Path, choices: Choices | None = None) -> NewTask:
    """Write a task and its data: see `pipeline.benchmark.api.new_task`."""
    choices = choices or Choices()
    name = choices.name
    if not name and isinstance(source, Path):
        name = _identifier(Path(re.sub(r"\.(gz|bz2|xz|zst)$", "", source.absolute().name)).stem)
    if not name:
        raise ConfigError("pass name=, the name of the task, for a table that is not a file")
    _check_free(name, home, choices)
    file = source if isinstance(source, Path) else home / name / f"{name}-as-given.parquet"
    read, notes, table = _read(source, label, choices)
    known = len(table) - table[label].null_count
    if known < FEW_ROWS:
        way = "scores on a quarter of them are unreliable; use cross-validation in a script"
        notes = (*notes, f"{known} rows with a known target: {way}")
    least = FEWEST if known >= FEW_ROWS else min(FEWEST, max(2 * FOLDS, known // 5))
    asked = read_target(label, table[label], choices.kind, min_rows=least)
    own = _own_table(name, file, label, read, table, asked.kind, least, choices)
    rows, target = own.stored(table)
    if target.kind == "binary":
        target = replace(target, positive=choose_positive(target.classes))
    columns = _columns(table, rows[own.row], own, choices)
    _check(file, len(rows), columns, notes)
    if texts := columns.by_name.get("texts"):
        own = replace(own, read=_with_texts(own.read, texts))
        rows, _ = own.stored(read_arrow(source, own.read))
    test = np.zeros(len(table), dtype=bool)
    test[rows[own.row].filter(pc.equal(rows[own.fold], FOLDS - 1)).to_numpy()] = True
    doubts = tuple(of_table(table, label, own.kind, columns.used, test))
    new = NewTask(
        name, str(file), label, len(rows), len(table), columns, target,
        _about_split(own, rows, table), (*notes, *asked.notes), doubts, own.path(home),
        FOLDER / f"{name}.py",
    )  # fmt: skip
    if not isinstance(source, Path):
        file.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(read_arrow(source), file)
    own.store(rows, own.path(home))
    atomic.write_text(new.task, write_program(own, columns, target, rows[label]))
    return new


def _read(
    source: Path | Table, label: str, choices: Choices
) -> tuple[TableFormat, tuple[str, ...], pa.Table]:
    """Return how a table is read, what of it was guessed, and the table."""
    found = sniff(
        source, encoding=choices.encoding or None, delimiter=choices.delimiter or None,
        day_first=choices.day_first, decimal=choices.decimal, missing=choices.missing,
        keep=choices.keep, labels=() if choices.kind == "regression" else (label,),
    )  # fmt: skip
    table = read_arrow(source, found.format)
    try:
        pick(label, table.column_names, "column")
    except ConfigError as error:
        if not isinstance(source, Path):
            raise
        odd = [note for note in found.notes if note.startswith(f"{source.name}: ")]
        raise ConfigError("; ".join([f"{source}: {error}", *odd])) from None
    return found.format, found.notes, table


def _identifier(text: str) -> str:
    """Return a name that Python takes for a module.

    >>> _identifier("2024 Häuser (neu)"), _identifier("class")
    ('table_2024_häuser_neu', 'table_class')
    """
    plain = re.sub(r"\W+", "_", text).strip("_").lower()
    return plain if plain.isidentifier() and not iskeyword(plain) else f"table_{plain}"


def _check_free(name: str, home: Path, choices: Choices) -> None:
    if name != _identifier(name):
        raise ConfigError(f"--name {name}: write it as {_identifier(name)}")
    if not FOLDER.is_dir():
        raise ConfigError("the folder `tasks` is missing; run from the root of the repository")
    task, included = FOLDER / f"{name}.py", TASKS / f"{name}.py"
    there = next((path for path in (task, included, home / name) if path.exists()), None)
    made_so = not task.exists() or "OwnTable(" in task.read_text()
    made_so &= not included.exists() and not (home / name / "manifest.json").exists()
    if there and not (choices.force and made_so):
        way = ", or use --force to overwrite it" if made_so else ""
        raise ConfigError(f"{there} already exists; choose another --name{way}")


def _own_table(
    name: str, file: Path, label: str, read: TableFormat, table: pa.Table, kind: str,
    min_rows: int, choices: Choices,
) -> OwnTable:  # fmt: skip
    by, cut = choices.by, None
    if by == label:
        raise ConfigError(f"--by {by}: this is the target; choose another column")
    if choices.split == "time":
        types = zip(table.column_names, table.schema.types, strict=True)
        dates = [name for name, kind in types if role_of_type(name, kind, read) == "dates"]
        if not by and len(dates) != 1:
            raise ConfigError(
                f"--split time needs --by, the time column; date columns are: {dates}"
            )
        by = by or dates[0]
        times = to_store(table[pick(by, table.column_names, "column")]).drop_null().to_pandas()
        cut = str(cut_of(by, times, None))
    return OwnTable(
        name=name, file=file.as_posix(), target=label, kind=kind, read=read, split=choices.split,
        min_rows=min_rows, by=by, cut=cut,
        fold=_unlike("fold", table), row=_unlike("row", table),
    )  # fmt: skip


def _unlike(name: str, table: pa.Table) -> str:
    while name in table.column_names:
        name += "_"
    return name


def _columns(table: pa.Table, rows: Any, own: OwnTable, choices: Choices) -> Roles:
    """Return what each column becomes, but for those that are something else."""
    others = [name for name in table.column_names if name != own.target]
    for name in choices.ignore:
        if name == own.target:
            raise ConfigError(f"--ignore {name}: this is the target; remove it from --ignore")
        pick(name, others, "column")
    why = dict.fromkeys(choices.ignore, "is ignored, as requested")
    if own.split == "groups":
        why[own.by] = "holds the groups"
    wanted = [name for name in others if name not in why]
    roles = assign_roles(table, wanted, own.read, rows)
    roles.unused |= why
    return roles


def _with_texts(read: TableFormat, names: Sequence[str]) -> TableFormat:
    """Return how a table is read so that no free text is missing, as vectorizers want it."""
    formats = {name: read.columns.get(name, Text()) for name in names}
    texts = {n: msgspec.structs.replace(f, empty=True) for n, f in formats.items()}
    return msgspec.structs.replace(read, columns={**read.columns, **texts})


def _check(file: Path, rows: int, columns: Roles, notes: Sequence[str]) -> None:
    if rows < LEAST_ROWS:
        raise DataError(
            f"{file}: {rows} rows with a known target are too few to compare models; at least "
            f"{LEAST_ROWS} are needed"
        )
    if not columns.used:
        unused = [f"{name!r} {reason}" for name, reason in columns.unused.items()]
        why = "; ".join(_cut([*unused, *notes])) or "the target is the only column"
        raise DataError(f"{file}: no column to learn from: {why}")


def _about_split(own: OwnTable, rows: pa.Table, table: pa.Table) -> str:
    gaps = table[own.by].null_count if own.by else 0
    lost = f"; {gaps:,} rows without {own.by!r} are left out" if gaps else ""
    judged = pc.sum(pc.equal(rows[own.fold], FOLDS - 1)).as_py()
    return f"{judged:,} rows, {own.judged}{lost}"
