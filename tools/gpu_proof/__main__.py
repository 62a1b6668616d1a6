"""Run the stages one after the other, each within its share of the time; write what came of them.

``proof.json`` is written anew after every command. The next call leaves out what has run to its
end on the same code and goes on.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from pipeline import records
from pipeline.benchmark.task import pick
from pipeline.errors import PipelineError
from pipeline.system import devices, environment
from pipeline.system.atomic import write_bytes, write_text
from tools.bench.record import fingerprint, say
from tools.gpu_proof import process, record, verdicts
from tools.gpu_proof.record import Proof, Ran
from tools.gpu_proof.stages import STAGES, Ask, Command

ROWS = (100_000, 1_000_000, 10_000_000)
MINUTES = 9.0
LEAST_REPEATS = 3
SOME_FAILED = 1
"""Exit code of pytest when all tests have run and some have failed."""


class Due(NamedTuple):
    """A command that is to run."""

    stage: str
    command: Command
    share: float
    source: str
    options: Command
    """What it is told besides."""


def due(ask: Ask, stages: list[str], before: Mapping[str, Ran], *, failed: bool) -> Iterator[Due]:
    """Yield the commands that have not run to their end on this code; or those that have failed."""
    for stage in stages:
        source = record.source(stage)
        for command, share in STAGES[stage](ask):
            ran = before.get(str(command))
            if not failed and (ran is None or ran.code == process.OVER or ran.source != source):
                yield Due(stage, command, share, source, [])
            elif failed and ran and ran.code not in (0, process.OVER):
                some = stage == "tests" and ran.code == SOME_FAILED
                # What passed is not run again, so it counts for the code it ran on.
                source_ = ran.source if some else source
                yield Due(stage, command, share, source_, _alone(command) if some else [])


def _alone(tests: Command) -> Command:
    return ["--last-failed", "--junitxml", str(Path(tests[-1]).with_suffix(".again.xml"))]


def run(ask: Ask, what: list[Due], minutes: float) -> Iterator[Ran]:
    """Yield commands as they end; each may take its share of the time that is left."""
    end = time.monotonic() + 60 * minutes
    for number, each in enumerate(what):
        part = each.share / sum(other.share for other in what[number:])
        yield _ran(each, ask.file(f"{each.stage}.log"), part * (end - time.monotonic()))


def _ran(each: Due, log: Path, seconds: float) -> Ran:
    words = [*each.command, *each.options]
    say(f"[{each.stage}] {' '.join(words)} (at most {seconds:.0f} s)")
    start = time.monotonic()
    with log.open("ab") as output:
        code = process.run(words, output, max(seconds, 0.1))
    taken = time.monotonic() - start
    say(f"[{each.stage}] {process.said(code)}, {taken:.0f} s")
    return Ran(stage=each.stage, command=each.command, seconds=taken, code=code, source=each.source)


def prove(ask: Ask, stages: list[str], minutes: float, *, failed: bool = False) -> list[Ran]:
    """Run what is due, write the record after each command and the verdicts; return what ran."""
    ask.file("tests").mkdir(parents=True, exist_ok=True)
    about = fingerprint("tools.gpu_proof", environment.load_average(), environment.threads())
    known = {str(ran.command): ran for ran in record.earlier(ask, about["machine"].gpus)}
    now: list[Ran] = []
    for ran in run(ask, list(due(ask, stages, known, failed=failed)), minutes):
        now.append(ran)
        known[str(ran.command)] = ran
        proof = Proof(
            schema=record.SCHEMA, rehearsal=ask.rehearsal, rows=list(ask.rows),
            ran=list(known.values()), **about,
        )  # fmt: skip
        write_bytes(ask.file("proof.json"), records.dumps(proof))
    write_text(ask.file("report.md"), verdicts.report(ask, about["machine"], known))
    return now


def arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(
        prog=".venv/bin/python -m tools.gpu_proof", description=__doc__
    )
    parser.add_argument("--out", type=Path, help="folder of the records")
    parser.add_argument("--stages", default=",".join(STAGES), help="with commas")
    parser.add_argument("--rows", type=int, nargs="+", default=list(ROWS))
    parser.add_argument("--repeats", type=int, default=LEAST_REPEATS)
    parser.add_argument("--minutes", type=float, default=MINUTES, help="for this call")
    parser.add_argument("--failed", action="store_true", help="run what has failed, nothing else")
    parser.add_argument("--strict", action="store_true", help="warnings fail a test")
    parser.add_argument("--rehearse", action="store_true", help="on the CPU; proves nothing")
    given = parser.parse_args()
    if given.repeats < LEAST_REPEATS:
        parser.error(f"--repeats must be at least {LEAST_REPEATS}, as of a comparison")
    given.out = given.out or Path(
        "reports/rehearsal" if given.rehearse else "docs/results/gpu-proof"
    )
    return given


def main() -> int:
    """Prove; return 0 if every command ended with 0."""
    # A shell makes what it runs in the background ignore it, and the children inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    given = arguments()
    device, rows = "cpu" if given.rehearse else "cuda", tuple(sorted(given.rows))
    ask = Ask(given.out, device, rows, given.repeats, strict=given.strict)
    try:
        stages = [pick(name, STAGES, "stage") for name in given.stages.split(",")]
        # The probe tells what a machine lacks.
        if stages != ["probe"]:
            devices.choose(device)
        ran = prove(ask, stages, given.minutes, failed=given.failed)
    except PipelineError as error:
        say(f"[gpu-proof] {error}")
        return error.exit_code
    print(ask.file("report.md").read_text(), end="")
    return int(any(each.code for each in ran))


if __name__ == "__main__":
    sys.exit(main())
