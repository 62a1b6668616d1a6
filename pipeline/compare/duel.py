"""Measuring variants side by side: own processes, random order, a warm-up apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import structs

from pipeline import judging, provenance
from pipeline.compare import answers
from pipeline.compare import results as record
from pipeline.compare.circumstances import circumstances
from pipeline.compare.contest import Contest
from pipeline.compare.entrants import variants
from pipeline.compare.journal import Journal
from pipeline.compare.rounds import Rounds
from pipeline.compare.sweep import sweep
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
    sizes : sequence of float
        Other sizes of the table to time: up to 1 a share of the rows, above it rows.
    """

    task: Task
    job: Job
    specs: Sequence[str]
    device: str = "auto"
    repeats: int = 5
    seeds: int = 2
    sizes: Sequence[float] = ()

    @property
    def runs(self) -> int:
        """Number of runs, warm-ups included."""
        able = [variant for variant in variants(self.device) if variant.status == "ok"]
        tables = 1 + sum(size != 1 for size in self.sizes)
        return len(self.specs) * (len(able) * (self.repeats + 1) * tables + self.seeds)

    def measure(
        self, say: Say, journal: Journal | None = None, pages: Path | None = None
    ) -> record.Results:
        """Run everything and return the record.

        Parameters
        ----------
        say : callable
            Gets a line of text for every run.
        journal : Journal, optional
            Has the runs that need not be repeated, and takes those that are made.
        pages : Path, optional
            Takes pages of where the time of one more run of each cell goes.
        """
        journal = journal or Journal()
        load = provenance.load_average()
        field_ = variants(self.device)
        names = [variant.name for variant in field_ if variant.status == "ok"]
        rounds = Rounds(self.repeats, self.seeds, journal, say, pages)
        found = [
            rounds.run(replace(self.job, spec=spec), names, self.task.kind) for spec in self.specs
        ]
        points = sweep(
            self.task, self.job, self.specs, names, self.sizes, replace(rounds, seeds=0, pages=None)
        )  # fmt: skip
        contests = [contest for contests, _ in found for contest in contests]
        order = [name for _, names in found for name in names]
        made = self._record(field_, contests, order, load)
        protocol = structs.replace(made.protocol, resumed=journal.taken)
        return structs.replace(made, protocol=protocol, points=points, profiles=rounds.profiles)

    def circumstances(self) -> dict[str, str]:
        """Return what must be the same for runs of another command to be taken up."""
        plan = {
            "repeats": str(self.repeats),
            "seeds": str(self.seeds),
            "isolation": ISOLATION,
            "sizes": ", ".join(f"{size:g}" for size in self.sizes),
            "variants": ", ".join(f"{v.name} {v.status}" for v in variants(self.device)),
        }
        return circumstances(self.task, self.job, self.specs, plan)

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
