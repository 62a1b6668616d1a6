"""The runs of one case by one variant, as they come in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from pipeline.benchmark.worker import Worker, WorkerFailed
from tools.bench import schema
from tools.bench.work import Answer, Ask, Job

Say = Callable[[str], None]


@dataclass
class CellRuns:
    """What one variant has shown so far; after a failure it runs no more."""

    job: Job
    why: str = ""
    answers: list[Answer] = field(default_factory=list)
    last: Answer | None = None
    """The one whose numbers were compared; not timed."""

    def cell(self) -> schema.Cell:
        """Return the record of all runs."""
        runs = [found.run for found in self.answers if found.run]
        return schema.Cell(
            case=self.job.case,
            variant=self.job.variant,
            why=self.why,
            warmup=runs[0] if runs else None,
            runs=runs[1:],
            input_bytes=self.last.input_bytes if self.last else 0,
            output_bytes=self.last.output_bytes if self.last else 0,
            difference=self.last.difference if self.last else None,
        )

    def run(self, worker: Worker, say: Say) -> None:
        """Run once; the first run is the warm-up."""
        found = None if self.why else self._ask(worker, Ask(), say)
        if found is None or found.run is None:
            return
        number, run = len(self.answers), found.run
        self.answers.append(found)
        say(f"{self.name}  {number or 'warm-up'}  {run.fit_transform:.3f}  {run.transform:.3f} s")

    def compare(self, worker: Worker, folder: str, say: Say) -> None:
        """Run once more, untimed, and compare the numbers with those in a folder."""
        if not self.why:
            self.last = self._ask(worker, Ask(folder=folder), say)

    @property
    def name(self) -> str:
        """Case and variant, for messages."""
        return f"{self.job.case}  {self.job.variant}"

    def _ask(self, worker: Worker, ask: Ask, say: Say) -> Answer | None:
        try:
            answer: Answer = worker.ask(ask)
            return answer
        except WorkerFailed as error:
            self.why = str(error)
            say(f"{self.name}  failed: {error}")
            return None
