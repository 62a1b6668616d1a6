"""Predictions for a file of rows: streamed, in order, all of them or none.

They are written beside the result, which they replace in the last step. A run that was terminated
leaves the old result, and the next one begins anew.
"""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
import pandas as pd
import pyarrow as pa

from pipeline.data import drift, frames, partitioned
from pipeline.data.convert import from_arrow
from pipeline.data.drift import Difference
from pipeline.data.opened import TableStream, copy_of, open_sources
from pipeline.data.scan import row_count
from pipeline.data.schema import Schema
from pipeline.distributed import ordered_map
from pipeline.distributed.cluster import active
from pipeline.errors import ConfigError, DataError, OutOfMemory, OutputError
from pipeline.estimator.accelerated import Accelerated
from pipeline.estimator.as_given import GivenInput
from pipeline.estimator.inputs import TextInput
from pipeline.serving import outputs
from pipeline.serving.answers import METHODS, Question, unique
from pipeline.serving.job import (
    ROWS,
    SCHEMA,
    PredictionJob,
    Record,
    check_empty,
    files_of,
    sums,
    warn_of_marks,
    warn_of_names,
)
from pipeline.serving.load import load
from pipeline.system.atomic import flush, locked, writing
from pipeline.system.devices import release_memory
from pipeline.system.progress import Say
from pipeline.system.threads import alone
from pipeline.typing import Table

__all__ = [
    "METHODS",
    "ROWS",
    "SCHEMA",
    "PredictionJob",
    "Predictor",
    "Record",
    "batches",
    "predict_file",
    "run_job",
]

FEWEST: Final = 64
"""Rows below which a batch is not halved again for want of memory."""
_UNNAMED: Final = re.compile(r"^__index_level_0__$")
"""What pandas calls an index without a name, in a file."""
_KINDS: Final[Mapping[type, str]] = {TextInput: "text", Schema: "number"}
"""What a file without names at fit holds."""


def predict_file(
    model: str | Path,
    source: str | Path,
    target: str | Path,
    *,
    copy_columns: Sequence[str] = (),
    device: str = "auto",
    say: Say | None = None,
    **options: Any,
) -> Record:
    """Predict the rows of a file with a saved model; inside of `pipeline.cluster`, on its workers.

    Parameters
    ----------
    model : str or Path
        Folder that `save` or ``.venv/bin/python -m pipeline run`` made.
    source : str or Path
        CSV, JSON lines, Parquet, Feather, or a folder of one kind of them, read as the file of the
        training rows was.
    target : str or Path
        The file to write: CSV or JSON lines where its name says so, and Parquet otherwise.
    copy_columns : sequence of str
        Columns of the source to copy; without any, the rows are numbered.
    device : {"auto", "cpu", "cuda"}
    say : callable, optional
        Gets a line of text for every batch.
    **options
        Fields of `PredictionJob`: ``method``, ``rows``, ``allow_empty``, ``quote_formulas``.

    Returns
    -------
    Record
        What is kept beside the file too; a notebook shows a link to the file.

    Raises
    ------
    DataError
        A file is damaged, or does not fit the model, or a column has lost all its values.
    ConfigError
        The model has no such method, or the input no such column; or a file would be lost.
    OutOfMemory
        Even a few rows are too many.
    OutputLocked
        Another process writes the same predictions.
    WorkerLost
        A worker of the cluster was lost in every attempt at a batch.
    OutputError
        The disk is full, or the folder read-only.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import pandas as pd
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from pipeline import Accelerated, predict_file, save
    >>> X = pd.DataFrame({"length": [1.0, 2.0, 8.0, 9.0]})
    >>> tree = Accelerated(DecisionTreeClassifier(), "cpu").fit(X, ["cat", "cat", "dog", "dog"])
    >>> with tempfile.TemporaryDirectory() as home:
    ...     folder = pathlib.Path(home)
    ...     X.to_csv(folder / "new.csv", index=False)
    ...     model = save(tree, folder / "pets.model")
    ...     record = predict_file(model, folder / "new.csv", folder / "pets.csv")
    ...     print((folder / "pets.csv").read_text().rstrip())
    "row","prediction","probability_cat","probability_dog"
    0,"cat",1,0
    1,"cat",1,0
    2,"dog",0,1
    3,"dog",0,1
    """
    if isinstance(model, Accelerated):
        raise ConfigError("predict_file takes a saved model; pass pipeline.save(model, path)")
    job = PredictionJob(
        Path(model), Path(source), Path(target), device, keep=copy_columns, **options
    )
    record = run_job(job, say or (lambda text: None))
    for caution in record.cautions:
        warnings.warn(f"{source}: {caution}", UserWarning, stacklevel=2)
    return record


