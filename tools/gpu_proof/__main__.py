"""Run the stages one after the other, each within the time that is left; write what came of them.

``proof.json`` is written anew after every stage, so what was done is not lost with the machine.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from pipeline import devices, provenance, records
from pipeline.errors import PipelineError
from pipeline.publish import write_bytes, write_text
from pipeline.task import pick
from tools.bench.publication import Record, circumstances, say
from tools.gpu_proof import verdicts
from tools.gpu_proof.stages import STAGES, Ask, Command

SCHEMA: Final = "gpu_proof.results/1"
ROWS = (100_000, 1_000_000, 10_000_000)
MINUTES = 8.0
LEAST_REPEATS = 3


class Ran(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A command of a stage."""

    stage: str
    command: Command
    seconds: float
    code: int
    """Exit code; -1: its time was over."""


class Proof(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The record."""

    schema: Literal["gpu_proof.results/1"]
    rehearsal: bool
    """On the CPU: it proves nothing of a GPU."""
    rows: list[int]
    ran: list[Ran]


def load(path: Path) -> Proof:
    """Read and validate a record; see `pipeline.records.load` for what is raised."""
    return records.load(path, Proof, schema=SCHEMA, command="make gpu-proof")


def run(ask: Ask, stages: list[str], minutes: float) -> Iterator[Ran]:
    """Yield the commands of stages as they end; each may take what is left of the time."""
    end = time.monotonic() + 60 * minutes
    for stage in stages:
        for command in STAGES[stage](ask):
            say(f"[{stage}] {' '.join(command)}")
            yield _ran(stage, command, ask.file(f"{stage}.log"), end - time.monotonic())


def _ran(stage: str, command: Command, log: Path, left: float) -> Ran:
    program = [] if Path(command[0]).is_absolute() else [sys.executable]
    words = [*program, *(sys.executable if word == "{python}" else word for word in command)]
    start = time.monotonic()
    with log.open("ab") as output:
        try:
            done = subprocess.run(
                words, stdout=output, stderr=subprocess.STDOUT, timeout=max(left, 0.1), check=False
            )
            code = done.returncode
        except subprocess.TimeoutExpired:
            code = -1
    seconds = time.monotonic() - start
    say(f"[{stage}] {'its time was over' if code == -1 else f'exit code {code}'}, {seconds:.0f} s")
    return Ran(stage=stage, command=command, seconds=seconds, code=code)


def prove(ask: Ask, stages: list[str], minutes: float) -> Proof:
    """Run stages, write the record after each command and the verdicts at the end."""
    ask.out.mkdir(parents=True, exist_ok=True)
    about = circumstances("tools.gpu_proof", provenance.load_average(), 0)
    kept: list[Ran] = []
    proof = _proof(ask, kept, about)
    for ran in run(ask, stages, minutes):
        kept.append(ran)
        proof = _proof(ask, kept, about)
        write_bytes(ask.file("proof.json"), records.dumps(proof))
    write_text(ask.file("report.md"), verdicts.report(ask, proof.machine))
    return proof


def _proof(ask: Ask, ran: list[Ran], about: dict[str, Any]) -> Proof:
    rehearsal = ask.device == "cpu"
    rows = list(ask.rows)
    return Proof(schema=SCHEMA, rehearsal=rehearsal, rows=rows, ran=list(ran), **about)


def arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.gpu_proof", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/results/gpu-proof"))
    parser.add_argument("--stages", default=",".join(STAGES), help="with commas")
    parser.add_argument("--rows", type=int, nargs="+", default=list(ROWS))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--minutes", type=float, default=MINUTES, help="for all stages")
    parser.add_argument("--rehearse", action="store_true", help="on the CPU; proves nothing")
    given = parser.parse_args()
    if given.repeats < LEAST_REPEATS:
        parser.error(f"--repeats must be at least {LEAST_REPEATS}, as of a comparison")
    return given


def main() -> int:
    """Prove; return 0 if every command ended with 0."""
    given = arguments()
    try:
        stages = [pick(name, STAGES, "stage") for name in given.stages.split(",")]
        device = "cpu" if given.rehearse else devices.choose("cuda").name
    except PipelineError as error:
        say(f"[gpu-proof] {error}")
        return error.exit_code
    ask = Ask(given.out, device, tuple(sorted(given.rows)), given.repeats)
    proof = prove(ask, stages, given.minutes)
    print(ask.file("report.md").read_text(), end="")
    return int(any(ran.code for ran in proof.ran))


if __name__ == "__main__":
    sys.exit(main())
