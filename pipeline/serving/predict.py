"""Predictions for a file of rows: streamed, in order, all of them or none.

They are written to a draft, which replaces the old result in the last step. A run that was
terminated leaves the old result, and the next run starts from the beginning.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from itertools import starmap
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import msgspec
import numpy as np
import pandas as pd
import pyarrow as pa

from pipeline.distributed import ordered_map
from pipeline.distributed.cluster import active
from pipeline.errors import ConfigError, DataError, OutOfMemory, OutputError
from pipeline.files.csv import MISSING
from pipeline.files.opened import TableStream, copy_of, open_sources
from pipeline.files.read import row_count
from pipeline.model.accelerated import Accelerated
from pipeline.model.as_given import GivenInput
from pipeline.model.inputs import TextInput
from pipeline.records import dumps
from pipeline.serving import manifest, outputs
from pipeline.serving.answers import Question, unique
from pipeline.serving.load import load
from pipeline.system.atomic import flush, locked, sha256, writing
from pipeline.system.progress import Say
from pipeline.system.threads import alone
from pipeline.table import drift, frames, partitioned
from pipeline.table.convert import from_arrow
from pipeline.table.drift import Difference
from pipeline.table.schema import Schema

SCHEMA: Final = "pipeline.prediction/4"
ROWS: Final = 131_072
"""Rows of a batch: 20 columns of float64 are 20 MiB."""
FILED: Final = "files store dense rows (a lower --rows needs less memory)"


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The record of predictions, in the metadata of their file and in a file beside it."""

    schema: Literal["pipeline.prediction/4"]
    created: str
    model: str
    model_sha256: str
    """Of the model's list of checksums, and so of all of the model."""
    input: str
    rows: int
    method: str
    classes: list[str] | None
    device: str
    seconds: float
    """Wall time."""
    batches: int
    not_read: list[str]
    """Columns of the input that the model was not fitted on."""
    columns: list[Difference]
    """Empty if the model was fitted without ``profile=True``."""
    cluster: str
    """The cluster whose workers predicted; empty if this process did."""
    output: str
    """The file of the predictions."""
    output_columns: list[str]
    cautions: list[str]
    """How the rows differ from the training rows, as far as is known."""


@dataclass(frozen=True)
class PredictionJob:
    """What to predict, and how, as `predict_file` takes it; `keep` are the columns to copy."""

    model: Path
    source: Path
    target: Path
    device: str = "auto"
    method: str | None = None
    keep: Sequence[str] = field(default_factory=tuple)
    rows: int = ROWS

    def check(self) -> None:
        """Check that the files are there, and that none would be written over."""
        outputs.is_csv(self.target)
        if not self.source.exists():
            raise DataError(f"{self.source}: no such file; check the path")
        target = self.target.resolve()
        if not target.parent.is_dir():
            raise OutputError(
                f"{self.target}: the folder {target.parent} does not exist; create it, or write to "
                "another folder"
            )
        if target.exists() and target.samefile(self.source):
            raise ConfigError(f"{self.target}: is the input; choose another name for the output")
        for folder, whole in ((self.model, manifest.is_model), (self.source, Path.is_dir)):
            if folder.resolve() in target.parents and whole(folder):
                raise ConfigError(f"{self.target}: is inside {folder}; choose another folder")


