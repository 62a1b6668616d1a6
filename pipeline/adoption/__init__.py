"""A table of one's own made a task: its data as Parquet, its programs as a file to edit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from jinja2 import Environment, PackageLoader, StrictUndefined

from pipeline import publish
from pipeline.adoption.columns import Columns, counts
from pipeline.adoption.reading import read
from pipeline.adoption.targets import Target, target
from pipeline.errors import ConfigError, DataError
from pipeline.task import FOLDER, pick

__all__ = ["Adopted", "adopt", "stored"]

FOLD, TARGET = "(fold)", "(target)"
"""Columns that are added; no table has them by chance."""
LEAST_ROWS = 100


@dataclass(frozen=True)
class Adopted:
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
        kept, found = f"{self.rows:,} of {self.all_rows:,} rows", self.columns
        yield f"{self.file}: {kept}; {self.label!r} is predicted ({self.target.kind})"
        if self.target.classes:
            yield "  classes: " + ", ".join(map(repr, self.target.classes))
        if self.target.left_out:
            yield "  too rare, left out: " + ", ".join(map(repr, self.target.left_out))
        dated = sum(found.dates.values(), [])
        yield from _listed("numbers", [n for n in found.numbers if n not in dated])
        yield from _listed("dates, by their parts", list(found.dates))
        yield from _listed("categories of few values", found.few)
        yield from _listed("categories of many values", found.many)
        yield from (f"  not used: {name!r} {why}" for name, why in found.unused.items())
        yield f"data: {self.data}"
        yield f"task: {self.task}, yours to change"
        yield f"next: make report TASK={self.name}"


def _listed(what: str, names: list[str]) -> Iterator[str]:
    if names:
        yield f"  {what}: " + ", ".join(map(repr, names))


def adopt(file: Path, label: str, home: Path, name: str = "") -> Adopted:
    """Write a table's usable columns as Parquet and a task with programs for them.

    Parameters
    ----------
    file : Path
        CSV with a header, or Parquet.
    label : str
        The column to predict.
    home : Path
        Folder of the data; the table goes to ``home/<name>``.
    name : str, optional
        Of the task; by default after the file.

    Raises
    ------
    ConfigError
        There is no such column, or a task of this name.
    DataError
        The table cannot be read, or nothing can be learnt from it.
    """
    name = _free(name or _identifier(file.stem), home)
    table = read(file)
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
    made = Adopted(
        name, file.name, label, len(rows), len(table), columns, asked, data, FOLDER / f"{name}.py"
    )
    publish.write_text(made.task, _program(made, answers))
    return made


def stored(home: Path, name: str) -> Path:
    """Return the Parquet file of an adopted table.

    Raises
    ------
    DataError
        It is not below `home`.
    """
    path = home / name / f"{name}.parquet"
    if not path.exists():
        raise DataError(f"{path}: no such file; make it with `python -m pipeline adopt`")
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
    with publish.publishing(folder) as draft:
        pq.write_table(table, draft / f"{folder.name}.parquet", write_page_checksum=True)
    return folder / f"{folder.name}.parquet"


def _program(made: Adopted, answers: pa.Array) -> str:
    environment = Environment(
        loader=PackageLoader("pipeline"), undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    environment.filters["repr"] = repr
    spread = pc.stddev(pc.cast(answers, "float64")).as_py()
    template = environment.get_template("task.py.j2")
    return template.render(made=made, margin=float(f"{spread / 100:.1g}"), FOLD=FOLD, TARGET=TARGET)
