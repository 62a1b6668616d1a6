"""The measurement: a process for each variant, in random order, a warm-up apart."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from itertools import chain
from pathlib import Path

import msgspec

from pipeline.benchmark.results import Protocol
from pipeline.benchmark.rounds import turns
from pipeline.benchmark.worker import Worker
from pipeline.data.files import digest
from pipeline.errors import PipelineError
from pipeline.planning import source_code
from pipeline.records import DataInfo, Machine
from pipeline.system import environment
from tools.bench import cases, memory, schema
from tools.bench.contest import CellRuns, Say
from tools.bench.variants import TRUTH, VARIANTS
from tools.bench.work import Answer, Ask, Job, serve

CLOCK = "fit_transform and transform of the same rows, each by itself; reading apart"
ISOLATION = "one process per variant and case, idle while another one runs; all cores for each"
CASES = ("flights", "synthetic")
PACKAGES = ("polars", "skrub")
WATCHED = ("ours", "ours-str")
"""The variants whose memory is measured on the long table."""


@dataclass(frozen=True, kw_only=True)
class Bench:
    """What to measure.

    Parameters
    ----------
    home : Path
        Folder of the data.
    rows, memory_rows : int
        Of the generated tables, for times and for memory; 0 leaves the latter out.
    repeats : int
        Timed runs of each variant, after one warm-up.
    seed : int
    cases, variants : sequence of str
    """

    home: Path
    rows: int = 1_000_000
    memory_rows: int = 5_000_000
    repeats: int = 7
    seed: int = 0
    cases: Iterable[str] = CASES
    variants: Iterable[str] = tuple(VARIANTS)

    def measure(self, say: Say) -> schema.Results:
        """Run everything and return the record.

        Parameters
        ----------
        say : callable
            Gets a line of text for every run.
        """
        load, order = environment.load_average(), list[str]()
        contests = {name: self._case(name, order, say) for name in self.cases}
        found = [contest for lane in contests.values() for contest in lane]
        good = [contest.last for contest in found if contest.last]
        if not good:
            raise PipelineError("no run succeeded: " + "; ".join(c.why for c in found))
        return schema.Results(
            schema=schema.SCHEMA,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            machine=_machine(good, load),
            source=environment.source(["python", "-m", "tools.bench", *sys.argv[1:]]),
            protocol=self._protocol(order),
            peaks=good[0].peaks,
            cases=[self._describe(name, lane) for name, lane in contests.items()],
            variants=[_variant(name) for name in self.variants],
            cells=[contest.cell() for contest in found],
            memory=list(self._memory(say)) if self.memory_rows else [],
        )

    def _job(self, case: str, variant: str) -> Job:
        rows = self.memory_rows if case == "memory" else self.rows
        home = str(self.home.resolve())
        return Job(case=case, variant=variant, home=home, rows=rows, seed=self.seed)

    def _case(self, name: str, order: list[str], say: Say) -> list[CellRuns]:
        say(f"{name}  making the table, and the numbers to compare with")
        self._job(name, TRUTH).load()
        lane = [CellRuns(self._job(name, variant)) for variant in self.variants]
        with ExitStack() as stack:
            scratch = tempfile.TemporaryDirectory(dir=self.home / cases.CACHE)
            folder = stack.enter_context(scratch)
            with Worker(self._job(name, TRUTH), serve) as y_true:
                y_true.ask(Ask(folder=folder, save=True))
            workers = {c.job.variant: stack.enter_context(Worker(c.job, serve)) for c in lane}
            for contest in chain(lane, self._turns(lane, order)):
                contest.run(workers[contest.job.variant], say)
            for contest in lane:
                contest.compare(workers[contest.job.variant], folder, say)
        return lane

    def _turns(self, lane: list[CellRuns], order: list[str]) -> Iterator[CellRuns]:
        """Yield every variant that has not failed once a round, and note the order."""
        for contest in turns(lane, self.repeats, self.seed):
            if not contest.why:
                order.append(f"{contest.job.case}/{contest.job.variant}")
                yield contest

    def _memory(self, say: Say) -> Iterator[schema.Memory]:
        for variant in WATCHED:
            say(f"memory  {variant}  {self.memory_rows:,} rows")
            yield memory.measure(self._job("memory", variant))

    def _protocol(self, order: list[str]) -> Protocol:
        return Protocol(
            seed=self.seed,
            repeats=self.repeats,
            warmups=1,
            order=order,
            clock=CLOCK,
            isolation=ISOLATION,
        )

    def _describe(self, name: str, lane: list[CellRuns]) -> schema.Case:
        case = self._job(name, TRUTH).load()
        rows, columns, width = next((c.last.shape for c in lane if c.last), (0, 0, 0))
        return schema.Case(
            name=name,
            title=case.title,
            rows=rows,
            columns=columns,
            width=width,
            code=source_code.code(case.pipeline()),
            files=[_file(case, path) for path in (case.text, case.coded)],
        )


def _machine(answers: list[Answer], load: float) -> Machine:
    pools = {name: size for found in answers for name, size in found.threads.items()}
    here = environment.machine(pools, load)
    others = {}
    for name in PACKAGES:
        try:
            others[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return msgspec.structs.replace(here, packages=here.packages | others)


def _variant(name: str) -> schema.Variant:
    found = VARIANTS[name]
    return schema.Variant(
        name=name, title=found.title, input=found.input, output=found.output, note=found.note
    )


def _file(case: cases.Case, path: Path) -> DataInfo:
    return DataInfo(
        path="/".join(path.parts[-2:]),
        sha256=digest(path),
        bytes=path.stat().st_size,
        licence=case.licence,
        source=case.source,
    )