def predict_file(
    model: str | Path,
    source: str | Path,
    target: str | Path,
    *,
    copy_columns: Sequence[str] = (),
    device: str = "auto",
    method: str | None = None,
    rows: int = ROWS,
    say: Say | None = None,
) -> Record:
    """Predict the rows of a file with a saved model; inside `pipeline.cluster`, on its workers.

    Parameters
    ----------
    model : str or Path
        Folder that `save` or ``.venv/bin/python -m pipeline run`` wrote.
    source : str or Path
        CSV, JSON lines, Parquet or Feather, or a folder of files in one of these formats; it is
        read in the same way as the file of the training rows.
    target : str or Path
        The file to write: CSV if its name ends in ``.csv``, and Parquet otherwise.
    copy_columns : sequence of str
        Columns of the source to copy; by default, the rows are numbered.
    device : {"auto", "cpu", "cuda"}
    method : str, optional
        The method to call; by default, the first of ``"predict_proba"``, ``"predict"`` and
        ``"transform"`` that the model has. By default, the class is written beside
        probabilities.
    rows : int
        Rows per batch.
    say : callable, optional
        Called with a line of text after every batch.

    Returns
    -------
    Record
        The record that is also written beside the file.

    Raises
    ------
    DataError
        A file is damaged, or does not fit the model.
    ConfigError
        The model has no such method, the input has no such column, or a file would be lost.
    OutOfMemory
        A batch is too large.
    OutputLocked
        Another process is writing the same predictions.
    WorkerLost
        A worker of the cluster was lost in every attempt at a batch.
    OutputError
        The disk is full, or the folder is read-only.

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
        raise ConfigError("predict_file needs a saved model; pass pipeline.save(model, path)")
    job = PredictionJob(Path(model), Path(source), Path(target), device, method, copy_columns, rows)
    record = run_job(job, say or (lambda text: None))
    for caution in record.cautions:
        warnings.warn(f"{source}: {caution}", UserWarning, stacklevel=2)
    return record


def run_job(job: PredictionJob, say: Say) -> Record:
    """Write the predictions and their record; `predict_file` documents the errors."""
    job.check()
    target = job.target.resolve()
    if target.is_dir():
        raise OutputError(f"{target}: is a folder; choose another name")
    draft, about = (target.with_name(f".{target.name}.{end}") for end in ("draft", "record"))
    beside = target.with_name(f"{target.name}.record.json")
    with writing(target), locked(target):
        try:
            record = Predictor(job).write(draft, say)
            about.write_bytes(dumps(record))
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


def batches(job: PredictionJob) -> int:
    """Return the number of batches there will be; 0 where that is not known beforehand."""
    return -(-(row_count(job.source) or 0) // job.rows)


class _Batch(NamedTuple):
    """The predictions of some rows, and what the record says of these."""

    output: pa.Table
    counted: dict[str, Difference]
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
        self.copied = list(dict.fromkeys([*self.index, *job.keep]))
        self.features = self._features()
        self._check_columns()
        self.source = TableStream(
            job.source, sources, self.features, self._kinds(), format, self.copied
        )
        if sources[0].kind == "csv":
            self._warn_of_lost_texts()

    def _warn_of_lost_texts(self) -> None:
        """Warn of texts at fit that are missing values in CSV, as far as a profile knows them."""
        format = self.model.table_format_
        columns = format.columns if format else {}
        lost = {}
        for name, learnt in self.model.profile_.items():
            marks = {*MISSING} - {*getattr(columns.get(name), "values", ())}
            if texts := sorted(marks & {*(learnt.values or ())}):
                lost[name] = texts
        if lost:
            warnings.warn(
                f"{self.job.source}: the model was fitted on the texts {lost}, which CSV files "
                "use for missing values; save the rows as Parquet",
                UserWarning,
                stacklevel=2,
            )

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
            raise ConfigError(f"{source}: has no columns {unknown} to copy; it has {there[:20]}")
        if known.isdisjoint(self.features):
            raise DataError(
                f"{source}: has none of the columns that the model was fitted on, "
                f"{self.features[:9]}; it has {there[:9]}"
            )
        lost = [name for name in self._read_by_steps() if name not in known]
        if lost and not isinstance(self.model.inputs_, GivenInput):  # which may do without
            raise DataError(
                f"{source}: lacks the columns {lost} that the model was fitted on; it has "
                f"{there[:20]}"
            )

    def _read_by_steps(self) -> list[str]:
        """Return the columns that some step reads, as far as that is known."""
        used = getattr(self.model.inputs_, "used", None)
        names = {*self.features} if used is None else {str(name) for name in used}
        return [name for name in self.features if name in names]

    def _kinds(self) -> dict[str, str]:
        """Return what the columns of a text file are read as."""
        taken = self.model.inputs_
        if taken.names is not None:
            return {**getattr(taken, "kinds", {})}
        known = {TextInput: "text", Schema: "number"}.get(type(taken), "")
        return dict.fromkeys(self.features, known)

    def write(self, draft: Path, say: Say) -> Record:
        """Write the predictions of all rows to a file, and return what is said of them."""
        with outputs.TableWriter(draft, self.job.target) as writer:
            record = self._write(writer, say)
            writer.finish(SCHEMA, dumps(record))
        return record

    def _write(self, writer: outputs.TableWriter, say: Say) -> Record:
        start, total = time.perf_counter(), row_count(self.job.source)
        size, cluster = self.job.rows, active()
        tables = enumerate(self.source.tables(size))
        placed = ((table, number * size) for number, table in tables)
        on_workers = partial(ordered_map.map_in_order, _predict_batch, self)
        predict = partial(starmap, self._batch) if cluster is None else on_workers
        of = f" of {total:,}" if total is not None else ""
        counted: dict[str, Difference] = {}
        valued: set[str] = set()
        rows = n_batches = 0
        for batch in predict(placed):
            writer.write(batch.output)
            for name, more in batch.counted.items():
                if (known := counted.setdefault(name, more)) is not more:
                    known.add(more)
            valued |= batch.valued
            rows, n_batches = rows + len(batch.output), n_batches + 1
            say(f"{rows:,} rows{of}")
        if not rows:
            raise DataError(f"{self.job.source}: has no rows; pass a file with rows")
        return Record(
            schema=SCHEMA,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            model=str(self.job.model),
            model_sha256=sha256((self.job.model / manifest.SUMS).read_bytes()),
            input=str(self.job.source),
            rows=rows,
            method=self.question.method,
            classes=self.question.classes,
            device=self.model.device_,
            seconds=time.perf_counter() - start,
            batches=n_batches,
            not_read=[name for name in self.there if name not in {*self.features, *self.copied}],
            columns=list(counted.values()),
            cluster="" if cluster is None else cluster.about,
            output=str(self.job.target),
            output_columns=writer.schema.names,
            cautions=[*drift.cautions(counted, self.model.profile_), *self._empty(valued)],
        )

    def _batch(self, table: pa.Table, start: int) -> _Batch:
        X, inputs, counted = self._rows(table), self.model.inputs_, {}
        try:
            taken = inputs.take(X)
            if isinstance(inputs, Schema):
                counted = drift.compare(inputs.read(taken), self.model.profile_)
            answers = self.question.columns(partial(self._ask, taken))
        except DataError as error:
            raise DataError(
                f"{self.job.source}: {error} (rows are counted from row {start:,} of the file)"
            ) from error
        # Which row it is, by columns that are copied or its number. In a file, pandas calls an
        # index without a name __index_level_0__.
        names = {"__index_level_0__": "index"}
        known = [(names.get(n, n), table[copy_of(n)]) for n in self.copied]
        known = known or [("row", np.arange(start, start + len(table)))]
        output = pa.table(unique([*known, *answers.items()]))
        valued = {name for name in table.column_names if table[name].null_count < len(table)}
        return _Batch(output, counted, valued)

    def _ask(self, taken: Any, method: str) -> Any:
        try:
            values = getattr(self.model, method)(taken)
        except OutOfMemory as error:
            raise OutOfMemory(f"{error}; or use smaller batches (--rows)") from error
        if not frames.is_sparse(values):
            return values
        # By columns, which Arrow takes over without a copy.
        return partitioned.densify(values, method, FILED, "F")

    def _rows(self, table: pa.Table) -> Any:
        names = {*table.column_names}
        there = [name for name in self.features if name in names]
        if isinstance(self.model.inputs_, TextInput):
            if len(there) != 1:
                wanted = self.model.inputs_.column or "text"
                raise ConfigError(
                    f"{self.job.source}: the model needs one column of text, but there are "
                    f"{there}; name it {wanted!r}, or drop the others"
                )
            return table[there[0]].to_pandas()
        X = from_arrow(table.select(there).replace_schema_metadata(None))
        of_fit = self.model.inputs_.names
        if of_fit is None:
            return frames.matrix(X)
        X.columns = pd.Index([n for n in of_fit if str(n) in names], tupleize_cols=False)
        return X

    def _empty(self, valued: set[str]) -> list[str]:
        """Return cautions of columns without any value, where no profile knows of them."""
        empty = {*self.there} - valued - {*self.model.profile_}
        return [
            f"{name!r}: no row has a value, so all are predicted as missing; check the data source"
            for name in self._read_by_steps()
            if name in empty
        ]


def _predict_batch(predictor: Predictor, table: pa.Table, start: int) -> _Batch:
    with alone():
        return predictor._batch(table, start)
