"""The data of your own task: the columns of your table, and a fold number for each row.

They are stored as Parquet, with a fingerprint of the file and of all options, so that they are
created again when one of the two has changed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline.errors import ConfigError, DataError, pick
from pipeline.files.files import table_files
from pipeline.files.read import read_arrow
from pipeline.files.table_format import TableFormat
from pipeline.system import atomic
from pipeline.table.arrow_types import is_text, usable
from pipeline.task.folds import splitter_of
from pipeline.task.own.own_target import FEWEST, Target, read_target
from pipeline.task.own.roles import role_of_type
from pipeline.task.task import Split

SPLITS = ("random", "time", "groups")
FOLDS = 4
_KEY = b"pipeline.own_table/1"


@dataclass(frozen=True, kw_only=True)
class OwnTable:
    """How the data of a task are created from a table."""

    name: str
    """Name of the task; the data are stored below this folder."""
    file: str
    """Path of a file, or of a folder of files."""
    target: str
    """The column to predict."""
    kind: str
    """binary, multiclass or regression."""
    read: TableFormat = field(default_factory=TableFormat)
    """How the file is read."""
    min_rows: int = FEWEST
    """Smallest number of rows of a class; smaller classes are left out."""
    split: str = "random"
    """Test rows: "random", a quarter of each class; "time", the latest by the column `by`, from
    `cut` on; or "groups", those of a quarter of the groups in the column `by`."""
    by: str = ""
    cut: str | float | None = None
    """By default, the start of the latest quarter."""
    fold: str = "fold"
    """Name of the added column with the fold, of which the last is the test."""
    row: str = "row"
    """Name of the added column with the row in the file."""

    def __post_init__(self) -> None:
        pick(self.split, SPLITS, f"split of {self.name}:")

    def path(self, home: Path) -> Path:
        """Return where the data are."""
        return home / self.name / f"{self.name}.parquet"

    def prepare(self, home: Path) -> Path:
        """Return the data as Parquet; create them again if the file or an option has changed.

        `DataError` says that the file is missing and there are no matching data.
        """
        path, file = self.path(home), Path(self.file)
        kept = _kept(path)
        if file.exists():
            if kept != self._fingerprint(file):
                self.store(self.stored(read_arrow(file, self.read))[0], path)
        elif kept.get("choices") != self._choices():
            raise DataError(
                f"{file}: no such file or folder, and {path} was created with other options; "
                "restore the file, or correct its path in the task"
            )
        return path

    def stored(self, table: pa.Table) -> tuple[pa.Table, Target]:
        """Return a table as it is kept, and what its target is."""
        target = read_target(
            self.target, table[pick(self.target, table.column_names, "column")],
            self.kind, min_rows=self.min_rows,
        )  # fmt: skip
        known = pc.is_valid(target.values)
        if (split := self.split) != "random":
            if not self.by:
                raise ConfigError(f"--split {split} needs --by, the column with the {split}")
            by = pick(self.by, table.column_names, "column")
            known = pc.and_(known, pc.is_valid(table[by]))
        columns: dict[str, Any] = {
            each.name: to_store(table[each.name])
            for each in table.schema
            if pa.types.is_null(each.type) or role_of_type(each.name, each.type, self.read)
        }
        columns[self.target] = target.values
        columns[self.row] = pa.array(np.arange(len(table)))
        rows = pa.table(columns).filter(known)
        folds = self._folds(rows, target)
        return rows.append_column(self.fold, pa.array(folds.astype("uint8"))), target

    @property
    def judged(self) -> str:
        """Description of the test rows."""
        return {
            "random": "a random quarter (of each class, if there are classes)",
            "time": f"those with {self.by!r} from {self.cut} on",
            "groups": f"those of about a quarter of the groups in {self.by!r}",
        }[self.split]

    def splits(self) -> dict[str, Split]:
        """Return the one split."""
        rows = [(self.fold, "<", FOLDS - 1)], [(self.fold, "==", FOLDS - 1)]
        time, groups = (self.by if self.split == each else "" for each in ("time", "groups"))
        return {self.split: Split(*rows, f"test rows: {self.judged}", time, groups)}

    def store(self, rows: pa.Table, path: Path) -> None:
        """Write the data."""
        mark = json.dumps(self._fingerprint(Path(self.file))).encode()
        meta = {**(rows.schema.metadata or {}), _KEY: mark}
        sink = pa.BufferOutputStream()
        pq.write_table(rows.replace_schema_metadata(meta), sink, write_page_checksum=True)
        atomic.write_bytes(path, sink.getvalue())

    def _choices(self) -> str:
        asdict = msgspec.structs.asdict
        columns = sorted((name, str(type(f)), asdict(f)) for name, f in self.read.columns.items())
        read: Any = {**asdict(self.read), "columns": columns}
        return atomic.sha256(repr(replace(self, file="", read=read)).encode())

    def _fingerprint(self, file: Path) -> dict[str, Any]:
        """Return what the data depend on: choices, and the size and age of each file."""
        each = [path.stat() for path in table_files(file)]
        return {
            "choices": self._choices(),
            "seen": [[about.st_size, about.st_mtime_ns] for about in each],
        }

    def _folds(self, rows: pa.Table, target: Target) -> np.ndarray:
        if self.split == "time":
            return self._by_time(rows)
        y, groups = rows[self.target].to_numpy(), None
        if self.split == "groups":
            groups = rows[self.by].combine_chunks().dictionary_encode().indices.to_numpy()
            found = len(np.unique(groups))
            if found < FOLDS:
                said = f"{self.by!r} has {found} groups, not {FOLDS} or more"
                raise DataError(f"--split groups: {said}; choose another --by")
        splitter = splitter_of(target.kind, self.by if self.split == "groups" else "", FOLDS, 0)
        folds = np.empty(len(y), dtype="uint8")
        for number, (_, test) in enumerate(splitter.split(y, y, groups)):
            folds[test] = FOLDS - 1 - number
        return folds

    def _by_time(self, rows: pa.Table) -> np.ndarray:
        times = rows[self.by].to_pandas()
        late = (times >= cut_of(self.by, times, self.cut)).to_numpy()
        if late.all() or not late.any():
            raise DataError(
                f"--split time: no row is {'before' if late.all() else 'after'} cut={self.cut} in "
                f"{self.by!r}, which goes from {times.min()} to {times.max()}; choose another "
                "--by, or change cut= in the task"
            )
        return np.where(late, FOLDS - 1, 0)


def cut_of(by: str, times: pd.Series, cut: str | float | None) -> Any:
    """Return where a column is cut: at a time as ISO writes it, a number, or its last quarter.

    `ConfigError` says that it does not hold times or numbers, or that the cut is not one of them.
    """
    dated = times.dtype.kind == "M" or isinstance(times.dtype, pd.DatetimeTZDtype)
    if not dated and times.dtype.kind not in "iuf":
        raise ConfigError(f"--split time --by {by}: the column must hold dates or numbers")
    if cut is None:
        return times.sort_values().iloc[len(times) - len(times) // FOLDS]
    try:
        found: Any = pd.to_datetime(str(cut), format="ISO8601") if dated else float(cut)
    except ValueError as error:
        wanted = "a date such as 2024-01-31" if dated else "a number such as 12.5"
        raise ConfigError(f"cut={cut!r}: must be {wanted}, as in {by!r}") from error
    zone = getattr(times.dtype, "tz", None)
    if dated and found.tzinfo and not zone:
        raise ConfigError(f"cut={cut!r}: {by!r} has no time zone; remove it")
    return found.tz_localize(zone) if dated and zone and found.tzinfo is None else found


def to_store(values: pa.ChunkedArray) -> Any:
    """Return a column as every reader of Parquet gives it alike.

    Numbers are finite, dates are moments, and texts that come again are coded.
    """
    values = usable(values)
    kind = values.type
    if pa.types.is_decimal(kind) or (pa.types.is_boolean(kind) and values.null_count):
        return values.cast("float64", safe=False)
    if pa.types.is_date(kind):
        return values.cast("timestamp[ms]")
    if not is_text(kind):
        return values
    texts = values.cast("string").combine_chunks()
    coded = texts.dictionary_encode()
    return coded if 2 * len(coded.dictionary) <= len(texts) else texts


def _kept(path: Path) -> dict[str, Any]:
    """Return the fingerprint of data that are there; nothing where there are none."""
    try:
        metadata = pq.read_schema(path).metadata or {}
    except (OSError, pa.ArrowException):
        return {}
    found: dict[str, Any] = json.loads(metadata.get(_KEY, b"{}"))
    return found
