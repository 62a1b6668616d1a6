"""A batch run: train each pipeline of a task once, judge it, keep everything in one folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.benchmark import measure, metrics, provenance, scores, truth
from pipeline.benchmark.beforehand import before_runs
from pipeline.benchmark.faults import explained
from pipeline.benchmark.measure import Outcome
from pipeline.benchmark.report.format import beside_dummy
from pipeline.benchmark.results import ScoringInfo
from pipeline.benchmark.task import Job, Task
from pipeline.data import files, parquet, partitioned
from pipeline.data.drift import fit_profiles
from pipeline.data.schema import Schema
from pipeline.estimator.accelerated import Accelerated
from pipeline.planning import source_code
from pipeline.planning.plan import placement_records
from pipeline.records import DataInfo, Machine, Movement, PlacementRecord, Source
from pipeline.serving import manifest
from pipeline.serving.save import About, pack
from pipeline.system import environment
from pipeline.system.progress import Say

SCHEMA: Final = "pipeline.run/2"


class FilePart(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file of the run folder."""

    file: str
    sha256: str
    bytes: int


class PipelineRun(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One pipeline: where it ran, how long, how well; seconds of wall time."""

    pipeline: str
    code: str
    device: str
    device_why: str
    rows_train: int
    rows_test: int
    total: float
    stages: dict[str, float]
    metrics: dict[str, float]
    placement: list[PlacementRecord]
    execution_log: list[Movement]
    model: FilePart
    """The list of sums of the folder that `pipeline.load` and ``predict`` take."""
    predictions: FilePart


class RunRecord(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``record.json``."""

    schema: Literal["pipeline.run/2"]
    created: str
    task: str
    split: str
    seed: int
    data: DataInfo
    machine: Machine
    source: Source
    pipelines: list[PipelineRun]
    cautions: list[str] = []
    """What is to be known of the table and its split before a score is believed."""
    baseline: dict[str, float] = {}
    """Metric -> the value of scikit-learn's dummy; see `pipeline.benchmark.results`."""
    scoring: ScoringInfo = ScoringInfo()


def cautions_of(record: RunRecord) -> list[str]:
    """Return what is to be known before a score is believed: of the table, and of the scores."""
    runs = [(r.pipeline, r.metrics, record.baseline, r.rows_test) for r in record.pipelines]
    return scores.with_doubts(record.cautions, runs, record.scoring)


@dataclass(frozen=True)
class PredictedBatch:
    """What to run.

    Parameters
    ----------
    task : Task
    job : Job
        Data, device (as the variant), seed, split and changed parameters.
    pipelines : sequence of str
    command : sequence of str
        The words of the command line that does the same.
    """

    task: Task
    job: Job
    pipelines: Sequence[str]
    command: Sequence[str] = ()

    @property
    def steps(self) -> int:
        """Number of lines that `run` will say."""
        return 2 * len(self.pipelines)

    def run(self, folder: Path, say: Say) -> RunRecord:
        """Run every pipeline; write models, predictions and ``record.json`` into a folder.

        Parameters
        ----------
        folder : Path
            Exists and is empty.
        say : callable
            Gets a line of text for every step.
        """
        measure.check(self.task, self.job, self.pipelines)
        load = environment.load_average()
        noted, baseline, scoring = before_runs(self.task, self.job)
        runs = [self._one(name, folder, say, baseline) for name in self.pipelines]
        record = RunRecord(
            schema=SCHEMA,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            task=self.task.name,
            split=self.task.split(self.job.split)[0],
            seed=self.job.seed,
            data=provenance.describe_data(self.task, self.job.path),
            machine=environment.machine(environment.threads(), load),
            source=environment.source(self.command),
            pipelines=runs,
            cautions=noted,
            baseline=baseline,
            scoring=scoring,
        )
        text = msgspec.json.format(msgspec.json.encode(record), indent=2)
        (folder / "record.json").write_bytes(text + b"\n")
        return record

    def _one(self, name: str, folder: Path, say: Say, baseline: dict[str, float]) -> PipelineRun:
        say(f"{name}: reading, training, predicting")
        pipeline = self.task.pipeline(name, self.job.seed, self.job.changes)
        kept = self.job.checkpoint and self.job.checkpoint / name
        with explained(f"{self.task.name}: the pipeline {name!r}"):
            outcome = measure.measure_once(
                self.task, pipeline, replace(self.job, pipeline=name, checkpoint=kept)
            )
        if outcome.reading and outcome.reading.how != "in memory":
            say(f"{name}: {outcome.reading}")
        values = measure.judge_outcome(self.task, outcome)
        said = "; ".join(beside_dummy(key, value, baseline) for key, value in values.items())
        say(f"{name}: {said}; {outcome.total:.2f} s on {outcome.model.device_}")
        return PipelineRun(
            pipeline=name,
            code=source_code.code(pipeline),
            device=outcome.model.device_,
            device_why=outcome.model.device_why_,
            rows_train=outcome.rows_train,
            rows_test=len(outcome.y_true),
            total=outcome.total,
            stages=outcome.stages,
            metrics=values,
            placement=placement_records(outcome.placements),
            execution_log=provenance.movements(outcome.execution_log),
            model=save_model(self.task, self.job, outcome, values, folder / f"{name}.model"),
            predictions=self._save_predictions(outcome, folder, name),
        )

    def _save_predictions(self, outcome: Outcome, folder: Path, name: str) -> FilePart:
        path = folder / f"{name}.predictions.parquet"
        columns = {**self._rows(), **answer_columns(self.task, outcome)}
        if "prediction" in columns and truth.decides_otherwise(outcome.model.estimator):
            if self.task.split(self.job.split)[1].folds:
                del columns["prediction"]  # The models of the folds, who would decide, are gone.
            else:
                columns["prediction"] = self._decide(outcome)
        pq.write_table(pa.table(columns), path, write_page_checksum=True)
        return _part(path)

    def _decide(self, outcome: Outcome) -> Any:
        """Return what `predict` says of the test rows, where the probabilities do not tell."""
        task, split = self.task, self.task.split(self.job.split)[1]
        X, _ = parquet.read_parquet(self.job.path, task.features, task.target, split.test, "cpu")
        return outcome.model.predict(X)

    def _rows(self) -> dict[str, Any]:
        """Return the numbers of the test rows in the file that the data were made of."""
        path, number = self.job.path, self.task.row_id
        if not number:
            return {}
        _, split = self.task.split(self.job.split)
        rows = [] if split.folds else split.test
        return {"row": parquet.read_parquet(path, [], [number], rows, "cpu")[1][number]}


def save_model(
    task: Task, job: Job, outcome: Outcome, values: dict[str, float], folder: Path
) -> FilePart:
    """Save a fitted model, with the profile of its training rows if they fit in memory.

    No clock sees that.

    Parameters
    ----------
    task : Task
    job : Job
    outcome : Outcome
        Of the run that fitted it.
    values : dict of str to float
        The metrics of that run.
    folder : Path
        Of the model; it is made.

    Returns
    -------
    FilePart
        The list of sums of the folder.
    """
    if outcome.reading is None or outcome.reading.need <= partitioned.room("cpu"):
        _profile(task, job, outcome.model)
    data = provenance.describe_data(task, job.path).sha256
    about = About(values, data, format=task.format)
    folder.mkdir()
    manifest.write_manifest(folder, *pack(outcome.model, about))
    sums = _part(folder / manifest.SUMS)
    return msgspec.structs.replace(sums, file=f"{folder.name}/{sums.file}")


def _profile(task: Task, job: Job, model: Accelerated) -> None:
    _, split = task.split(job.split)
    rows = [] if split.folds else split.train
    X, _ = parquet.read_parquet(job.path, task.features, task.target, rows, "cpu")
    if isinstance(model.inputs_, Schema):
        model.profile_ = fit_profiles(model.inputs_.read(model.inputs_.take(X)))


def answer_columns(task: Task, outcome: Outcome) -> dict[str, Any]:
    """Return what is true of the test rows and what was predicted, as columns for a file."""
    target, predicted = metrics.part(outcome.y_true, "target"), outcome.predicted
    if task.kind == "multiclass":
        names = pa.array(outcome.classes)
        answered = {"prediction": names.take(pa.array(metrics.part(predicted, "prediction")))}
        matrix = metrics.part(predicted, "probability")
        each = dict(zip(outcome.classes, () if matrix is None else matrix.T, strict=False))
        return {"truth": names.take(pa.array(target)), **answered, **_named(each)}
    if task.kind == "binary":
        return _of_two(task, outcome)
    fields = {"prediction": "prediction", "embedding": "embedding"}
    known = metrics.columns(outcome.y_true, {"target": "truth", "query": "query"})
    return known | metrics.columns(predicted, fields)


def _of_two(task: Task, outcome: Outcome) -> dict[str, Any]:
    """Return the columns of a binary task: with the names of its classes where it says which."""
    target: Any = metrics.part(outcome.y_true, "target")
    place = truth.place_of_positive(task, outcome.classes)
    chance: Any = metrics.part(outcome.predicted, "prediction")
    other, positive = outcome.classes[[1 - place, place]]
    names = pa.array(outcome.classes[[1 - place, place]])
    columns = {"truth": names.take(pa.array(target))}
    if not hasattr(outcome.model, "predict_proba"):
        return columns | {"anomaly": chance}
    # Of two that are as probable, scikit-learn takes the first.
    decided = chance > 0.5 if place else chance >= 0.5
    columns["prediction"] = names.take(pa.array(decided.astype("int8")))
    if task.positive is None:
        return columns | {"probability": chance}
    chances = {positive: chance, other: 1 - chance}
    return columns | _named({name: chances[name] for name in outcome.classes})


def _named(chances: dict[Any, Any]) -> dict[str, Any]:
    return {f"probability_{name}": chance for name, chance in chances.items()}


def _part(path: Path) -> FilePart:
    return FilePart(file=path.name, sha256=files.digest(path), bytes=path.stat().st_size)
