"""Measuring variants side by side: own processes, random order, a warm-up apart."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from pipeline import judging, provenance
from pipeline.compare import answers
from pipeline.compare import results as record
from pipeline.compare.circumstances import circumstances
from pipeline.compare.contest import Contest
from pipeline.compare.entrants import variants
from pipeline.compare.evidence import objection
from pipeline.compare.journal import Journal
from pipeline.compare.lane import Lane
from pipeline.compare.statistics import REFERENCE
from pipeline.compare.worker import Report
from pipeline.errors import PipelineError
from pipeline.measure import CLOCK, Job
from pipeline.progress import Say
from pipeline.task import Task

ISOLATION = "one process per variant and spec, idle while another one runs"


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

    def measure(self, say: Say, journal: Journal | None = None) -> record.Results:
        """Run everything and return the record.

        Parameters
        ----------
        say : callable
            Gets a line of text for every run.
        journal : Journal, optional
            Has the runs that need not be repeated, and takes those that are made.
        """
        journal = journal or Journal()
        load = provenance.load_average()
        field_ = variants(self.device)
        names = [variant.name for variant in field_ if variant.status == "ok"]
        order: list[str] = []
        contests = [c for spec in self.specs for c in self._spec(spec, names, order, say, journal)]
        return self._record(field_, contests, order, load, journal.taken)

    def circumstances(self) -> dict[str, str]:
        """Return what must be the same for runs of another command to be taken up."""
        plan = {
            "repeats": str(self.repeats),
            "seeds": str(self.seeds),
            "isolation": ISOLATION,
            "variants": ", ".join(f"{v.name} {v.status}" for v in variants(self.device)),
        }
        return circumstances(self.task, self.job, self.specs, plan)

    def _spec(
        self, spec: str, names: list[str], order: list[str], say: Say, journal: Journal
    ) -> list[Contest]:
        contests = [Contest(spec, name, self.task.kind) for name in names]
        with ExitStack() as stack:
            lanes = [
                stack.enter_context(
                    Lane(c, replace(self.job, spec=spec, variant=c.variant), journal)
                )
                for c in contests
            ]
            first = lanes[names.index(REFERENCE)]
            for lane in lanes:
                lane.warm(say)
            for lane in self._turns(lanes):
                order.append(f"{spec}/{lane.contest.variant}")
                lane.time(self.repeats, say)
            for seed in range(self.job.seed + 1, self.job.seed + 1 + self.seeds):
                if not first.contest.why:
                    first.reseed(seed, say)
        self._hold_to(contests)
        return contests

    def _hold_to(self, contests: list[Contest]) -> None:
        """Let fail what did not do the reference's work on the reference's rows."""
        reference = next((c.reports[-1] for c in contests if c.is_reference), None)
        for contest in contests if reference else []:
            for report in contest.reports:
                contest.why = contest.why or objection(report, reference)

    def _turns(self, lanes: list[Lane]) -> Iterator[Lane]:
        """Yield every variant once a round, in a random order that the seed fixes."""
        shuffler = random.Random(self.job.seed)
        turns = list(lanes)
        for _ in range(self.repeats):
            shuffler.shuffle(turns)
            yield from (lane for lane in turns if not lane.contest.why)

    def _record(
        self,
        field_: list[record.Variant],
        contests: list[Contest],
        order: list[str],
        load: float,
        resumed: int,
    ) -> record.Results:
        reports = [c.reports[-1] for c in contests if c.reports]
        if not reports:
            raise PipelineError("no run succeeded: " + "; ".join(c.why for c in contests))
        references = {c.spec: c.reports[-1] for c in contests if c.is_reference}
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
                resumed=resumed,
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
