"""``make gpu-proof``: what is run, in which order, and what it shows.

Commands run one after the other, each in a process of its own, which ends after a time. After each
of them its record is written to ``OUT/NAME.json``, and the next call goes on from there: it leaves
out what has ended on the same code, packages and GPU. What ran out of time comes last.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from importlib import import_module, metadata
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from pipeline import Accelerated
from pipeline.errors import PipelineError
from pipeline.system import atomic, devices, gpu, hardware
from tools.bench.record import code, hashed, say
from tools.gpu_proof.hand import beside_hand, plain
from tools.gpu_proof.sizes import sizes

LIBRARIES = {
    "cuda": ("cudf", "cupy", "cuml", "xgboost", "dask_cudf", "dask_cuda", "cuml.dask"),
    "cpu": ("pandas", "numpy", "sklearn", "xgboost", "dask.dataframe", "distributed"),
}
FIRST = ["semantics", "boosting"]
"""Files of the tests that matter most, beside those that the stand-ins pass as well."""
ALONE = ["memory", "copies", "clusters"]
"""Files of the tests that look at the memory of the whole GPU, or take it."""
COMPARED = 1_000_000
"""Rows of the generated table that is compared: scikit-learn takes twenty seconds for it."""
GRACE = 15.0
"""Seconds in which a command that is interrupted may write what it has."""
OVER = -1000
"""In place of an exit code: the time was over."""
MOST_HAND = 1.1
"""How many times as long as the program written by hand ours may take."""
PLUGINS = ["-p", "xdist", "-p", "_hypothesis_pytestplugin"]
"""Those of the tests; others that are installed may warn, which `strict` takes for a failure."""
STAGES = "import,tests,memory,copies,clusters,hand,sizes,report,plain,strict,examples"


class Command(NamedTuple):
    """What a Python is called with.

    It begins only if `floor` seconds are left, and is ended after `ceiling` seconds.
    """

    name: str
    words: list[str]
    floor: float = 60.0
    ceiling: float = 1800.0

    @property
    def stage(self) -> str:
        """The name for ``--stages``."""
        return self.name.partition("-")[0]


def commands(given: argparse.Namespace) -> list[Command]:
    """Return the commands in the order in which they run: what matters most comes first."""
    files = {path.stem.removeprefix("test_") for path in Path("tests/gpu").glob("test_*.py")}
    first = [f"tests/gpu/test_{name}.py" for name in FIRST]
    rest = [f"tests/gpu/test_{name}.py" for name in sorted(files - {*FIRST, *ALONE})]
    # The other contract tests need no GPU, but may need packages that are not there.
    contract = sorted(Path("tests/contract").glob("test_*.py"))
    first += [str(path) for path in contract if "EVERYWHERE" in path.read_text("utf-8")]
    several, lenient = ["--numprocesses", str(given.processes)], ["-W", "default"]
    where = ["--device", given.device, "--out"]
    proves = "gpu" if given.device == "cuda" else "rehearsal"

    def work(name: str) -> Command:
        of = ["-m", "tools.gpu_proof", *where, str(given.out)]
        ceiling = 180.0 if name == "sizes" else 600.0  # it sees to its time itself
        return Command(name, [*of, "--rows", str(given.rows), "--work", name], ceiling=ceiling)

    def tests(name: str, *words: str) -> Command:
        options = [*PLUGINS, "-m", "gpu", "-q", "--continue-on-collection-errors"]
        options.append(f"--junitxml={given.out}/{name}.xml")
        return Command(name, ["-m", "pytest", *options, *words])

    def report(task: str, repeats: int, *pipelines: str) -> Command:
        name = "-".join([task, *pipelines])
        out = f"{given.out.parent}/{name}-{proves}"
        words = ["-m", "pipeline", "report", task, *where, out, "--repeats", str(repeats)]
        if pipelines:
            rows = min(COMPARED, given.rows)
            words += ["--rows", str(rows), "--pipelines", ",".join(pipelines)]
        return Command(f"report-{name}", words, ceiling=3600.0)

    return [
        work("import"),
        tests("tests-first", *several, *lenient, *first),
        tests("tests-rest", *several, *lenient, *rest),
        *(tests(name, *lenient, f"tests/gpu/test_{name}.py") for name in ALONE),
        work("hand"),
        work("sizes"),
        report("flights", 5),
        report("synthetic", 5, "boosting"),
        work("plain"),
        report("synthetic", 3, "logistic"),
        tests("strict", *several, *first, *rest),
        Command(
            "examples",
            [
                *("-m", "tools.examples", *where, f"{given.out}/examples.jsonl"),
                *("--processes", str(given.processes)),
            ],
        ),
    ]


def about(device: str) -> dict[str, Any]:
    """Return the hardware, the driver and the packages, and a name for them with the code."""
    packages = {each.metadata["Name"]: each.version for each in metadata.distributions()}
    found = {"device": device, "gpu": asdict(gpu.probe()), "packages": packages}
    of = hashed(found, code("pipeline", "datasets", "tasks", "tests", "tools"))
    return {"of": of, "machine": asdict(hardware.describe()), **found}


def prove(given: argparse.Namespace) -> int:
    """Run what is due for as long as there is time; return 0 if all that was asked for is met."""
    given.out.mkdir(parents=True, exist_ok=True)
    asked = [each for each in commands(given) if each.stage in given.stages]
    end, here = time.monotonic() + 60 * given.minutes, about(given.device)
    before = {each.name: read(given.out, each.name) for each in asked}
    now = {name: each for name, each in before.items() if each.get("of") == here["of"]}
    codes = {name: each.get("code", OVER) for name, each in now.items()}
    due = [each for each in asked if codes.get(each.name, OVER) == OVER]
    for command in sorted(due, key=lambda each: each.name in codes):  # what was over comes last
        start = time.monotonic()
        limit = min(end - start, command.ceiling)
        if limit < command.floor:
            say(f"[{command.name}] left for the next call")
            continue
        say(f"[{command.name}] {' '.join(command.words)} (at most {limit:.0f} s)")
        for old in (f"{command.name}.xml", f"{command.name}-found.json"):
            (given.out / old).unlink(missing_ok=True)
        with (given.out / f"{command.name}.log").open("wb") as log:
            code = run(command.words, log, limit)
        ended = {"code": code, "seconds": round(time.monotonic() - start, 1)}
        # A process that is killed may leave none, or a part of one.
        with suppress(FileNotFoundError, ElementTree.ParseError):
            ended |= tested(given.out / f"{command.name}.xml")
        write(given.out, command.name, {**command._asdict(), **ended, **here})
        say(f"[{command.name}] {ended}")
    rows = list(verdicts(given, asked))
    print("\n".join(f"{'met' if met else 'NOT MET':8} {what}" for what, met in rows))
    return int(not all(met for _, met in rows))


def run(words: list[str], log: Any, seconds: float) -> int:
    """Return the exit code of a program, a signal's negative, or OVER.

    Whatever it started ends with it.
    """
    more = {"PYTHONUNBUFFERED": "1", "PYTHONFAULTHANDLER": "1"}
    more["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    if "--numprocesses" in words:  # they share the cores
        more["OMP_NUM_THREADS"] = "1"
    child = subprocess.Popen(
        [sys.executable, *words], stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
        env={**os.environ, **more},
    )  # fmt: skip
    try:
        return child.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            child.wait(GRACE)
        return OVER
    finally:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def tested(report: Path) -> dict[str, Any]:
    """Return how many tests ran, which ones failed, and why others were skipped."""
    cases = list(ElementTree.parse(report).iter("testcase"))
    reasons = [skip.attrib["message"] for case in cases for skip in case.iter("skipped")]
    failed = [
        f"{case.attrib['classname']}::{case.attrib['name']}"
        for case in cases
        if case.find("failure") is not None or case.find("error") is not None
    ]
    return {"ran": len(cases) - len(reasons), "failed": failed, "skipped": dict(Counter(reasons))}


def verdicts(given: argparse.Namespace, asked: list[Command]) -> Iterator[tuple[str, bool]]:
    """Yield what was to be shown, and whether it was; what has not run is not met."""
    for command in asked:
        record = read(given.out, command.name)
        code = record.get("code")
        ended = {None: "not run", OVER: "its time was over"}.get(code, f"exit code {code}")
        yield f"{command.name}: {ended}, {record.get('seconds', 0):,.0f} s", code == 0
        if ran := record.get("ran"):
            n, failed = ran + sum(record["skipped"].values()), record["failed"]
            yield f"{command.name}: {ran} of {n} tests ran, {len(failed)} failed", code == 0
        elif ran == 0:
            yield f"{command.name}: all tests were skipped", False
    for size in read(given.out, "hand-found").get("sizes", ()):
        ours, hand = ([sum(run.values()) for run in size["runs"][way]] for way in ("ours", "hand"))
        share = float(np.median(ours) / np.median(hand)) if hand else np.inf
        auc = "AUC {ours:.4f} and {hand:.4f}".format(**size["auc"])
        shown = f"{size['rows']:,} rows: {share:.2f} times as long as by hand"
        yield f"{shown} (at most {MOST_HAND}), {auc}", share <= MOST_HAND


# What runs in a process of its own.


def imports(given: argparse.Namespace) -> Iterator[dict[str, float]]:
    """Import every library, fit a small pipeline twice, and yield the seconds."""
    X = pd.DataFrame({"x": np.arange(1000.0) % 7, "t": ["a", "b", None, "c"] * 250})
    encoder = make_column_transformer((StandardScaler(), ["x"]), (OneHotEncoder(), ["t"]))
    model = Accelerated(make_pipeline(encoder, LogisticRegression()), device=given.device)
    jobs: dict[str, Callable[[], object]] = {
        f"import {name}": partial(import_module, name) for name in LIBRARIES[given.device]
    }
    jobs |= dict.fromkeys(("first fit", "second fit"), lambda: model.fit(X, X["x"] > 2).predict(X))
    seconds = {}
    for name, job in jobs.items():
        start = time.perf_counter()
        job()
        seconds[name] = round(time.perf_counter() - start, 3)
        yield seconds


WORK = {"import": imports, "hand": beside_hand, "sizes": sizes, "plain": plain}


def read(out: Path, name: str) -> dict[str, Any]:
    """Return a record; an empty one where there is none."""
    path = out / f"{name}.json"
    return dict(json.loads(path.read_text("utf-8"))) if path.exists() else {}


def write(out: Path, name: str, found: dict[str, Any]) -> None:
    """Write a record."""
    atomic.write_text(out / f"{name}.json", json.dumps(found, indent=2) + "\n")


def main() -> int:
    """Prove, or do the work of one command; return 0 if all went well."""
    # A shell makes what it runs in the background ignore it, and the children inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    parser = argparse.ArgumentParser(prog=".venv/bin/python -m tools.gpu_proof")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--stages", default=STAGES, help="with commas")
    parser.add_argument("--processes", type=int, default=4, help="that share the GPU in tests")
    parser.add_argument("--rows", type=int, default=10_000_000, help="of the task synthetic")
    parser.add_argument("--minutes", type=float, default=9.0, help="for this call")
    parser.add_argument("--device", default="cuda", help="cpu is a rehearsal and proves nothing")
    parser.add_argument("--work", choices=WORK, help=argparse.SUPPRESS)
    given = parser.parse_args()
    home = "docs/results" if given.device == "cuda" else "build"
    given.out = given.out or Path(home, "gpu-proof")
    if given.work:
        for found in WORK[given.work](given):
            write(given.out, f"{given.work}-found", found)
        return 0
    given.stages = given.stages.split(",")
    if strange := {*given.stages} - {each.stage for each in commands(given)}:
        parser.error(f"no such stage: {', '.join(strange)}")
    try:
        devices.choose(given.device)
    except PipelineError as error:
        say(f"[gpu-proof] {error}")
        return error.exit_code
    return prove(given)


if __name__ == "__main__":
    sys.exit(main())
