"""A batch run: train each pipeline of a task once, judge it, keep everything in one folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.benchmark.compare import record_of
from pipeline.benchmark.judge import doubts
from pipeline.benchmark.record import provenance
from pipeline.benchmark.record.results import FilePart, Protocol, Results, Variant, dumps
from pipeline.benchmark.run import measure
from pipeline.benchmark.run.beforehand import before_runs
from pipeline.benchmark.run.measure import Outcome
from pipeline.benchmark.run.rounds import CellRuns
from pipeline.benchmark.run.variants import VARIANTS
from pipeline.benchmark.run.worker import measured
from pipeline.data import files, parquet, partitioned
from pipeline.data.drift import fit_profiles
from pipeline.data.schema import Schema
from pipeline.estimator.accelerated import Accelerated
from pipeline.serving import manifest
from pipeline.serving.save import About, pack
from pipeline.system import environment
from pipeline.system.progress import Say
from pipeline.task import metrics, truth
from pipeline.task.faults import explained
from pipeline.task.numerals import beside_dummy
from pipeline.task.task import CLOCK, Job, Task


def cautions_of(record: Results) -> list[str]:
    """Return what is to be known before a score is believed: of the table, and of the scores."""
    return doubts.with_doubts(record, [(cell.pipeline, cell.metrics) for cell in record.cells])


@dataclass(frozen=True)
class PredictedBatch:
    """What to run: a comparison of one variant, in this process, whose models are kept.

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

    def run(self, folder: Path, say: Say) -> Results:
        """Run every pipeline; write models, predictions and ``results.json`` into a folder.

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
        entries: dict[str, Variant] = {}
        cells = [self._one(name, folder, say, baseline, entries) for name in self.pipelines]
        plan = Protocol(
            seed=self.job.seed, repeats=1, warmups=0, clock=CLOCK, isolation="one process",
            order=[f"{runs.pipeline}/{runs.variant}" for runs in cells],
        )  # fmt: skip
        record = record_of(
            self.task,
            self.job,
            cells,
            load,
            protocol=plan,
            source=environment.source(self.command),
            variants=[*entries.values()],
            cautions=noted,
            baseline=baseline,
            scoring=scoring,
        )
        (folder / "results.json").write_bytes(dumps(record))
        return record

    def _one(
        self,
        name: str,
        folder: Path,
        say: Say,
        baseline: dict[str, float],
        entries: dict[str, Variant],
    ) -> CellRuns:
        """Run a pipeline and save it; add the variant that the device was to `entries`."""
        say(f"{name}: reading, training, predicting")
        kept = self.job.checkpoint and self.job.checkpoint / name
        with explained(f"{self.task.name}: the pipeline {name!r}"):
            outcome, report = measured(self.task, replace(self.job, pipeline=name, checkpoint=kept))
        if outcome.reading and outcome.reading.how != "in memory":
            say(f"{name}: {outcome.reading}")
        model, values = outcome.model, report.metrics
        said = "; ".join(beside_dummy(key, value, baseline) for key, value in values.items())
        say(f"{name}: {said}; {outcome.total:.2f} s on {model.device_}")
        (entry,) = (each for each in VARIANTS if each.name == model.device_)
        entries[entry.name] = msgspec.structs.replace(entry, why=model.device_why_)
        parts = {
            "model": save_model(self.task, self.job, outcome, values, folder / f"{name}.model"),
            "predictions": self._save_predictions(outcome, folder, name),
        }
        return CellRuns(name, entry.name, kind=self.task.kind, reports=[report], files=parts)

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
