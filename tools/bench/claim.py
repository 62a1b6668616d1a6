"""One runner of all claims: the rounds, processes and kept runs of a comparison."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

from pipeline import records
from pipeline.benchmark.compare import PACKAGE, circumstances, code_files
from pipeline.benchmark.live import Watch, watching
from pipeline.benchmark.publish import find_finished, reporting_kept
from pipeline.benchmark.results import Protocol
from pipeline.benchmark.resume import FinishedRuns
from pipeline.benchmark.rounds import CellRuns, Schedule, Start, VariantRunner
from pipeline.errors import PipelineError
from pipeline.system import environment
from pipeline.system.atomic import publishing
from tools.bench import record, report
from tools.bench.record import Report, Results, say

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Ask:
    """What is asked for on the command line.

    Parameters
    ----------
    settings : mapping of str to sequence of int
        Sizes and the like; see `Claim`.
    repeats : int
        Timed runs of each variant.
    seed : int
    home : Path
        Folder of tables and models, which is removed afterwards.
    data : Path
        Folder of the data that stays.
    cases, variants : sequence of str
        All if empty.
    """

    settings: Mapping[str, Sequence[int]]
    repeats: int
    seed: int = 0
    home: Path = Path()
    data: Path = Path("data")
    cases: Sequence[str] = ()
    variants: Sequence[str] = ()

    def one(self, name: str) -> int:
        """Return a setting of a single number."""
        (number,) = self.settings[name]
        return number

    def wants(self, case: str) -> bool:
        """Whether a case is asked for."""
        return not self.cases or case in self.cases


@dataclass(frozen=True)
class Case:
    """A table, or a size of it, and what runs each variant on it.

    Parameters
    ----------
    about : Case
        Of the record.
    variants : mapping of str to callable
        What begins each of them; see `here`, `pipeline.benchmark.worker` and `apart`.
    most_repeats : int
        However many are asked for.
    warms_up : bool, default=True
        Whether the first run does not count.
    """

    about: record.Case
    variants: Mapping[str, Start]
    most_repeats: int = 1_000
    warms_up: bool = True


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What is measured, and what is said of it.

    Parameters
    ----------
    folder : str
        Of the record, in docs/results.
    settings : mapping of str to tuple of int
        Sizes and the like that the command line can change, with their defaults.
    repeats : int
        Timed runs of each variant.
    cases : callable
        Yields the cases; what a case needs is made before, and removed after its runs.
    names : sequence of str
        Of the cases; empty where they follow from the settings.
    variants : sequence of Variant
    clock, isolation : str
        What is timed, with settings in braces, and how runs are kept apart, in words.
    tables : sequence of Table or Wide
    targets : sequence of Target
        Set before any run.
    notes : callable, optional
        Returns what else follows from the record, as Markdown.
    details : callable, optional
        Returns the document that lies beside the record.
    may_fail : bool
        Whether there is a record of a variant that failed.
    """

    folder: str
    settings: Mapping[str, tuple[int, ...]]
    repeats: int
    cases: Callable[[Ask], Generator[Case, None, None]]
    names: Sequence[str] = ()
    variants: Sequence[record.Variant]
    clock: str
    isolation: str
    tables: Sequence[report.Table | report.Wide] = ()
    targets: Sequence[report.Target] = ()
    notes: Callable[[Results], str] | None = None
    details: Callable[[Results], str] | None = None
    may_fail: bool = False

    def part(self, results: Results) -> str:
        """Return the tables of the docs."""
        said = [self.notes(results)] if self.notes else []
        parts = [*(table.text(results) for table in self.tables)]
        parts += [report.verdicts(results, self.targets)] if self.targets else []
        return "\n\n".join([*filter(None, parts), *said, report.where(results)])


@dataclass(frozen=True)
class Here:
    """Runs a variant in this process.

    Parameters
    ----------
    work : callable
    """

    work: Callable[[], Report]

    def run(
        self, seed: int | None = None, profile: Path | None = None, *, explain: bool = False
    ) -> Report:
        """Run once; the work has its seed, and is neither profiled nor explained."""
        return self.work()


def here(work: Callable[[], Report]) -> Start:
    """Return what begins a variant in this process."""

    def start() -> AbstractContextManager[Here]:
        return nullcontext(Here(work))

    return start


