"""The runs of a comparison: a warm-up of each variant, then rounds in a random order."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import msgspec

from pipeline.benchmark.judge import agreement
from pipeline.benchmark.judge.diagnostics import diagnose
from pipeline.benchmark.judge.integrity import objection
from pipeline.benchmark.judge.statistics import REFERENCE, differences
from pipeline.benchmark.record import results
from pipeline.benchmark.record.results import FilePart
from pipeline.benchmark.run.resume import FinishedRuns
from pipeline.benchmark.run.worker import RunReport, WorkerFailed, WorkerProcess
from pipeline.compile.plan import placement_records
from pipeline.records import Movement
from pipeline.system.progress import Say
from pipeline.task import metrics
from pipeline.task.task import Job, Task

WARM_UP = "warm-up"


class Plan(NamedTuple):
    """How often variants run, and who is told of it."""

    repeats: int
    """Timed runs of each variant, after one warm-up."""
    seeds: int
    """Runs of the reference with other seeds."""
    finished: FinishedRuns
    say: Say


def run_rounds(
    plan: Plan, job: Job, names: Sequence[str], label: Sequence[str] = ()
) -> tuple[list[CellRuns], list[str]]:
    """Run a job's pipeline by all variants; what has failed once is not run again.

    The first of the `names` is the reference. `label` stands before the names of the pipeline and
    the variant in what is said and kept. Returns the runs, and ``"pipeline/variant"`` in the order
    of the timed ones.
    """
    order: list[str] = []
    with ExitStack() as stack:
        runners = [_Runner(plan, replace(job, variant=name), label, stack) for name in names]
        for runner in runners:
            runner.runs.warmup = runner.run(WARM_UP)
        # In an order that changes, a machine that grows slower or busier does so for all.
        shuffler, turn = random.Random(job.seed), list(runners)
        for number in range(1, plan.repeats + 1):
            shuffler.shuffle(turn)
            for runner in turn:
                if not runner.runs.why:
                    order.append(f"{job.pipeline}/{runner.runs.variant}")
                if report := runner.run(f"{number}/{plan.repeats}"):
                    runner.runs.reports.append(report)
        for seed in range(job.seed + 1, job.seed + 1 + plan.seeds):
            if report := runners[0].run(f"seed {seed}", seed=seed):
                runners[0].runs.seeds.append(report)
    cells = [runner.runs for runner in runners]
    if cells[0].is_reference:
        for runs in cells:
            for report in runs.reports:
                runs.why = runs.why or objection(report, cells[0].reports[-1])
    return cells, order


class _Runner:
    """Runs a variant when it is its turn, unless that run was made by an earlier command.

    The process starts with the first run that is left to do, and ends with the stack. If that run
    is not the warm-up, it warms up once more, which counts for nothing.
    """

    def __init__(self, plan: Plan, job: Job, label: Sequence[str], stack: ExitStack) -> None:
        self.runs = CellRuns(job.pipeline, job.variant)
        self._plan, self._job, self._stack = plan, job, stack
        self._name = (*label, job.pipeline, job.variant)
        self._worker: WorkerProcess | None = None

    def run(self, key: str, *, seed: int | None = None) -> RunReport | None:
        """Return the report of a run; None if it fails or an earlier one has."""
        finished, title = self._plan.finished, "  ".join((*self._name, key))
        if self.runs.why:
            return None
        if kept := finished.find(*self._name, key):
            return kept
        try:
            report = self._ready(key).run(seed)
        except WorkerFailed as error:
            if seed is None:
                self.runs.why = str(error)
            self._plan.say(f"{title} failed: {error}")
            return None
        finished.keep(report, *self._name, key)
        self._plan.say(f"{title}  {report.total:.2f} s")
        return report

    def _ready(self, key: str) -> WorkerProcess:
        if self._worker is None:
            self._worker = self._stack.enter_context(WorkerProcess(self._job))
            if key != WARM_UP:
                self._worker.run()
        return self._worker


@dataclass
class CellRuns:
    """The runs of one pipeline by one variant, of which a cell of the record is made."""

    pipeline: str
    variant: str
    why: str = ""
    """Why there are no more runs."""
    warmup: RunReport | None = None
    reports: list[RunReport] = field(default_factory=list)
    seeds: list[RunReport] = field(default_factory=list)
    """Runs of the reference with other seeds, not timed."""
    files: dict[str, FilePart] = field(default_factory=dict)
    """What was kept of the last run: ``"model"``, ``"predictions"``."""

    @property
    def is_reference(self) -> bool:
        """Whether the others can be held to it."""
        return self.variant == REFERENCE and bool(self.reports) and not self.why

    def cell(self, reference: RunReport | None, task: Task) -> results.Cell:
        """Return the record of all runs; the last one's predictions are judged."""
        every = [report for report in (self.warmup, *self.reports) if report]
        last = every[-1] if every else None
        log = last.execution_log if last else []
        ok = None if self.why else last
        rival = None if reference is ok else reference
        found: dict[str, Any] = {"metrics": {}, "agreement": None, **self.files}
        if ok:
            program = task.pipelines[self.pipeline](0)
            found["metrics"] = ok.metrics
            found["diagnostics"] = diagnose(ok.y_true, ok.predicted, task.kind, ok.classes, program)
        if ok and rival:
            found["agreement"] = agreement.agreement(ok.predicted, rival.predicted, task.kind)
            found["differences"] = differences_of(task, ok.metrics, ok, rival)
        return results.Cell(
            pipeline=self.pipeline,
            variant=self.variant,
            status="ok" if ok else "failed",
            why=self.why,
            warmup=as_run(self.warmup) if self.warmup else None,
            runs=[as_run(report) for report in self.reports],
            # Each is the peak of a process, and there may have been several.
            peak_rss_bytes=max((report.peak_rss_bytes for report in every), default=0),
            placement=placement_records(last.placements if last else []),
            execution_log=msgspec.convert(log, list[Movement], from_attributes=True),
            usage=last.usage if last else None,
            noise=self._noise(),
            **found,
        )

    def _noise(self) -> dict[str, float]:
        """Return how far each metric moves from seed to seed, if others were tried."""
        tried = [each.metrics for each in (*self.reports[-1:], *self.seeds)]
        moved = {name: [each[name] for each in tried] for name in tried[0]} if self.seeds else {}
        return {name: max(values) - min(values) for name, values in moved.items()}


def as_run(report: RunReport) -> results.Run:
    """Return the record of a run."""
    return msgspec.convert(report, results.Run, from_attributes=True)


def differences_of(task: Task, names: Collection[str], last: Any, reference: Any) -> Any:
    """Return the intervals of metrics of a run less those of the reference, over the test rows."""
    every = metrics.judges(task, last.classes).items()
    judged = {name: metric for name, metric in every if name in names}
    return differences(judged, last.y_true, last.predicted, reference.predicted)
