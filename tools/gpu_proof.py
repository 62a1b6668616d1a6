"""What only a GPU can show: ``make gpu-proof``.

Commands run one after the other, each in a process of its own, which ends after a time. After each
of them its record is written to ``OUT/NAME.json``, and the next call goes on from there: it leaves
out what has ended on the same code, packages and GPU. What ran out of time comes last.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
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
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from datasets.synthetic import DATES
from pipeline import Accelerated
from pipeline.data import parquet
from pipeline.errors import PipelineError
from pipeline.optional import load
from pipeline.system import atomic, devices, gpu, hardware
from pipeline.task import task
from tasks import synthetic
from tools.bench.record import say

LIBRARIES = {
    "cuda": ("cudf", "cupy", "cuml", "xgboost", "dask_cudf", "dask_cuda", "cuml.dask"),
    "cpu": ("pandas", "numpy", "sklearn", "xgboost", "dask.dataframe", "distributed"),
}
FIRST = ["semantics", "boosting"]
"""Files of the tests that matter most, beside those that the stand-ins pass as well."""
GRACE = 15.0
"""Seconds in which a command that is interrupted may write what it has."""
OVER = -1000
"""In place of an exit code: the time was over."""
MOST_HAND = 1.1
"""How many times as long as the program written by hand ours may take."""


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
    rest = sorted(files - {*FIRST, "clusters", "copies"})
    where = ["--device", given.device, "--out", str(given.out)]

    def work(name: str) -> Command:
        words = ["-m", "tools.gpu_proof", *where, "--rows", str(given.rows), "--work", name]
        return Command(name, words, ceiling=600.0)

    def tests(name: str, files: list[str], *more: str) -> Command:
        options = ["-m", "gpu", "-q", "-W", "default", f"--junitxml={given.out}/{name}.xml"]
        paths = [*more, *(f"tests/gpu/test_{file}.py" for file in files)]
        return Command(name, ["-m", "pytest", *options, *paths])

    def report(task: str, *more: str) -> Command:
        words = ["-m", "pipeline", "report", task, *where[:3], f"{given.out}/{task}", *more]
        return Command(f"report-{task}", words, floor=120.0, ceiling=3600.0)

    return [
        work("import"),
        tests("tests-first", FIRST, "tests/contract"),
        tests("tests-rest", rest),
        tests("tests-clusters", ["clusters"]),
        tests("copies", ["copies"]),
        work("hand"),
        report("flights"),
        report("synthetic", "--rows", str(given.rows)),
    ]


def about(device: str) -> dict[str, Any]:
    """Return the hardware, the driver and the packages, and a name for them with the code."""
    packages = {each.metadata["Name"]: each.version for each in metadata.distributions()}
    found = {"device": device, "gpu": asdict(gpu.probe()), "packages": packages}
    seen = hashlib.sha256(json.dumps(found, sort_keys=True).encode())
    for folder in ("pipeline", "datasets", "tasks", "tests", "tools"):
        for file in sorted(Path(folder).rglob("*.py")):
            seen.update(file.read_bytes())
    return {"of": seen.hexdigest()[:16], "machine": asdict(hardware.describe()), **found}


def prove(given: argparse.Namespace) -> int:
    """Run what is due for as long as there is time; return 0 if all that was asked for is met."""
    given.out.mkdir(parents=True, exist_ok=True)
    asked = [each for each in commands(given) if each.stage in given.stages]
    end, here = time.monotonic() + 60 * given.minutes, about(given.device)
    before = {each.name: read(given.out, each.name) for each in asked}
    codes = {name: each["code"] for name, each in before.items() if each.get("of") == here["of"]}
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
        write(given.out, command.name, {**command._asdict(), **ended, **here})
        say(f"[{command.name}] {ended}")
    rows = list(verdicts(given, asked))
    print("\n".join(f"{'met' if met else 'NOT MET':8} {what}" for what, met in rows))
    return int(not all(met for _, met in rows))


def run(words: list[str], log: Any, seconds: float) -> int:
    """Return the exit code of a program, a signal's negative, or OVER.

    Whatever it started ends with it.
    """
    child = subprocess.Popen(
        [sys.executable, *words], stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONFAULTHANDLER": "1"},
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


def verdicts(given: argparse.Namespace, asked: list[Command]) -> Iterator[tuple[str, bool]]:
    """Yield what was to be shown, and whether it was; what has not run is not met."""
    for command in asked:
        record = read(given.out, command.name)
        code = record.get("code")
        ended = {None: "not run", OVER: "its time was over"}.get(code, f"exit code {code}")
        yield f"{command.name}: {ended}, {record.get('seconds', 0):,.0f} s", code == 0
        if (report := given.out / f"{command.name}.xml").exists():
            (suite,) = ElementTree.parse(report).iter("testsuite")
            n, skipped = int(suite.attrib["tests"]), int(suite.attrib["skipped"])
            yield f"{command.name}: {n - skipped} of {n} tests ran, the others skipped", n > skipped
    if hand := read(given.out, "hand-found"):
        share = np.median(hand["seconds"]["ours"]) / np.median(hand["seconds"]["hand"])
        auc = f"AUC {hand['auc']['ours']:.4f} and {hand['auc']['hand']:.4f}"
        yield f"time of that by hand: {share:.2f} (at most {MOST_HAND}), {auc}", share <= MOST_HAND


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


def beside_hand(given: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Train the boosted trees of `synthetic` in turns with the same written by hand."""
    found = task.load("synthetic")
    path, split = found.data(Path("data"), rows=given.rows), found.split(None)[1]
    seconds: dict[str, list[float]] = {"ours": [], "hand": []}
    auc = {}
    for turn in range(4):  # the first one warms up
        for name, way in {"ours": ours, "hand": hand}.items():
            start = time.perf_counter()
            y, chances = way(found, path, split, given.device)
            seconds[name] += [time.perf_counter() - start] * (turn > 0)
            host = (np.asarray(getattr(each, "get", each.copy)()) for each in (y, chances))
            auc[name] = roc_auc_score(*host)
        if turn:
            yield {"rows": given.rows, "seconds": seconds, "auc": auc}


