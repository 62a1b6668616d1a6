"""The runs of a comparison: a warm-up each, then rounds in a random order.

A `VariantRunner` runs one variant of one pipeline in a process of its own, and fills the `CellRuns`
of which a cell of the record is made.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from pipeline.benchmark.judge import agreement
from pipeline.benchmark.judge.diagnostics import diagnose
from pipeline.benchmark.judge.integrity import objection
from pipeline.benchmark.judge.statistics import REFERENCE, differences
from pipeline.benchmark.record import provenance, results
from pipeline.benchmark.record.results import FilePart
from pipeline.benchmark.run.live import Watch
from pipeline.benchmark.run.resume import FinishedRuns
from pipeline.benchmark.run.worker import (
    RunReport,
    WorkerFailed,
    WorkerGone,
    WorkerProcess,
    WorkerStopped,
)
from pipeline.planning.plan import placement_records
from pipeline.task import metrics
from pipeline.task.task import Job, Kind, Task
from pipeline.typing import Estimator

WARM_UP = "warm-up"


T = TypeVar("T")
Start = Callable[[], AbstractContextManager[Any]]
"""Begins what runs a variant, such as a `WorkerProcess`; it is not called where all runs have been
made before."""


@dataclass(frozen=True)
class Schedule:
    """How often variants run, and where what they did is kept and reported.

    Parameters
    ----------
    repeats : int
        Timed runs of each variant, after one warm-up.
    seeds : int
        Runs of the reference with other seeds.
    finished : FinishedRuns
    watch : Watch
        Is told of every run.
    explains : bool
        Whether each variant is asked for the importance of its columns, after the last timed run.
    limit : float, optional
        Seconds that a run may take before it is stopped.
    """

    repeats: int
    seeds: int
    finished: FinishedRuns
    watch: Watch
    explains: bool = False
    limit: float | None = None

    def count(self, variants: int) -> int:
        """Return how many runs a pipeline has by so many variants."""
        return variants * (1 + self.repeats) + self.seeds

    def run(
        self, job: Job, names: Sequence[str], kind: Kind, label: Sequence[str] = ()
    ) -> tuple[list[CellRuns], list[str]]:
        """Run a job's pipeline by all variants.

        Parameters
        ----------
        job : Job
            Its variant is replaced.
        names : sequence of str
            Of the variants.
        kind : {"binary", "multiclass", "regression"}
        label : sequence of str
            Stands before the names of the pipeline and the variant in what is reported and kept.

        Returns
        -------
        tuple of list of CellRuns and list of str
            The runs, and ``"pipeline/variant"`` in the order of the timed ones.
        """
        cells = [CellRuns(job.pipeline, name, kind=kind) for name in names]
        told = {"explain": True} if self.explains else {}
        limit: dict[str, Any] = {"limit": self.limit} if self.limit else {}
        with ExitStack() as stack:
            runners = []
            for runs in cells:
                start = partial(WorkerProcess, replace(job, variant=runs.variant), **limit)
                runner = VariantRunner(runs, start, self.finished, label, at_last=told)
                runners.append(stack.enter_context(runner))
            order = self.take_turns(runners, job.seed)
            reference = next(runner for runner in runners if runner.runs.variant == REFERENCE)
            for seed in range(job.seed + 1, job.seed + 1 + self.seeds):
                reference.reseed(seed, self.watch)
        _hold_to(cells)
        return cells, order

    def take_turns(self, runners: Sequence[VariantRunner], seed: int) -> list[str]:
        """Warm up each, then let each that has not failed run once a round, in a random order.

        Returns
        -------
        list of str
            ``"pipeline/variant"`` in the order of the timed runs.
        """
        order = []
        for runner in runners:
            if runner.warms_up:
                runner.warm(self.watch)
        for runner in turns(runners, self.repeats, seed):
            if not runner.runs.why:
                order.append(f"{runner.runs.pipeline}/{runner.runs.variant}")
            runner.time(self.repeats, self.watch)
        return order


def _hold_to(cells: list[CellRuns]) -> None:
    """Let fail what did not do the reference's work on the reference's rows."""
    reference = next((c.reports[-1] for c in cells if c.is_reference), None)
    for runs in cells if reference else []:
        for report in runs.reports:
            runs.why = runs.why or objection(report, reference)


class VariantRunner:
    """Runs a variant when it is its turn; what has run before is taken from `finished`.

    The process starts with the first run that is left to do. If that is not the warm-up, it
    warms up once more, which counts for nothing. After a failure there are no more runs.

    Parameters
    ----------
    runs : CellRuns
        Takes the reports.
    start : callable
        Begins what runs the variant.
    finished : FinishedRuns
    name : sequence of str
        Of this runner, among the finished runs.
    warms_up : bool, default=True
        Whether the first run does not count; it does where each is a process of its own.
    at_last : mapping, optional
        What the last timed run is told besides.
    """

    def __init__(
        self,
        runs: CellRuns,
        start: Start,
        finished: FinishedRuns,
        name: Sequence[str] = (),
        *,
        warms_up: bool = True,
        at_last: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self.runs, self.start, self.finished, self.warms_up = runs, start, finished, warms_up
        self.at_last = at_last
        self.name = (*name, runs.pipeline, runs.variant)
        self.title = "  ".join(self.name)
        self._worker: Any = None
        self._stack = ExitStack()

    def __enter__(self) -> VariantRunner:
        """Return the runner."""
        return self

    def __exit__(self, *exc: object) -> None:
        """End the process, if one was started."""
        self._stack.__exit__(*exc)  # type: ignore[arg-type]

    def warm(self, watch: Watch) -> None:
        """Run for the first time."""
        self.runs.warmup = self._take_turn(WARM_UP, WARM_UP, watch)

    def time(self, repeats: int, watch: Watch) -> None:
        """Run once more; this run counts."""
        number = len(self.runs.reports) + 1
        told = self.at_last if number == repeats else {}
        found = self._take_turn(str(number), f"{number}/{repeats}", watch, **told)
        if found is not None:
            self.runs.reports.append(found)

    def reseed(self, seed: int, watch: Watch) -> None:
        """Run with another seed; what fails is reported and counts for nothing."""
        said = f"seed {seed}"
        found = self._take_turn(said, said, watch, counts=False, seed=seed)
        if found is not None:
            self.runs.seeds.append(found)

    def _take_turn(
        self, key: str, said: str, watch: Watch, *, counts: bool = True, **told: Any
    ) -> Any:
        """Return the report of a run, which may have been made before; None if there is none."""
        kept = None if self.runs.why else self.finished.find(*self.name, key)
        if self.runs.why or (kept is not None and not isinstance(kept, str)):
            watch.expect(-1)
            return kept
        title = f"{self.title}  {said}"
        try:
            if kept:
                raise WorkerFailed(kept)
            report = self._run(key, title, watch, **told)
        except WorkerFailed as error:
            if counts:
                self.runs.fail(error)
            watch.end(f"{title} failed: {error}", failed=True)
            return None
        watch.end(f"{title}  {report.total:.2f} s")
        return report

    def _run(self, key: str, title: str, watch: Watch, **told: Any) -> Any:
        try:
            worker = self._ready(key, watch)
            watch.begin(f"{title} and importance" if told.get("explain") else title)
            report = worker.run(**told)
        except (WorkerGone, WorkerStopped):
            # Another comparison tries again: it may have been terminated, or be given more time.
            raise
        except WorkerFailed as error:
            self.finished.keep(str(error), *self.name, key)
            raise
        self.finished.keep(report, *self.name, key)
        return report

    def _ready(self, key: str, watch: Watch) -> Any:
        if self._worker is None:
            self._worker = self._stack.enter_context(self.start())
            if self.warms_up and key != WARM_UP:
                watch.begin(f"{self.title}  {WARM_UP}")
                seconds = self._worker.run().total
                again = "a new process warms up, which does not count"
                watch.say(f"{self.title}  {again}  {seconds:.2f} s")
        return self._worker


@dataclass
class CellRuns:
    """The runs of one pipeline by one variant, of which a cell of the record is made."""

    pipeline: str
    variant: str
    why: str = ""
    warmup: Any = None
    reports: list[Any] = field(default_factory=list)
    seeds: list[Any] = field(default_factory=list)
    """Runs of the reference with other seeds, not timed."""
    stopped_after: float | None = None
    """Seconds that a run was given, where it was stopped."""
    kind: Kind = "binary"
    files: dict[str, FilePart] = field(default_factory=dict)
    """What was kept of the last run: ``"model"``, ``"predictions"``."""

    @property
    def is_reference(self) -> bool:
        """Whether the others can be held to it."""
        return self.variant == REFERENCE and bool(self.reports) and not self.why

    def fail(self, error: WorkerFailed) -> None:
        """Take the reason why there are no more runs."""
        self.why = str(error)
        self.stopped_after = error.after if isinstance(error, WorkerStopped) else None

    def cell(self, reference: RunReport | None, task: Task) -> results.Cell:
        """Return the record of all runs; the last one's predictions are judged."""
        last = self.reports[-1] if self.reports else self.warmup
        ok = last is not None and not self.why
        rival = last is not None and ok and reference is not None and last is not reference
        return results.Cell(
            pipeline=self.pipeline,
            variant=self.variant,
            status="ok" if ok else "failed",
            why=self.why,
            warmup=as_run(self.warmup) if self.warmup else None,
            runs=[as_run(report) for report in self.reports],
            metrics=last.metrics if last and ok else {},
            agreement=self._agreement(last, reference) if last and ok else None,
            peak_rss_bytes=self._peak(),
            placement=placement_records(last.placements if last else []),
            execution_log=provenance.movements(last.execution_log if last else []),
            differences=_differences(task, last, reference) if rival else {},
            trace=last.trace if last else None,
            noise=_noise([*self.reports[-1:], *self.seeds]) if self.seeds else {},
            importance=last.importance if last and ok else None,
            diagnostics=self._diagnostics(last, task) if last and ok else None,
            stopped_after=self.stopped_after,
            **self.files,
        )

    def _peak(self) -> int:
        """Return the largest peak: each is that of a process, and there may have been several."""
        every = [report for report in (self.warmup, *self.reports) if report]
        return max((report.peak_rss_bytes for report in every), default=0)

    def _agreement(
        self, report: RunReport, reference: RunReport | None
    ) -> results.Agreement | None:
        if reference is None or report is reference:
            return None
        return agreement.agreement(report.predicted, reference.predicted, self.kind)

    def _diagnostics(self, last: RunReport, task: Task) -> results.Diagnostics | None:
        program = task.pipelines[self.pipeline](0)
        return diagnose(last.y_true, last.predicted, self.kind, last.classes, program)


