"""Predictions for a file of rows: streamed, in order, all of them or none.

Each batch becomes a part beside the result. A run that was ended goes on after the last
whole part, if model, input and settings are the same; the parts become one file, and that
takes its name, in the last step.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
import numpy as np
import pandas as pd
import pyarrow as pa

from pipeline import drift, frames, parts
from pipeline.batches import Source
from pipeline.drift import Counted, Drift
from pipeline.errors import ConfigError, DataError
from pipeline.estimator import Accelerated
from pipeline.ingest import from_arrow
from pipeline.intake import Documents, Rows
from pipeline.parts import Part
from pipeline.progress import Say
from pipeline.saving import load, manifest

SCHEMA: Final = "pipeline.prediction/1"
ROWS: Final = 131_072
"""Rows of a batch: 20 columns of float64 are 20 MiB."""
METHODS = ("predict_proba", "predict", "transform", "decision_function", "score_samples")


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is said of the predictions, in the metadata of their file and beside it."""

    schema: Literal["pipeline.prediction/1"]
    created: str
    model: str
    model_sha256: str
    """Of the model's list of sums, and so of all of it."""
    input: str
    input_bytes: int
    rows: int
    method: str
    classes: list[str] | None
    device: str
    seconds: float
    """Wall time of this run; of a run that went on, without the time before."""
    batches: int
    batches_before: int
    """Batches that an earlier, ended run had made."""
    not_read: list[str]
    """Columns of the input that the model was not fitted on."""
    casts: list[str]
    """Columns whose type was changed, which no value is."""
    columns: list[Drift]
    """Empty where the model was fitted without ``profile=True``."""


@dataclass(frozen=True)
class Job:
    """What to predict, and how.

    Parameters
    ----------
    model, source, target : Path
        The model's folder, a Parquet or CSV file, and the Parquet file to write.
    device : {"auto", "cpu", "cuda"}
    method : str, optional
        By default ``"predict_proba"``, ``"predict"`` or ``"transform"``, the first that
        the model has.
    keep : sequence of str
        Columns of the input to copy to the output.
    rows : int
        Of a batch.
    """

    model: Path
    source: Path
    target: Path
    device: str = "auto"
    method: str | None = None
    keep: Sequence[str] = field(default_factory=tuple)
    rows: int = ROWS

    def identity(self) -> str:
        """Return a hash that is the same for the same work on the same files."""
        stat = self.source.stat()
        facts = [
            str(self.source.resolve()),
            stat.st_size,
            stat.st_mtime_ns,
            _sums(self.model),
            self.device,
            self.method,
            list(self.keep),
            self.rows,
        ]
        return hashlib.sha256(msgspec.json.encode(facts)).hexdigest()


def run(job: Job, say: Say) -> Record:
    """Write the predictions and their record.

    Parameters
    ----------
    job : Job
    say : callable
        Gets a line of text for every batch.

    Raises
    ------
    DataError
        A file is damaged, or does not fit the model.
    ConfigError
        The model has no such method, or the input no such column.
    Busy
        Another process writes the same predictions.
    CannotWrite
        The disk is full, or the folder read-only.
    """
    if not job.source.is_file():
        raise DataError(f"{job.source}: no such file")
    start = time.perf_counter()
    batch = Predictor(job)
    with parts.parts_of(job.target, job.identity()) as folder:
        before = len(parts.done(folder))
        batch.make(folder, say)
        record = batch.record(folder, before, time.perf_counter() - start)
        text = msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n"
        parts.publish(folder, job.target, SCHEMA, text)
    return record


