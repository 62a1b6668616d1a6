"""Measuring variants side by side: own processes, random order, a warm-up apart."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from pipeline import devices, judging, provenance
from pipeline.compare import answers
from pipeline.compare import results as record
from pipeline.compare.evidence import objection
from pipeline.compare.paired import Metric, differences
from pipeline.compare.worker import Report, Worker, WorkerFailed
from pipeline.errors import PipelineError
from pipeline.measure import CLOCK, Job
from pipeline.progress import Say
from pipeline.task import Kind, Task

REFERENCE = "reference"
TITLES = {
    REFERENCE: "plain scikit-learn",
    "cpu": "Accelerated on the CPU",
    "cuda": "Accelerated on a GPU",
}
ISOLATION = "one process per variant and spec, idle while another one runs"


@dataclass
class Contest:
    """The runs of one spec by one variant, as they come in."""

    spec: str
    variant: str
    kind: Kind = "binary"
    why: str = ""
    warmup: Report | None = None
    reports: list[Report] = field(default_factory=list)
    seeds: list[Report] = field(default_factory=list)
    """Runs of the reference with other seeds, not timed."""

    def cell(self, reference: Report | None, metrics: Mapping[str, Metric]) -> record.Cell:
        """Return the record of all runs; the last one's predictions are judged."""
        last = self.reports[-1] if self.reports else self.warmup
        ok = last is not None and not self.why
        rival = last is not None and ok and reference is not None and last is not reference
        return record.Cell(
            spec=self.spec,
            variant=self.variant,
            status="ok" if ok else "failed",
            why=self.why,
            warmup=_run(self.warmup) if self.warmup else None,
            runs=[_run(report) for report in self.reports],
            metrics=last.metrics if last and ok else {},
            agreement=self._agreement(last, reference) if last and ok else None,
            peak_rss_bytes=last.peak_rss_bytes if last else 0,
            placement=provenance.placements(last.placements if last else []),
            residency=provenance.movements(last.residency if last else []),
            differences=_differences(metrics, last, reference) if rival else {},
            trace=last.trace if last else None,
            noise=_noise([*self.reports[-1:], *self.seeds]) if self.seeds else {},
        )

    def _agreement(self, report: Report, reference: Report | None) -> record.Agreement | None:
        if reference is None or report is reference:
            return None
        return answers.agreement(report.predicted, reference.predicted, self.kind)


def _run(report: Report) -> record.Run:
    return record.Run(total=report.total, stages=report.stages, cpu_seconds=report.cpu_seconds)


def _differences(metrics: Mapping[str, Metric], last: Any, reference: Any) -> Any:
    judged = {name: metric for name, metric in metrics.items() if name in last.metrics}
    return differences(judged, last.truth, last.predicted, reference.predicted)


def _noise(reports: Sequence[Report]) -> dict[str, float]:
    """Return how far each metric moves from seed to seed."""
    values = {name: [report.metrics[name] for report in reports] for name in reports[0].metrics}
    return {name: max(found) - min(found) for name, found in values.items()}


def variants(device: str) -> list[record.Variant]:
    """Return the variants for a device, with the reason where one cannot run.

    Raises
    ------
    DeviceUnavailable
        ``"cuda"`` was asked for and cannot be used here.
    """
    devices.choose(device)
    why_not = "device='cpu' was asked for" if device == "cpu" else devices.obstacle()
    return [
        record.Variant(
            name=name,
            title=title,
            device="cuda" if name == "cuda" else "cpu",
            status="skipped" if name == "cuda" and why_not else "ok",
            why=why_not if name == "cuda" else "",
        )
        for name, title in TITLES.items()
    ]