def as_run(report: RunReport) -> results.Run:
    """Return the record of a run."""
    return results.Run(total=report.total, stages=report.stages, cpu_seconds=report.cpu_seconds)


def _differences(task: Task, last: Estimator, reference: Estimator) -> Any:
    every = metrics.judges(task, last.classes).items()
    judged = {name: metric for name, metric in every if name in last.metrics}
    return differences(judged, last.y_true, last.predicted, reference.predicted)


def _noise(reports: Sequence[RunReport]) -> dict[str, float]:
    """Return how far each metric moves from seed to seed."""
    values = {name: [report.metrics[name] for report in reports] for name in reports[0].metrics}
    return {name: max(found) - min(found) for name, found in values.items()}


def turns(items: Sequence[T], rounds: int, seed: int) -> Iterator[T]:
    """Yield everything once a round, in a random order that the seed fixes.

    So a machine that grows slower or busier does so for all, and nobody always follows the same
    neighbour.

    Parameters
    ----------
    items : sequence
    rounds, seed : int

    Examples
    --------
    >>> order = list(turns("ab", 3, seed=0))
    >>> [sorted(order[i : i + 2]) for i in (0, 2, 4)]
    [['a', 'b'], ['a', 'b'], ['a', 'b']]
    """
    shuffler, order = random.Random(seed), list(items)
    for _ in range(rounds):
        shuffler.shuffle(order)
        yield from order