def batches(job: Job) -> int:
    """Return the number of batches there will be; 0 where that is not known beforehand."""
    rows = Source(job.source, None, {}).rows()
    return 0 if rows is None else -(-rows // job.rows)


class Predictor:
    """A model, and how its input is read and its output written."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.model: Accelerated = load(job.model, job.device)
        self.method = self._method()
        taken = self.model._intake
        columns = taken.schema.columns if isinstance(taken, Rows) else None
        kinds = {str(name): column.kind for name, column in (columns or {}).items()}
        whole = Source(job.source, None, kinds)
        self.there, self.index = whole.names(), whole.index()
        unknown = [name for name in job.keep if name not in self.there]
        if unknown:
            raise ConfigError(f"{job.source}: has no columns {unknown} to keep")
        self.copied = list(dict.fromkeys([*self.index, *job.keep]))
        self.features = list(kinds) if columns is not None else self._unnamed()
        self.source = Source(job.source, [*self.features, *self.copied], kinds)

    def _unnamed(self) -> list[str]:
        return [name for name in self.there if name not in self.copied]

    def _method(self) -> str:
        if self.job.method is None:
            return next(name for name in METHODS if hasattr(self.model, name))
        if self.job.method not in METHODS or not hasattr(self.model, self.job.method):
            has = [name for name in METHODS if hasattr(self.model, name)]
            raise ConfigError(f"the model has no {self.job.method!r}; there are {', '.join(has)}")
        return self.job.method

    def make(self, folder: Path, say: Say) -> None:
        """Make the parts that are not there yet."""
        done = parts.done(folder)
        total = self.source.rows()
        seen = sum(part.rows for part in done)
        of = f" of {total:,}" if total is not None else ""
        for _ in done:
            say("made by an earlier run")
        for number, table in enumerate(self.source.tables(self.job.rows, seen), len(done)):
            part, made = self._batch(table, seen)
            parts.write(folder, number, part, made)
            seen += part.rows
            say(f"{seen:,} rows{of}")
        if not seen:
            raise DataError(f"{self.job.source}: has no rows")

    def _batch(self, table: pa.Table, start: int) -> tuple[Part, pa.Table]:
        X = self._rows(table)
        try:
            taken = self.model._intake.take(X)
            counted, casts = self._compared(X, taken)
            made = getattr(self.model, self.method)(taken)
        except DataError as error:
            raise DataError(
                f"{self.job.source}: {error} (rows are counted from row {start:,} of the file)"
            ) from error
        copied = {name: table[name] for name in self.copied}
        output = pa.table({**copied, **self._columns(made)})
        return Part(rows=len(table), counted=counted, casts=casts), self._indexed(output)

    def _indexed(self, output: pa.Table) -> pa.Table:
        """Return a table that pandas reads with the index of the input."""
        if not self.index:
            return output
        frame = output.to_pandas().set_index(self.index)
        # What pandas calls an index without a name, in a file.
        unnamed = re.compile(r"__index_level_\d+__")
        frame.index.names = [None if unnamed.fullmatch(name) else name for name in self.index]
        return pa.Table.from_pandas(frame)

    def _rows(self, table: pa.Table) -> Any:
        there = [name for name in self.features if name in table.column_names]
        if isinstance(self.model._intake, Documents):
            if len(there) != 1:
                raise ConfigError(
                    f"{self.job.source}: the model reads one column of text and there are {there}"
                )
            return table[there[0]].to_pandas()
        X = from_arrow(table.select(there).replace_schema_metadata(None))
        names = self.model._intake.names
        if names is not None:
            X.columns = pd.Index([n for n in names if str(n) in there], tupleize_cols=False)
        return X if names is not None else frames.matrix(X)

    def _compared(self, X: Any, taken: Any) -> tuple[dict[str, Counted], list[str]]:
        """Return what the batch holds, and what its columns were changed to."""
        if not isinstance(self.model._intake, Rows):
            return {}, []
        counted = drift.count(self.model._intake.read(taken), self.model.profile_)
        pairs = zip(X.dtypes, taken.dtypes, X.columns, strict=True) if frames.is_frame(X) else ()
        casts = [f"{n}: {was} became {now}" for was, now, n in pairs if str(was) != str(now)]
        return counted, casts

    @cached_property
    def classes(self) -> list[str] | None:
        """The labels as text, for classifiers."""
        found = getattr(self.model, "classes_", None)
        return None if found is None or isinstance(found, list) else [str(each) for each in found]

    def _columns(self, made: Any) -> dict[str, Any]:
        """Return the columns of the output by name."""
        made = np.asarray(made.toarray() if frames.is_sparse(made) else made)
        if made.ndim == 1:
            what = "prediction" if self.method == "predict" else self.method
            return {what: pa.array(made)}
        if self.method == "predict_proba" and self.classes and made.shape[1] == 2:
            return {"probability": pa.array(made[:, 1])}
        return dict(zip(self._names(made.shape[1]), map(pa.array, made.T), strict=True))

    def _names(self, width: int) -> list[str]:
        if self.method == "transform" and hasattr(self.model, "get_feature_names_out"):
            return [str(name) for name in self.model.get_feature_names_out()]
        if self.classes and len(self.classes) == width:
            return [f"probability_{label}" for label in self.classes]
        return [f"{self.method}_{j}" for j in range(width)]

    def record(self, folder: Path, before: int, seconds: float) -> Record:
        """Return what is said of all parts."""
        made = parts.done(folder)
        counted = made[0].counted
        for part in made[1:]:
            for name, more in part.counted.items():
                counted[name].add(more)
        read = {*self.features, *self.copied}
        return Record(
            schema=SCHEMA,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            model=str(self.job.model),
            model_sha256=_sums(self.job.model),
            input=str(self.job.source),
            input_bytes=self.job.source.stat().st_size,
            rows=sum(part.rows for part in made),
            method=self.method,
            classes=self.classes,
            device=self.model.device_,
            seconds=seconds,
            batches=len(made),
            batches_before=before,
            not_read=[name for name in self.there if name not in read],
            casts=sorted({cast for part in made for cast in part.casts}),
            columns=drift.drift(self.model.profile_, counted),
        )


def _sums(model: Path) -> str:
    path = model / manifest.SUMS
    return manifest.sha256(path.read_bytes()) if path.is_file() else ""
