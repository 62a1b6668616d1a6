"""One variant of one spec on its way through a comparison: its process, its runs, its record."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from pipeline.compare.contest import Contest
from pipeline.compare.journal import Journal
from pipeline.compare.worker import Report, Worker, WorkerFailed, WorkerGone
from pipeline.measure import Job
from pipeline.progress import Say

WARM_UP = "warm-up"


class Lane:
    """Runs a job when it is its turn; what has run before is taken from the journal.

    The process starts with the first run that is left to do. If that is not the warm-up, it
    warms up once more, which counts for nothing.

    Parameters
    ----------
    contest : Contest
        Takes the reports.
    job : Job
    journal : Journal
    name : sequence of str
        Of the lane, in the journal.
    """

    def __init__(
        self, contest: Contest, job: Job, journal: Journal, name: Sequence[str] = ()
    ) -> None:
        self.contest, self.job, self.journal = contest, job, journal
        self.name = (*name, contest.spec, contest.variant)
        self._worker: Worker | None = None
        self._stack = ExitStack()

    def __enter__(self) -> Lane:
        """Return the lane."""
        return self

    def __exit__(self, *exc: object) -> None:
        """End the process, if one was started."""
        self._stack.__exit__(*exc)  # type: ignore[arg-type]

    @property
    def title(self) -> str:
        """Return the name, as it is told."""
        return "  ".join(self.name)

    def warm(self, say: Say) -> None:
        """Run for the first time."""
        try:
            self.contest.warmup = self._run(WARM_UP, say)
            say(f"{self.title}  warm-up  {self.contest.warmup.total:.2f} s")
        except WorkerFailed as error:
            self.contest.why = str(error)
            say(f"{self.title}  failed: {error}")

    def time(self, repeats: int, say: Say) -> None:
        """Run once more; this run counts."""
        number = len(self.contest.reports) + 1
        try:
            self.contest.reports.append(self._run(str(number), say))
            seconds = self.contest.reports[-1].total
            say(f"{self.title}  {number}/{repeats}  {seconds:.2f} s")
        except WorkerFailed as error:
            self.contest.why = str(error)
            say(f"{self.title}  failed in run {number}: {error}")

    def reseed(self, seed: int, say: Say) -> None:
        """Run with another seed; what fails is told and counts for nothing."""
        try:
            self.contest.seeds.append(self._run(f"seed {seed}", say, seed))
            say(f"{self.title}  seed {seed}")
        except WorkerFailed as error:
            say(f"{self.title}  seed {seed} failed: {error}")

    def profile(self, path: Path, say: Say) -> str:
        """Run once more under a profiler; return why there is no page, or nothing."""
        try:
            self._ready("profile", say).run(profile=path)
        except WorkerFailed as error:
            return str(error)
        say(f"{self.title}  profiled")
        return ""

    def _run(self, turn: str, say: Say, seed: int | None = None) -> Report:
        kept = self.journal.find(*self.name, turn)
        if isinstance(kept, Report):
            return kept
        if isinstance(kept, str):
            raise WorkerFailed(kept)
        try:
            report = self._ready(turn, say).run(seed)
        except WorkerGone:
            # It may have been ended with the comparison, so another one tries again.
            raise
        except WorkerFailed as error:
            self.journal.keep(str(error), *self.name, turn)
            raise
        self.journal.keep(report, *self.name, turn)
        return report

    def _ready(self, turn: str, say: Say) -> Worker:
        if self._worker is None:
            self._worker = self._stack.enter_context(Worker(self.job))
            if turn != WARM_UP:
                seconds = self._worker.run().total
                say(f"{self.title}  a new process warms up, which does not count  {seconds:.2f} s")
        return self._worker