@dataclass(frozen=True)
class Duel:
    """What to compare.

    Parameters
    ----------
    task : Task
    job : Job
        The data, the seed and the split; its spec and variant are replaced.
    specs : sequence of str
    device : {"auto", "cpu", "cuda"}
        ``"auto"`` adds the GPU where there is one.
    repeats : int
        Timed runs of each spec by each variant, after one warm-up.
    seeds : int
        Runs of the reference with other seeds, for how far its metrics move by themselves.
    """

    task: Task
    job: Job
    specs: Sequence[str]
    device: str = "auto"
    repeats: int = 5
    seeds: int = 2

    @property
    def runs(self) -> int:
        """Number of runs, warm-ups included."""
        able = [variant for variant in variants(self.device) if variant.status == "ok"]
        return len(self.specs) * (len(able) * (self.repeats + 1) + self.seeds)

    def measure(self, say: Say) -> record.Results:
        """Run everything and return the record.

        Parameters
        ----------
        say : callable
            Gets a line of text for every run.
        """
        load = provenance.load_average()
        field_ = variants(self.device)
        names = [variant.name for variant in field_ if variant.status == "ok"]
        order: list[str] = []
        contests = [c for spec in self.specs for c in self._spec(spec, names, order, say)]
        return self._record(field_, contests, order, load)

    def _spec(self, spec: str, names: list[str], order: list[str], say: Say) -> list[Contest]:
        contests = [Contest(spec, name, self.task.kind) for name in names]
        with ExitStack() as stack:
            workers = [
                stack.enter_context(Worker(replace(self.job, spec=spec, variant=name)))
                for name in names
            ]
            lanes = list(zip(contests, workers, strict=True))
            for contest, worker in lanes:
                self._warm(contest, worker, say)
            for contest, worker in self._turns(lanes):
                order.append(f"{spec}/{contest.variant}")
                self._time(contest, worker, say)
            first = names.index(REFERENCE)
            self._reseed(contests[first], workers[first], say)
        self._hold_to(contests)
        return contests

    def _reseed(self, contest: Contest, worker: Worker, say: Say) -> None:
        """Run the reference with other seeds; what fails is told and counts for nothing."""
        for seed in range(self.job.seed + 1, self.job.seed + 1 + self.seeds):
            if contest.why:
                return
            try:
                contest.seeds.append(worker.run(seed))
                say(f"{contest.spec}  {contest.variant}  seed {seed}")
            except WorkerFailed as error:
                say(f"{contest.spec}  {contest.variant}  seed {seed} failed: {error}")

    def _hold_to(self, contests: list[Contest]) -> None:
        """Let fail what did not do the reference's work on the reference's rows."""
        reference = next((c.reports[-1] for c in contests if _is_reference(c)), None)
        for contest in contests if reference else []:
            for report in contest.reports:
                contest.why = contest.why or objection(report, reference)

    def _turns(self, lanes: list[tuple[Contest, Worker]]) -> Iterator[tuple[Contest, Worker]]:
        """Yield every variant once a round, in a random order that the seed fixes."""
        shuffler = random.Random(self.job.seed)
        for _ in range(self.repeats):
            shuffler.shuffle(lanes)
            yield from (lane for lane in lanes if not lane[0].why)

    def _warm(self, contest: Contest, worker: Worker, say: Say) -> None:
        try:
            contest.warmup = worker.run()
            say(f"{contest.spec}  {contest.variant}  warm-up  {contest.warmup.total:.2f} s")
        except WorkerFailed as error:
            contest.why = str(error)
            say(f"{contest.spec}  {contest.variant}  failed: {error}")

    def _time(self, contest: Contest, worker: Worker, say: Say) -> None:
        number = len(contest.reports) + 1
        try:
            contest.reports.append(worker.run())
            seconds = contest.reports[-1].total
            say(f"{contest.spec}  {contest.variant}  {number}/{self.repeats}  {seconds:.2f} s")
        except WorkerFailed as error:
            contest.why = str(error)
            say(f"{contest.spec}  {contest.variant}  failed in run {number}: {error}")

    def _record(
        self,
        field_: list[record.Variant],
        contests: list[Contest],
        order: list[str],
        load: float,
    ) -> record.Results:
        reports = [c.reports[-1] for c in contests if c.reports]
        if not reports:
            raise PipelineError("no run succeeded: " + "; ".join(c.why for c in contests))
        references = {c.spec: c.reports[-1] for c in contests if _is_reference(c)}
        return record.Results(
            schema=record.SCHEMA,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            task=self._task(reports[0]),
            data=provenance.data(self.task, self.job.path),
            machine=provenance.machine(reports[0].threads, load),
            source=provenance.source(),
            protocol=record.Protocol(
                seed=self.job.seed,
                repeats=self.repeats,
                warmups=1,
                order=order,
                clock=CLOCK,
                isolation=ISOLATION,
            ),
            variants=field_,
            specs=[self._describe(spec) for spec in self.specs],
            cells=[
                contest.cell(references.get(contest.spec), judging.judges(self.task))
                for contest in contests
            ],
        )

    def _task(self, report: Report) -> record.TaskInfo:
        kind, (name, split) = self.task.kind, self.task.split(self.job.split)
        return record.TaskInfo(
            name=self.task.name,
            title=self.task.title,
            target=self.task.target,
            split=f"{name}: {split.about}",
            rows_train=report.rows_train,
            rows_test=len(report.truth),
            columns=len(self.task.columns),
            positive_rate=float(np.mean(report.truth)) if kind == "binary" else None,
            margins=dict(self.task.margins),
            kind=kind,
            about_target=answers.about(report.truth, kind),
        )

    def _describe(self, name: str) -> record.Spec:
        make: Any = self.task.specs[name]
        title = (make.__doc__ or name).strip().partition("\n")[0]
        code = provenance.code(self.task.spec(name, self.job.seed, self.job.changes))
        return record.Spec(name=name, title=title, code=code)


def _is_reference(contest: Contest) -> bool:
    return contest.variant == REFERENCE and bool(contest.reports) and not contest.why
