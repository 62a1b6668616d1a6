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
from pipeline.benchmark.record.results import FilePart, Protocol, Results, Variant, dumps
from pipeline.benchmark.run import measure
from pipeline.benchmark.run.beforehand import before_runs
from pipeline.benchmark.run.measure import Outcome
from pipeline.benchmark.run.rounds import CellRuns
from pipeline.benchmark.run.variants import VARIANTS
from pipeline.benchmark.run.worker import measured
from pipeline.files import files, parquet
from pipeline.serving import manifest
from pipeline.serving.save import About, pack
from pipeline.system import environment
from pipeline.system.progress import Say
from pipeline.table import partitioned
from pipeline.table.drift import fit_profiles
from pipeline.table.schema import Schema
from pipeline.task import metrics, truth
from pipeline.task.faults import explained
from pipeline.task.numerals import beside_dummy
from pipeline.task.task import CLOCK, Job, Task


@dataclass(frozen=True)
class PredictedBatch:
    """A comparison of one variant, the job's, in this process; the models are kept."""

    task: Task
    job: Job
    pipelines: Sequence[str]
    command: Sequence[str] = ()

    def run(self, folder: Path, say: Say) -> Results:
        """Run every pipeline; write models, predictions and ``results.json`` into an empty folder.

        `say` gets a line of text for every step.
        """
        measure.check(self.task, self.job, self.pipelines)
        load = environment.load_average()
        known = before_runs(self.task, self.job)
        entries: dict[str, Variant] = {}
        cells = [self._one(name, folder, say, known.baseline, entries) for name in self.pipelines]
        plan = Protocol(
            seed=self.job.seed, repeats=1, warmups=0, clock=CLOCK, isolation="one process",
            order=[f"{runs.pipeline}/{runs.variant}" for runs in cells],
        )  # fmt: skip
        record = record_of(self, cells, load, known, protocol=plan, variants=[*entries.values()])
        (folder / "results.json").write_bytes(dumps(record))
        return record

    def _one(
        self, name: str, folder: Path, say: Say, baseline: Any, entries: dict[str, Variant]
    ) -> CellRuns:
        """Run a pipeline and save it; add the variant that the device was to `entries`."""
        task, kept = self.task, self.job.checkpoint and self.job.checkpoint / name
        say(f"{name}: reading, training, predicting")
        with explained(f"{task.name}: the pipeline {name!r}"):
            outcome, report = measured(task, replace(self.job, pipeline=name, checkpoint=kept))
        if outcome.reading and outcome.reading.how != "in memory":
            say(f"{name}: {outcome.reading}")
        model, values = outcome.model, report.metrics
        said = "; ".join(beside_dummy(key, value, baseline) for key, value in values.items())
        say(f"{name}: {said}; {outcome.total:.2f} s on {model.device_}")
        (entry,) = (each for each in VARIANTS if each.name == model.device_)
        entries[entry.name] = msgspec.structs.replace(entry, why=model.device_why_)
        table = folder / f"{name}.predictions.parquet"
        columns = answer_columns(task, outcome, self.job)
        pq.write_table(pa.table(columns), table, write_page_checksum=True)
        parts = {
            "model": save_model(task, self.job, outcome, values, folder / f"{name}.model"),
            "predictions": _part(table, folder),
        }
        return CellRuns(name, entry.name, reports=[report], files=parts)


def save_model(
    task: Task, job: Job, outcome: Outcome, values: dict[str, float], folder: Path
) -> FilePart:
    """Save a fitted model, with the profile of its training rows if they fit in memory.

    `values` are the metrics of the run that fitted it. Returns the list of sums of the folder.
    """
    model = outcome.model
    fits = outcome.reading is None or outcome.reading.need <= partitioned.room("cpu")
    if fits and isinstance(model.inputs_, Schema):
        learnt = task.split(job.split)[1].train
        rows, _ = parquet.read_parquet(job.path, task.features, task.target, learnt, "cpu")
        model.profile_ = fit_profiles(model.inputs_.read(model.inputs_.take(rows)))
    about = About(values, files.digest(job.path), format=task.format)
    folder.mkdir()
    manifest.write_manifest(folder, *pack(model, about))
    return _part(folder / manifest.SUMS, folder.parent)


def answer_columns(task: Task, outcome: Outcome, job: Job) -> dict[str, Any]:
    """Return what is true of the test rows and what was predicted, as columns for a file."""
    columns = _columns(task, outcome)
    if name := task.row_id:  # the number of the row in the file that the data were made of
        tested = task.split(job.split)[1].test
        _, known = parquet.read_parquet(job.path, [], [name], tested, "cpu")
        columns = {"row": known[name]} | columns
    return columns


def _columns(task: Task, outcome: Outcome) -> dict[str, Any]:
    if task.kind == "binary":
        return _of_two(task, outcome)
    target, predicted = metrics.part(outcome.y_true, "target"), outcome.predicted
    if task.kind == "multiclass":
        names = pa.array(outcome.classes)
        decided = names.take(pa.array(metrics.part(predicted, "prediction")))
        matrix = metrics.part(predicted, "probability")
        chances = zip(outcome.classes, () if matrix is None else matrix.T, strict=False)
        named = {f"probability_{name}": chance for name, chance in chances}
        return {"truth": names.take(pa.array(target)), "prediction": decided, **named}
    query, places = metrics.part(outcome.y_true, "query"), metrics.part(predicted, "embedding")
    found = {"truth": target, "query": query, "prediction": metrics.part(predicted, "prediction")}
    found |= {f"embedding_{i}": each for i, each in enumerate(() if places is None else places.T)}
    return {name: values for name, values in found.items() if values is not None}


def _of_two(task: Task, outcome: Outcome) -> dict[str, Any]:
    """Return the columns of a binary task: with the names of its classes where it says which."""
    target: Any = metrics.part(outcome.y_true, "target")
    place = truth.place_of_positive(task, outcome.classes)
    chance: Any = metrics.part(outcome.predicted, "prediction")
    names = pa.array(outcome.classes[[1 - place, place]])
    columns = {"truth": names.take(pa.array(target))}
    if not hasattr(outcome.model, "predict_proba"):
        return columns | {"anomaly": chance}
    columns["prediction"] = names.take(pa.array(metrics.part(outcome.predicted, "decision")))
    if task.positive is None:
        return columns | {"probability": chance}
    chances = {place: chance, 1 - place: 1 - chance}
    return columns | {f"probability_{n}": chances[i] for i, n in enumerate(outcome.classes)}


def _part(path: Path, folder: Path) -> FilePart:
    name = path.relative_to(folder).as_posix()
    return FilePart(file=name, sha256=files.digest(path), bytes=path.stat().st_size)
