"""What only a GPU can show: ``make gpu-proof``.

Commands run one after the other, each in a process of its own. ``ran.json`` says after each of them
what has ended, and the next call goes on from there: it leaves out what has ended on the same code
and the same GPU. A command that ran out of time comes after the others.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import IO, Any, NamedTuple

from pipeline.errors import PipelineError
from pipeline.system import devices, gpu
from tools.gpu_proof import outcomes
from tools.gpu_proof.report import OVER, lines, said, tests_file

ROWS = [100_000, 1_000_000, 10_000_000]
PROGRAMS = ["boosting", "logistic"]
FIRST = ["semantics", "boosting", "csr", "inputs"]
"""Files of the tests that matter most."""
FLOOR = 60.0
"""Seconds that every command gets at least: a call ends when fewer are left."""
GRACE = 15.0
"""Seconds in which a command that is interrupted may write what it has."""
ENDED = (0, 1, 5)
"""Exit codes of pytest when the tests have run: all passed, some failed, there were none."""


class Step(NamedTuple):
    """A command, ``python`` being this one, of a stage of the proof."""

    stage: str
    words: list[str]

    @property
    def key(self) -> str:
        """What it is known by in the record."""
        return " ".join(self.words)


def steps(given: argparse.Namespace) -> Iterator[Step]:
    """Yield the commands in the order in which they run: what matters most comes first."""
    out, rows = given.out, str(given.rows[-1])
    few = rows if given.rehearse else "100000"

    def run(program: str, file: str, *options: str) -> list[str]:
        where = ["--device", given.device, "--out", str(out / file)]
        return ["python", "-m", "tools.gpu_proof.measure", program, *where, *options]

    def tests(names: list[str]) -> list[str]:
        files = [f"tests/gpu/test_{name}.py" for name in names]
        lenient = [] if given.strict else ["-W", "default"]
        return ["python", "-m", "pytest", "-m", "gpu", "-q", *lenient, *files]

    def report(task: str, folder: str, *options: str) -> list[str]:
        how = ["--device", given.device, "--repeats", str(given.repeats), "--out", folder]
        one = ["--pipelines", "logistic"] if given.rehearse else []
        return ["python", "-m", "pipeline", "report", task, *how, *one, *options]

    rest = sorted(path.stem.removeprefix("test_") for path in Path("tests/gpu").glob("test_*.py"))
    rest = [name for name in rest if name not in [*FIRST, "clusters"]]
    yield Step("import", run("imports", "imports.json"))
    yield Step("import", ["python", "-m", "pipeline", "doctor"])
    yield Step("tests", tests(FIRST))
    yield Step("strict", run("flights", "strict.json", "--rows", few))
    yield Step("tests", tests(rest))
    yield Step("tests", tests(["clusters"]))
    yield Step("probe", run("probe", "probe.json"))
    yield Step("copies", run("flights", "copies.json", *["--rows", rows][: 2 * given.rehearse]))
    repeats = ["--repeats", str(given.repeats)]
    yield Step("hand", run("hand", "hand.json", "--rows", rows, *repeats, "--pipelines", *PROGRAMS))
    yield Step("bandwidth", run("bandwidth", "bandwidth.json"))
    yield Step("flights", report("flights", str(out / "flights")))
    for size in map(str, given.rows):
        yield Step("synthetic", report("synthetic", f"{out}/synthetic-{size}", "--rows", size))
    profile = ["-m", "pipeline", "run", "flights", "--device", given.device]
    profile += ["--pipelines", "logistic", "--out", str(out / "profiled")]
    by = ["python", "-m", "cProfile", "-o", f"{out}/profile.pstats"]
    if shutil.which("nsys"):
        by = ["nsys", "profile", "--trace=cuda,nvtx", "--force-overwrite=true"]
        by += ["-o", f"{out}/nsys", "python"]
    yield Step("profile", [*by, *profile])


def code(device: str) -> str:
    """Return a name for the code and the GPU that are tested."""
    names = ("pipeline", "datasets", "tasks", "tests", "tools/gpu_proof")
    files = (file for name in names for file in sorted(Path(name).rglob("*")))
    kept = (file.read_bytes() for file in files if file.suffix in (".py", ".json", ".toml"))
    installed = sorted(f"{each.name} {each.version}" for each in metadata.distributions())
    what = hashlib.sha256(repr((device, gpu.probe().devices, sys.version, installed)).encode())
    for each in kept:
        what.update(each)
    return what.hexdigest()[:16]


def prove(given: argparse.Namespace) -> int:
    """Run what is due for as long as there is time; return 0 if all of it ended with 0."""
    given.out.mkdir(parents=True, exist_ok=True)
    record = given.out / "ran.json"
    ran: dict[str, Any] = json.loads(record.read_text("utf-8")) if record.exists() else {}
    end, codes = time.monotonic() + 60 * given.minutes, []
    for step in due(given, ran):
        left = end - time.monotonic()
        if left < FLOOR:
            say(f"[{step.stage}] left for the next call")
            continue
        say(f"[{step.stage}] {' '.join(step.words)} (at most {left:.0f} s)")
        start = time.monotonic()
        with (given.out / f"{step.stage}.log").open("ab") as log:
            codes.append(run(given, step, log, end))
        taken = round(time.monotonic() - start, 1)
        say(f"[{step.stage}] {said(codes[-1])}, {taken:.0f} s")
        # What passed is not run again where only the failed are: it counts for its own code.
        some = given.failed and step.stage == "tests"
        of = ran[step.key]["of"] if some else given.code
        ran[step.key] = {"stage": step.stage, "code": codes[-1], "seconds": taken, "of": of}
        draft = record.with_suffix(".draft")
        draft.write_text(json.dumps(ran, indent=2) + "\n", "utf-8")
        draft.replace(record)
    text = "\n".join(lines(given, ran)) + "\n"
    (given.out / "report.md").write_text(text, "utf-8")
    print(text, end="")
    return int(any(codes))


def due(given: argparse.Namespace, ran: dict[str, Any]) -> list[Step]:
    """Return the commands that have not ended on this code, or those that failed."""
    asked = [step for step in steps(given) if step.stage in given.stages]
    codes = [ran.get(step.key, {}).get("code") for step in asked]
    pairs = list(zip(asked, codes, strict=True))
    if given.failed:
        return [step for step, ended in pairs if ended not in (None, 0, OVER)]
    new = [s for s, e in pairs if e != OVER and ran.get(s.key, {}).get("of") != given.code]
    return [*new, *(step for step, ended in pairs if ended == OVER)]


def run(given: argparse.Namespace, step: Step, log: IO[bytes], end: float) -> int:
    """Run a command and return its exit code; a test that ends its process leaves the others."""
    if step.stage != "tests":
        return run_once(step.words, log, end - time.monotonic())
    path = tests_file(given)
    kept = ["-p", "tools.gpu_proof.outcomes", "--outcomes", str(path), "--code", given.code]
    words = [*step.words, *kept, *["--due-only"] * given.failed]
    if given.failed:
        for test, outcome in outcomes_of(step, path).items():
            if outcome in outcomes.BAD:
                outcomes.keep(path, test, outcomes.DUE, given.code)
    while True:
        before = progress(given)
        ended = run_once(words, log, end - time.monotonic())
        if ended in (*ENDED, OVER) or progress(given) <= before:
            break
    found = outcomes_of(step, path).values()  # those that an earlier call has run count as well
    if ended not in ENDED or not found:
        return ended or 5
    return int(any(each in (*outcomes.BAD, outcomes.DUE) for each in found))


def outcomes_of(step: Step, path: Path) -> dict[str, str]:
    """Return the outcome of each test in the files of a step, as far as it is known."""
    found = outcomes.read(path).items()
    return {test: each for test, (each, _) in found if test.partition("::")[0] in step.words}


def progress(given: argparse.Namespace) -> int:
    """Return how many tests have begun on this code."""
    found = outcomes.read(tests_file(given)).values()
    return sum(each != outcomes.DUE and code == given.code for each, code in found)


def run_once(words: list[str], log: IO[bytes], seconds: float) -> int:
    """Return the exit code of a program, a signal's negative, or OVER.

    Whatever it started ends with it.
    """
    child = subprocess.Popen(
        [sys.executable if word == "python" else word for word in words],
        stdout=log,
        stderr=subprocess.STDOUT,
        env={**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONFAULTHANDLER": "1"},
        start_new_session=True,
    )
    try:
        return child.wait(max(seconds, 0.1))
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            child.wait(GRACE)
        return OVER
    finally:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def say(text: str) -> None:
    """Tell whoever waits."""
    print(text, file=sys.stderr, flush=True)


def main() -> int:
    """Prove; return 0 if every command ended with 0."""
    # A shell makes what it runs in the background ignore it, and the children inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    parser = argparse.ArgumentParser(prog=".venv/bin/python -m tools.gpu_proof")
    parser.add_argument("--out", type=Path, help="folder of the records")
    parser.add_argument("--stages", help="with commas; see docs/gpu.md")
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=9.0, help="for this call; at least 1")
    parser.add_argument("--failed", action="store_true", help="run what has failed, nothing else")
    parser.add_argument("--strict", action="store_true", help="warnings fail a test")
    parser.add_argument("--rehearse", action="store_true", help="on the CPU; proves nothing")
    given = parser.parse_args()
    given.device, given.rows = "cpu" if given.rehearse else "cuda", sorted(given.rows)
    folder = "reports/rehearsal" if given.rehearse else "docs/results/gpu-proof"
    given.out, given.code = given.out or Path(folder), code(given.device)
    known = list(dict.fromkeys(step.stage for step in steps(given)))
    given.stages = given.stages.split(",") if given.stages else known
    if strange := {*given.stages} - {*known}:
        parser.error(f"no such stage: {', '.join(strange)}; there are {', '.join(known)}")
    try:
        # What stands in the way is what `import` shows.
        if given.stages != ["import"]:
            devices.choose(given.device)
        return prove(given)
    except PipelineError as error:
        say(f"[gpu-proof] {error}")
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
