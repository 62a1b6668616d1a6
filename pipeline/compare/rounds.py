"""All variants of one spec: a warm-up each, then rounds in a random order."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from pipeline.compare.contest import Contest
from pipeline.compare.evidence import objection
from pipeline.compare.journal import Journal
from pipeline.compare.lane import Lane
from pipeline.compare.results import Profile
from pipeline.compare.statistics import REFERENCE
from pipeline.compare.turns import turns
from pipeline.measure import Job
from pipeline.profiling import obstacle
from pipeline.progress import Say
from pipeline.task import Kind


@dataclass(frozen=True)
class Rounds:
    """How often variants run, and where what they did is kept and told.

    Parameters
    ----------
    repeats : int
        Timed runs of each variant, after one warm-up.
    seeds : int
        Runs of the reference with other seeds.
    journal : Journal
    say : callable
        Gets a line of text for every run.
    pages : Path, optional
        Folder for pages of where the time goes.
    profiles : list of Profile
        Those that were made.
    """

    repeats: int
    seeds: int
    journal: Journal
    say: Say
    pages: Path | None = None
    profiles: list[Profile] = field(default_factory=list)

    def run(
        self, job: Job, names: Sequence[str], kind: Kind, label: Sequence[str] = ()
    ) -> tuple[list[Contest], list[str]]:
        """Run a job's spec by all variants.

        Parameters
        ----------
        job : Job
            Its variant is replaced.
        names : sequence of str
            Of the variants.
        kind : {"binary", "multiclass", "regression"}
        label : sequence of str
            Stands before the names of the spec and the variant in what is told and kept.

        Returns
        -------
        tuple of list of Contest and list of str
            The runs, and ``"spec/variant"`` in the order of the timed ones.
        """
        contests, order = [Contest(job.spec, name, kind) for name in names], list[str]()
        with ExitStack() as stack:
            lanes = [
                stack.enter_context(Lane(c, replace(job, variant=c.variant), self.journal, label))
                for c in contests
            ]
            for lane in lanes:
                lane.warm(self.say)
            for lane in turns(lanes, self.repeats, job.seed):
                if not lane.contest.why:
                    order.append(f"{job.spec}/{lane.contest.variant}")
                    lane.time(self.repeats, self.say)
            for lane in lanes:
                self._profile(lane)
            self._reseed(next(lane for lane in lanes if lane.contest.variant == REFERENCE))
        _hold_to(contests)
        return contests, order

    def _profile(self, lane: Lane) -> None:
        """Run once more for a page of where the time goes, if there is a folder for it."""
        if self.pages is None or lane.contest.why:
            return
        why, spec, variant = obstacle(), lane.contest.spec, lane.contest.variant
        name = f"profile-{len(self.profiles) + 1}.html"  # specs may have any name
        why = why or lane.profile(self.pages / name, self.say)
        self.profiles.append(Profile(spec=spec, variant=variant, file="" if why else name, why=why))

    def _reseed(self, lane: Lane) -> None:
        first = lane.job.seed + 1
        for seed in range(first, first + self.seeds):
            if not lane.contest.why:
                lane.reseed(seed, self.say)


def _hold_to(contests: list[Contest]) -> None:
    """Let fail what did not do the reference's work on the reference's rows."""
    reference = next((c.reports[-1] for c in contests if c.is_reference), None)
    for contest in contests if reference else []:
        for report in contest.reports:
            contest.why = contest.why or objection(report, reference)