def ours(found: Any, path: Path, split: Any, device: str) -> tuple[Any, Any]:
    """Return the test rows' target and their probabilities of class 1."""
    X, y = parquet.read_parquet(path, found.features, found.target, split.train, device)
    model = Accelerated(found.pipeline("boosting", 0), device).fit(X, y)
    X, y = parquet.read_parquet(path, found.features, found.target, split.test, device)
    return y, model.predict_proba(X)[:, 1]


def hand(found: Any, path: Path, split: Any, device: str) -> tuple[Any, Any]:
    """Return the same by who knows cuDF, CuPy and XGBoost."""
    columns, df = [*found.features, found.target], load(LIBRARIES[device][0])
    train, test = (
        df.read_parquet(str(path), columns=columns, filters=list(rows))
        for rows in (split.train, split.test)
    )
    y, y_test = (_values(rows[found.target], "int32") for rows in (train, test))
    X, X_test = matrices(train, test, y, device)
    model = load("xgboost").XGBClassifier(
        n_estimators=60, max_depth=4, learning_rate=0.2, random_state=0, device=device
    )
    return y_test, model.fit(X, y).predict_proba(X_test)[:, 1]


def matrices(train: Any, test: Any, y: Any, device: str) -> list[Any]:
    """Return the matrices of training and test rows; texts become cross-fitted rates."""
    xp, both = load(LIBRARIES[device][1]), (train, test)
    fold = xp.arange(len(y)) % 5
    columns = [[_values(rows[name]) for rows in both] for name in synthetic.NUMBERS]
    columns += [[_values(rows[name].dt.weekday) for rows in both] for name in DATES]
    for name in [*synthetic.FEW, *synthetic.MANY]:
        known = train[name].astype("category").cat.categories
        codes, others = (
            _values(made.cat.set_categories(known).cat.codes.fillna(-1), "int64") + 1
            for made in (rows[name].astype("category") for rows in both)
        )
        cells, size = codes * 5 + fold, 5 * (len(known) + 1)
        total = xp.bincount(cells, y, minlength=size).reshape(-1, 5)
        n = xp.bincount(cells, minlength=size).reshape(-1, 5)
        sums, rows = total.sum(1, keepdims=True), n.sum(1, keepdims=True)
        columns.append([_rates(sums - total, rows - n)[codes, fold], _rates(sums, rows)[others, 0]])
    return [xp.stack([c[side] for c in columns], 1).astype("float32") for side in (0, 1)]


def _rates(total: Any, rows: Any) -> Any:
    return (total + 10 * total.sum(0) / rows.sum(0)) / (rows + 10)


def _values(series: Any, dtype: str = "float32") -> Any:
    """Return a column as an array of its device; what is missing is NaN."""
    missing = {"na_value": np.nan} if dtype == "float32" else {}
    if hasattr(series, "to_cupy"):
        return series.astype(dtype).to_cupy(**missing)
    return series.to_numpy(dtype, **missing)


WORK = {"import": imports, "hand": beside_hand}


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
    parser.add_argument("--out", type=Path, default=Path("docs/results/gpu-proof"))
    parser.add_argument("--stages", default="import,tests,copies,hand,report", help="with commas")
    parser.add_argument("--rows", type=int, default=10_000_000, help="of the task synthetic")
    parser.add_argument("--minutes", type=float, default=9.0, help="for this call")
    parser.add_argument("--device", default="cuda", help="cpu is a rehearsal and proves nothing")
    parser.add_argument("--work", choices=WORK, help=argparse.SUPPRESS)
    given = parser.parse_args()
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