def run_job(job: PredictionJob, say: Say) -> Record:
    """Write the predictions and their record; `predict_file` says what is raised."""
    job.check()
    target = job.target.resolve()
    if target.is_dir():
        raise OutputError(f"{target}: a folder is in the way; choose another name")
    draft, about = (target.with_name(f".{target.name}.{end}") for end in ("draft", "record"))
    beside = target.with_name(f"{target.name}.record.json")
    with writing(target), locked(target):
        try:
            record = Predictor(job).write(draft, say)
            about.write_bytes(_as_text(record))
            flush(about)
            # Terminated here, the file has no record beside it, and never that of another file.
            beside.unlink(missing_ok=True)
            draft.replace(target)
            about.replace(beside)
            flush(target.parent)
        finally:
            draft.unlink(missing_ok=True)
            about.unlink(missing_ok=True)
    return record


def _as_text(record: Record) -> bytes:
    return msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n"


def batches(job: PredictionJob) -> int:
    """Return the number of batches there will be; 0 where that is not known beforehand."""
    rows = row_count(job.source)
    return 0 if rows is None else -(-rows // job.rows)


class _Batch(NamedTuple):
    """The predictions of some rows, and what the record says of these."""

    output: pa.Table
    counted: dict[str, Difference]
    casts: set[str]
    valued: set[str]
    """Columns of the input that hold any value."""


class Predictor:
    """A model, and how its input is read and its output written."""

    def __init__(self, job: PredictionJob) -> None:
        self.job = job
        self.model: Accelerated = load(job.model, job.device)
        try:
            self.question = Question.of(self.model, job.method)
        except ConfigError as error:
            raise ConfigError(f"{job.model}: {error}") from error
        format = self.model.table_format_
        sources = open_sources(job.source, format)
        self.there, self.index = sources[0].names, sources[0].index()
        is_csv = sources[0].kind == "csv"
        self.copied = list(dict.fromkeys([*self.index, *job.keep]))
        self.features = self._features()
        self._check_columns()
        self.source = TableStream(
            job.source, sources, self.features, self._kinds(), format, self.copied
        )
        if is_csv:
            warn_of_marks(job, self.model.profile_, format)
        warn_of_names(job, self.question.classes)

    def _features(self) -> list[str]:
        """Return the columns of the fit, or those that there are where these had no names."""
        taken = self.model.inputs_
        others = [name for name in self.there if name not in self.copied]
        if not isinstance(taken, TextInput):
            return [str(name) for name in taken.names or others]
        return [taken.column] if taken.column in self.there else others

    def _check_columns(self) -> None:
        source, there, known = self.job.source, self.there, {*self.there}
        if unknown := [name for name in self.job.keep if name not in there]:
            raise ConfigError(f"{source}: has no columns {unknown} to copy; there are {there[:20]}")
        if known.isdisjoint(self.features):
            raise DataError(
                f"{source}: has the columns {there[:9]} and none of those that the model reads, "
                f"{self.features[:9]}"
            )
        lost = [name for name in self._read_by_steps() if name not in known]
        if lost and not isinstance(self.model.inputs_, GivenInput):  # which may do without
            raise DataError(
                f"{source}: lacks the columns {lost} that the model was fitted on"
                f"{_alike(lost, there)}"
            )

    def _read_by_steps(self) -> list[str]:
        """Return the columns that some step reads, as far as that is known."""
        taken = self.model.inputs_
        used = taken.used if isinstance(taken, Schema) else None
        names = {*self.features} if used is None else {str(name) for name in used}
        return [name for name in self.features if name in names]

    def _kinds(self) -> dict[str, str]:
        """Return what the columns of a text file are read as."""
        taken = self.model.inputs_
        one = dict.fromkeys(self.features, _KINDS.get(type(taken), ""))
        return one if taken.names is None else {**getattr(taken, "kinds", {})}

    def write(self, draft: Path, say: Say) -> Record:
        """Write the predictions of all rows to a file, and return what is said of them."""
        quotes = self.job.quote_formulas
        with outputs.TableWriter(draft, self.job.target, quote_formulas=quotes) as writer:
            record = self._write(writer, say)
            check_empty(record, self.job, self.model.profile_)
            writer.finish(SCHEMA, _as_text(record))
        return record

    def _write(self, writer: outputs.TableWriter, say: Say) -> Record:
        start, total = time.perf_counter(), row_count(self.job.source)
        of = f" of {total:,}" if total is not None else ""
        counted: dict[str, Difference] = {}
        casts: set[str] = set()
        valued: set[str] = set()
        names: list[str] = []
        rows = n_batches = 0
        for batch in self._batches(self.source.tables(self.job.rows)):
            writer.write(batch.output)
            for name, more in batch.counted.items():
                if name in counted:
                    counted[name].add(more)
                else:
                    counted[name] = more
            casts |= batch.casts
            valued |= batch.valued
            names = batch.output.column_names
            rows, n_batches = rows + len(batch.output), n_batches + 1
            say(f"{rows:,} rows{of}")
        if not rows:
            raise DataError(f"{self.job.source}: has no rows")
        return Record(
            schema=SCHEMA,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            model=str(self.job.model),
            model_sha256=sums(self.job.model),
            input=str(self.job.source),
            input_bytes=sum(each.stat().st_size for each in files_of(self.job.source)),
            rows=rows,
            method=self.question.method,
            classes=self.question.classes,
            device=self.model.device_,
            seconds=time.perf_counter() - start,
            batches=n_batches,
            not_read=[name for name in self.there if name not in {*self.features, *self.copied}],
            casts=sorted(casts),
            columns=list(counted.values()),
            empty=[n for n in self._read_by_steps() if n in {*self.there} - valued],
            cluster=cluster.about if (cluster := active()) is not None else "",
            output=str(self.job.target),
            output_columns=names,
            cautions=drift.cautions(counted, self.model.profile_),
        )

    def _batches(self, tables: Iterable[pa.Table]) -> Iterator[_Batch]:
        """Yield what is predicted of each table in order, here or by the workers of the cluster."""
        placed = _with_starts(tables)
        if active() is not None:
            yield from ordered_map.map_in_order(_predict_batch, self, placed)
        else:
            for table, first in placed:
                yield self._batch(table, first)

    def _batch(self, table: pa.Table, start: int) -> _Batch:
        X = self._rows(table)
        try:
            taken = self.model.inputs_.take(X)
            counted, casts = self._compare(X, taken)
            answers = self.question.columns(partial(self._ask, taken))
        except DataError as error:
            raise DataError(
                f"{self.job.source}: {error} (rows are counted from row {start:,} of the file)"
            ) from error
        output = pa.table(unique([*self._identity(table, start), *answers.items()]))
        outputs.check_cells(self.job.target, output)
        valued = {name for name in table.column_names if table[name].null_count < len(table)}
        return _Batch(output, counted, casts, valued)

    def _identity(self, table: pa.Table, start: int) -> list[tuple[str, Any]]:
        """Return the columns that say which row it is: those that are copied, or its number."""
        if self.copied:
            return [(_UNNAMED.sub("index", n), table[copy_of(n)]) for n in self.copied]
        return [("row", np.arange(start, start + len(table)))]

    def _ask(self, taken: Any, method: str) -> Any:
        values = self._answer(taken, method)
        return self._dense(values, method) if frames.is_sparse(values) else values

    def _answer(self, taken: Any, method: str) -> Any:
        """Return what the model says of rows, by halves where memory runs out."""
        rows = taken.shape[0]
        try:
            return getattr(self.model, method)(taken)
        except OutOfMemory as error:
            if rows <= FEWEST:
                raise OutOfMemory(f"{error} (with {rows} rows at a time)") from error
        release_memory(self.model.device_)
        cut = rows // 2
        halves = (
            (taken.iloc[:cut], taken.iloc[cut:])
            if hasattr(taken, "iloc")
            else (taken[:cut], taken[cut:])
        )
        return partitioned.concatenate([self._answer(half, method) for half in halves])

    def _rows(self, table: pa.Table) -> Any:
        names = {*table.column_names}
        there = [name for name in self.features if name in names]
        if isinstance(self.model.inputs_, TextInput):
            if len(there) != 1:
                wanted = self.model.inputs_.column or "text"
                raise ConfigError(
                    f"{self.job.source}: the model reads one column of text and there are {there}; "
                    f"name it {wanted!r}, or leave the others out"
                )
            return table[there[0]].to_pandas()
        X = from_arrow(table.select(there).replace_schema_metadata(None))
        of_fit = self.model.inputs_.names
        if of_fit is None:
            return frames.matrix(X)
        X.columns = pd.Index([n for n in of_fit if str(n) in names], tupleize_cols=False)
        return X

    def _compare(self, X: Table, taken: Any) -> tuple[dict[str, Difference], set[str]]:
        """Return what the batch holds, and what its columns were changed to."""
        if not isinstance(self.model.inputs_, Schema):
            return {}, set()
        counted = drift.compare(self.model.inputs_.read(taken), self.model.profile_)
        pairs = zip(X.dtypes, taken.dtypes, X.columns, strict=True) if frames.is_frame(X) else ()
        casts = {f"{n}: {was} became {now}" for was, now, n in pairs if str(was) != str(now)}
        return counted, casts

    def _dense(self, values: Any, method: str) -> Any:
        """Return sparse rows with all their cells, as a Parquet file has them, where they fit."""
        rows, width = values.shape
        a_row, free = width * values.dtype.itemsize, partitioned.room("cpu")
        if partitioned.COPIES * rows * a_row > free:
            raise ConfigError(
                f"{method} makes {width:,} columns, of which a file holds every cell: "
                f"{rows:,} rows are {rows * a_row:,} bytes, and {partitioned.COPIES} times that is "
                f"needed: {free:,} are free; set rows (--rows) to at most "
                f"{free // (partitioned.COPIES * a_row):,}, or group rare categories "
                "(min_frequency, max_categories)"
            )
        return values.toarray(order="F")  # whose columns Arrow takes over without a copy


def _alike(lost: Sequence[str], there: Sequence[str]) -> str:
    """Return which columns may be meant by those that are not there.

    >>> _alike(["mass"], ["Mass ", "wing"])
    "; 'Mass ' may be 'mass': rename it"
    """
    plain = {name.strip().casefold(): name for name in there}
    pairs = {name: get_close_matches(name.strip().casefold(), plain, n=1) for name in lost}
    alike = [f"{plain[near[0]]!r} may be {name!r}" for name, near in pairs.items() if near]
    return f"; {', '.join(alike)}: rename it" if alike else ""


def _with_starts(tables: Iterable[pa.Table]) -> Iterator[tuple[pa.Table, int]]:
    """Yield each table and the number of its first row in the file."""
    start = 0
    for table in tables:
        yield table, start
        start += len(table)


def _predict_batch(predictor: Predictor, table: pa.Table, start: int) -> _Batch:
    with alone():
        return predictor._batch(table, start)