@dataclass
class _Measured:
    """What is there so far."""

    cases: list[record.Case] = field(default_factory=list)
    cells: list[record.Cell] = field(default_factory=list)
    order: list[str] = field(default_factory=list)
    threads: dict[str, str] = field(default_factory=dict)
    warmups: int = 0


def measure(
    name: str,
    claim: Claim,
    ask: Ask,
    finished: FinishedRuns | None = None,
    watch: Watch | None = None,
) -> Results:
    """Run all variants of all cases, in rounds of a random order; return the record.

    Raises
    ------
    PipelineError
        No run succeeded; or one failed, and the claim allows no failure.
    """
    load, found = environment.load_average(), _Measured()
    finished, watch = finished or FinishedRuns(), watch or Watch(say)
    with closing(claim.cases(ask)) as cases:
        for case in cases:
            _run_case(claim, ask, case, finished, watch, found)
    if not any(cell.ok for cell in found.cells):
        raise PipelineError("no run succeeded: " + "; ".join(cell.why for cell in found.cells))
    words = {key: ", ".join(f"{n:,}" for n in numbers) for key, numbers in ask.settings.items()}
    protocol = Protocol(
        seed=ask.seed, repeats=ask.repeats, warmups=found.warmups, order=found.order,
        clock=claim.clock.format(**words), isolation=claim.isolation,
        resumed=finished.resumed,
    )  # fmt: skip
    return Results(
        schema=record.SCHEMA,
        claim=name,
        settings={key: list(numbers) for key, numbers in ask.settings.items()},
        protocol=protocol,
        cases=found.cases,
        variants=[each for each in claim.variants if not ask.variants or each.name in ask.variants],
        cells=found.cells,
        **record.fingerprint("tools.bench", load, found.threads or environment.threads()),
    )


def _run_case(
    claim: Claim, ask: Ask, case: Case, finished: FinishedRuns, watch: Watch, found: _Measured
) -> None:
    schedule = Schedule(min(ask.repeats, case.most_repeats), 0, finished, watch)
    names = [name for name in case.variants if not ask.variants or name in ask.variants]
    watch.expect(len(names) * (schedule.repeats + case.warms_up))
    runs = [CellRuns(case.about.name, name) for name in names]
    with ExitStack() as stack:
        runners = [
            stack.enter_context(
                VariantRunner(
                    each, case.variants[each.variant], finished, warms_up=case.warms_up
                )
            )
            for each in runs
        ]  # fmt: skip
        # Another order for each case, which may have one round only.
        found.order += schedule.take_turns(runners, ask.seed + len(found.cases))
    found.cases.append(case.about)
    found.warmups = max(found.warmups, int(case.warms_up))
    for each in runs:
        found.cells.append(cell(each))
        for made in each.reports:
            found.threads |= made.threads
        if found.cells[-1].why and not claim.may_fail:
            raise PipelineError(f"{case.about.name}, {each.variant}: {found.cells[-1].why}")


def cell(runs: CellRuns) -> record.Cell:
    """Return the record of all runs of a variant."""
    return record.Cell(
        case=runs.pipeline,
        variant=runs.variant,
        why=next((r.run.why for r in runs.reports if r.run.why), runs.why),
        warmup=runs.warmup.run if runs.warmup else None,
        runs=[each.run for each in runs.reports],
        values=runs.reports[-1].values if runs.reports else {},
    )


def publish(name: str, claim: Claim, ask: Ask, out: Path, *, resume: bool = True) -> Results:
    """Measure, and keep ``results.json`` and what lies beside it, as a whole or not at all."""
    with publishing(out) as draft:
        plan = {"claim": name, "ask": repr(ask)}
        code = [
            path for folder in (PACKAGE, ROOT / "tools" / "bench") for path in code_files(folder)
        ]
        finished = find_finished(out, {**circumstances(code), **plan}, resume=resume, kind=Report)
        with (
            reporting_kept(finished),
            watching(name, stderr=True) as watch,
            tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench.") as home,
        ):
            found = measure(name, claim, replace(ask, home=Path(home)), finished, watch)
        (draft / "results.json").write_bytes(records.dumps(found))
        if claim.details:
            (draft / "report.md").write_text(claim.details(found))
    finished.drop()
    return found
