"""What the proof measures: programs that run in processes of their own.

Each program writes its file whenever it knows more, so that what there is stays when it is ended.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import signal
import sys
import time
import tomllib
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from functools import cache
from importlib import import_module, metadata
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from pipeline import Accelerated
from pipeline.benchmark import measure, task
from pipeline.benchmark.rounds import turns
from pipeline.data import parquet, read
from pipeline.data.files import parquet_files
from pipeline.optional import available, load
from pipeline.system import gpu, hardware
from tools.gpu_proof.hand import ByHand

LIBRARIES = {
    "cuda": ("cupy", "cudf", "cuml", "xgboost", "dask_cudf", "dask_cuda", "cuml.dask"),
    "cpu": ("numpy", "pandas", "sklearn", "xgboost", "dask.dataframe", "distributed"),
}
SIZES = {"cuda": 2**31, "cpu": 2**26}
"""Bytes of the array that is copied within a device, and how often."""
COPIES = 7
QUESTIONS: dict[str, dict[str, Any]]
QUESTIONS = tomllib.loads(Path(__file__).with_name("questions.toml").read_text("utf-8"))
MOST_SECONDS = 60.0
"""For a question; the first one of a process imports the libraries."""


def imports(given: argparse.Namespace) -> int:
    """Import every library, compile the kernels of a small fit, and note what is installed."""
    record: dict[str, Any] = {
        "machine": asdict(hardware.describe()),
        "gpu": asdict(gpu.probe()),
        "packages": {each.metadata["Name"]: each.version for each in metadata.distributions()},
        "SCIPY_ARRAY_API": os.environ.get("SCIPY_ARRAY_API"),
        "seconds": {},
    }

    def timed(name: str, work: Callable[[], object]) -> None:
        start = time.perf_counter()
        work()
        record["seconds"][name] = round(time.perf_counter() - start, 3)
        write(given.out, record)

    for name in LIBRARIES[given.device]:
        timed(f"import {name}", lambda name=name: import_module(name))  # type: ignore[misc]
    X = pd.DataFrame({"x": np.arange(1000.0) % 7, "t": ["a", "b", None, "c"] * 250})
    encoder = make_column_transformer((StandardScaler(), ["x"]), (OneHotEncoder(), ["t"]))
    model = Accelerated(make_pipeline(encoder, LogisticRegression()), device=given.device)
    for which in ("first fit", "second fit"):
        timed(which, lambda: model.fit(X, X["x"] > 2).predict(X))
    return 0


def flights(given: argparse.Namespace) -> int:
    """Fit each program of the flights with ``host_bytes=0``, and count the bytes to the host.

    Our log books them, and where there is CUPTI the driver counts them.
    """
    found = task.load("flights")
    path, (_, split) = found.prepare(Path("data")), found.split(None)
    X, y = parquet.read_parquet(path, found.features, found.target, split.train, given.device)
    rows, _ = parquet.read_parquet(path, found.features, found.target, split.test, given.device)
    if given.rows:
        X, y, rows = (table[: given.rows] for table in (X, y, rows))
    calls = {"fit": (X, y), "predict_proba": (rows,)}
    moved: dict[str, dict[str, Any]] = {
        f"{p}, {call}": {} for p in found.pipelines for call in calls
    }
    counting: Any = copies if given.device == "cuda" and available("cupti") else nullcontext
    for pipeline, make in found.pipelines.items():
        model, booked = Accelerated(make(0), device=given.device, host_bytes=0), 0
        for call, tables in calls.items():
            try:
                with counting() as counted:
                    getattr(model, call)(*tables)
            except Exception as error:  # noqa: BLE001  # the others are to be seen too
                traceback.print_exc()
                moved[f"{pipeline}, {call}"] = {"why": repr(error)}
                break
            before, booked = booked, model.execution_log_.to_host_bytes
            moved[f"{pipeline}, {call}"] = {
                "rows": len(tables[0]),
                "booked": booked - before,
                "counted": None if counted is None else counted["DTOH"],
            }
            write(given.out, moved)
        write(given.out, moved)
    return int(any("why" in each for each in moved.values()))


_OPEN: list[Counter[str]] = []
"""Of the blocks that count now; a copy counts in each."""


@contextmanager
def copies() -> Iterator[Counter[str]]:
    """Count the bytes that the driver copies in the block, by kind, as ``"HTOD"`` and ``"DTOH"``.

    By CUPTI's activity records. The counts are complete when the block has ended. Blocks may
    follow and hold one another.
    """
    cupti, counted = _cupti(), Counter[str]()
    _finish(cupti)
    cupti.activity_enable(cupti.ActivityKind.MEMCPY)
    _OPEN.append(counted)
    try:
        yield counted
    finally:
        _finish(cupti)
        _OPEN[:] = [each for each in _OPEN if each is not counted]
        if not _OPEN:
            cupti.activity_disable(cupti.ActivityKind.MEMCPY)


@cache
def _cupti() -> Any:
    """Return CUPTI, told once a process where its records go."""
    cupti: Any = import_module("cupti.cupti")

    def completed(activities: list[Any]) -> None:
        for each in activities:
            if each.kind == cupti.ActivityKind.MEMCPY:
                for counted in _OPEN:
                    counted[cupti.ActivityMemcpyKind(each.copy_kind).name] += each.bytes

    cupti.activity_register_callbacks(lambda: (8 * 2**20, 0), completed)
    return cupti


def _finish(cupti: Any) -> None:
    """Wait for the device, and for the records of what it has done, full buffers or not."""
    import_module("cupy").cuda.Device().synchronize()
    cupti.activity_flush_all(1)


def hand(given: argparse.Namespace) -> int:
    """Run programs of `synthetic` beside the same by hand, in turns of random order."""
    found = task.load("synthetic")
    path, (_, split) = found.prepare(Path("data"), rows=given.rows), found.split(None)
    table = sum(read.agree(parquet_files(path), [*found.features, found.target]))
    runs = []
    for pipeline in given.pipelines:
        job = task.Job(task=found.name, pipeline=pipeline, variant=given.device, path=path, seed=0)
        stages: list[dict[str, float]] = []

        def ours(job: Any = job, stages: Any = stages) -> tuple[Any, Any]:
            outcome = measure.measure_once(found, found.pipeline(job.pipeline, 0), job)
            stages.append(outcome.stages)
            return outcome.y_true, outcome.predicted

        def theirs(pipeline: str = pipeline) -> tuple[Any, Any]:
            return ByHand(given.device, 0).run(pipeline, path, split)

        ways: dict[str, Callable[[], tuple[Any, Any]]] = {"ours": ours, "hand": theirs}
        predicted = {name: way() for name, way in ways.items()}
        auc = {name: roc_auc_score(*each) for name, each in predicted.items()}
        row, rows_test = 4 * len(found.features), len(predicted["ours"][0])
        least = {"read": table, "preprocess": table + given.rows * row, "predict": rows_test * row}
        runs.append({"pipeline": pipeline, "rows": given.rows, "auc": auc, "least_bytes": least})
        seconds: dict[str, list[float]] = {"ours": [], "hand": []}
        for name in turns(list(ways), given.repeats, 0):
            start = time.perf_counter()
            ways[name]()
            seconds[name].append(time.perf_counter() - start)
            runs[-1] |= {"seconds": seconds, "stages": stages[1:]}  # without the warm-up
            write(given.out, runs)
    return 0


def bandwidth(given: argparse.Namespace) -> int:
    """Copy an array within a device, some times."""
    xp, size = load("cupy" if given.device == "cuda" else "numpy"), SIZES[given.device]
    source, target, seconds = xp.ones(size, "uint8"), xp.empty(size, "uint8"), []
    for _ in range(COPIES):
        start = time.perf_counter()
        target[:] = source
        if given.device == "cuda":
            xp.cuda.Device().synchronize()
        seconds.append(time.perf_counter() - start)
    write(given.out, {"size": size, "seconds": seconds})
    return 0


def probe(given: argparse.Namespace) -> int:
    """Ask the questions of ``questions.toml`` that have no answer yet.

    They share a process until one ends it or fails; one that is ``alone`` has its own.
    """
    answers = json.loads(given.out.read_text("utf-8")) if given.out.exists() else {}
    no_gpu = gpu.why_unusable(gpu.probe(), os.environ)
    print(no_gpu, flush=True)
    due = {n: q for n, q in QUESTIONS.items() if answers.get(n, {}).get("ask") != q["ask"]}
    others = {*multiprocessing.active_children()}
    asker: ProcessPoolExecutor | None = None
    for name, question in {} if no_gpu else due.items():
        if asker is None or question.get("alone"):
            _end_askers(others)
            asker = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
        try:
            found = asker.submit(_answer, question["ask"]).result(MOST_SECONDS)
        except Exception as error:  # noqa: BLE001  # of the question, its process, or its time
            found = f"{type(error).__name__}: {error}"
            asker = None
        answers[name] = {**question, "found": found}
        write(given.out, answers)
        print(f"{name}: {found}", flush=True)
        asker = None if question.get("alone") else asker
    _end_askers(others)
    return 0


def _answer(question: str) -> str:
    known: dict[str, Any] = {}
    try:
        exec(question, known)  # noqa: S102  # our own lines
    except Exception as error:
        raise RuntimeError(f"{type(error).__name__}: {error}") from None
    return repr(known["answer"])


def after_a_killed_worker(protocol: str) -> list[Any]:
    """Return whether a cluster of one GPU has another worker after a kill, and the seconds."""
    from dask_cuda import LocalCUDACluster
    from distributed import Client

    with (
        LocalCUDACluster(CUDA_VISIBLE_DEVICES="0", protocol=protocol) as cluster,
        Client(cluster) as client,
    ):
        first = client.submit(os.getpid, pure=False).result(timeout=30)
        os.kill(first, signal.SIGKILL)
        start = time.perf_counter()
        second = client.submit(os.getpid, pure=False).result(timeout=20)
        return [first != second, time.perf_counter() - start]


def _end_askers(others: set[BaseProcess]) -> None:
    for child in {*multiprocessing.active_children()} - others:
        child.kill()


def write(path: Path, found: Any) -> None:
    """Write what was found so far, as JSON."""
    path.write_text(json.dumps(found, indent=2, default=str) + "\n", "utf-8")


PROGRAMS = {each.__name__: each for each in (imports, flights, hand, bandwidth, probe)}


def main() -> int:
    """Run one of the programs; return 0 if nothing failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", choices=PROGRAMS)
    parser.add_argument("--device", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--pipelines", nargs="+")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    return PROGRAMS[given.program](given)


if __name__ == "__main__":
    sys.exit(main())
