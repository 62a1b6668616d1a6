"""One fit of a table in files, in a process of its own: in memory, from the disk, or by workers.

What it may take can be limited hard; what it took is the kernel's own count.
"""

from __future__ import annotations

import dataclasses
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Literal

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler, TargetEncoder
from xgboost import XGBClassifier

import pipeline
from datasets import synthetic
from datasets.synthetic.recipe import Recipe
from pipeline.data import parquet
from pipeline.data.files import parquet_files
from pipeline.errors import PipelineError
from tools.bench import rss

ROOT = Path(__file__).resolve().parents[2]
Way = Literal["memory", "stream", "cluster"]
TREES = 50
FRUGAL = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_MMAP_THRESHOLD_": "65536",
}
"""Environment under a limit: else allocators keep what was freed, and the limit counts it."""

STACK = 2 * 2**20
"""Bytes of a thread's stack: all of it counts against the limit, and there are 20 threads."""

STEPS = {"columntransformer": "preprocess", "xgbclassifier": "train"}
"""Step of the pipeline -> what it is called in the tables."""

LEAST_ROOM = 224 * 2**20
"""Bytes that even the fit of a short table from the disk needs beyond its libraries."""


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A fit to be made.

    Parameters
    ----------
    way : {"memory", "stream", "cluster"}
        One frame; partitions that this process reads in turn; partitions that workers read.
    folder : str
        Of the Parquet files.
    model : str
        Folder to save the model to.
    numbers, categories : sequence of str
        Columns to learn from.
    trees, bins, seed : int
        Bins: of a column, `max_bin` of XGBoost.
    limit_bytes : int
        Of the process from its start, set by the kernel (``RLIMIT_DATA``); 0: none.
    room_bytes : int
        The same, counted on top of what the process holds before it reads; 0: none.
    workers : int
        Of a cluster.
    """

    way: Way
    folder: str
    model: str
    numbers: list[str]
    categories: list[str]
    trees: int = TREES
    bins: int = 256
    seed: int = 0
    limit_bytes: int = 0
    room_bytes: int = 0
    workers: int = 0


class Fit(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a fit took; without `error`, what it made is in the folder of the job."""

    way: Way
    error: str
    """Class and text of what ended it; empty where it succeeded."""
    limit_bytes: int
    """Hard limit that held while it ran; 0: none."""
    start_bytes: int
    """Resident before the table was opened: the interpreter and its libraries."""
    peak_bytes: int
    """The most that was resident in the process, libraries included (VmHWM)."""
    seconds: float
    """From opening the files to the fitted model."""
    parts: dict[str, float]
    """Seconds of read, preprocess, gather and train; of a cluster also its start."""
    note: str
    """How the last step learnt, as the plan says it."""


def columns(recipe: Recipe) -> tuple[list[str], list[str]]:
    """Return the columns of numbers and of categories; dates and text are left out."""
    kinds = {name: column.kind for name, column in recipe.schema().items()}
    return [n for n, kind in kinds.items() if kind == "number"], [
        n for n, kind in kinds.items() if kind == "category"
    ]


def boosting(job: Job) -> Pipeline:
    """Return numbers filled and scaled, categories by their target, and boosted trees."""
    folds = StratifiedKFold(5, shuffle=True, random_state=job.seed)
    return make_pipeline(
        make_column_transformer(
            (make_pipeline(SimpleImputer(), StandardScaler()), job.numbers),
            (TargetEncoder(cv=folds), job.categories),
        ),
        XGBClassifier(n_estimators=job.trees, max_bin=job.bins, random_state=job.seed),
    )


def arrow_bytes(folder: Path, names: Sequence[str]) -> int:
    """Return the bytes of columns of a folder as one Arrow table, by its first row group.

    Dictionaries are left out, so it is a little less than they take.
    """
    files = [pq.ParquetFile(file) for file in parquet_files(folder)]
    group = files[0].read_row_group(0, columns=list(names))
    fixed = group.nbytes - sum(
        chunk.dictionary.nbytes
        for column in group.columns
        if pa.types.is_dictionary(column.type)
        for chunk in column.chunks
    )
    return int(fixed / len(group) * sum(file.metadata.num_rows for file in files))


def room(data_bytes: int) -> int:
    """Return what to leave a fit from the disk: less than twice the rows, or it would gather."""
    return max(data_bytes * 7 // 4, LEAST_ROOM)


def job(way: Way, recipe: Recipe, folder: Path, model: Path, **options: Any) -> Job:
    """Return a job on the files of a generated table."""
    numbers, categories = columns(recipe)
    return Job(
        way=way,
        folder=str(folder.resolve()),
        model=str(model.resolve()),
        numbers=numbers,
        categories=categories,
        **options,
    )


def run(todo: Job) -> Fit:
    """Make a fit in a process of its own, and return what it took; a process that dies says so."""
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "tools.bench.large", msgspec.json.encode(todo).decode()],
        cwd=ROOT,
        env={**os.environ, **(FRUGAL if todo.limit_bytes or todo.room_bytes else {})},
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=limiter(todo.limit_bytes),
    )
    if done.returncode == 0:
        return msgspec.json.decode(done.stdout, type=Fit)
    said = (done.stderr.strip().splitlines() or [""])[-1]
    return Fit(
        way=todo.way,
        error=f"the process ended with {done.returncode}: {said}",
        limit_bytes=todo.limit_bytes,
        start_bytes=0,
        peak_bytes=0,
        seconds=time.perf_counter() - start,
        parts={},
        note="",
    )


def limiter(limit_bytes: int) -> Callable[[], None]:
    """Return what sets the limits of a process before its program begins."""

    def limit() -> None:
        resource.setrlimit(
            resource.RLIMIT_STACK, (STACK, resource.getrlimit(resource.RLIMIT_STACK)[1])
        )
        if limit_bytes:
            resource.setrlimit(resource.RLIMIT_DATA, (limit_bytes, limit_bytes))

    return limit


def made(todo: Job) -> Fit:
    """Fit in this process, save the model and say what it took."""
    if todo.room_bytes:
        limit = rss.status("VmData") + todo.room_bytes
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    start_bytes = rss.now()
    parts: dict[str, float] = {}
    note = error = ""
    try:
        with ExitStack() as stack:
            if todo.way == "cluster":
                with _clock(parts, "start"):
                    stack.enter_context(pipeline.cluster("local", workers=todo.workers))
            with _clock(parts, "fit"):
                model = _fitted(todo, parts)
        note = model.plan_.placements[-1].note
        pipeline.save(model, todo.model)
    except PipelineError as caught:
        error = f"{type(caught).__name__}: {caught}"
    limit = resource.getrlimit(resource.RLIMIT_DATA)[0]
    return Fit(
        way=todo.way,
        error=error,
        limit_bytes=0 if limit == resource.RLIM_INFINITY else limit,
        start_bytes=start_bytes,
        peak_bytes=rss.peak(),
        seconds=parts.pop("fit"),
        parts=parts,
        note=note,
    )


def _fitted(todo: Job, parts: dict[str, float]) -> pipeline.Accelerated:
    names, path = [*todo.numbers, *todo.categories], Path(todo.folder)
    with _clock(parts, "read"):
        if todo.way == "memory":
            X, y = parquet.read_parquet(path, names, synthetic.TARGET, (), "cpu")
        else:
            X, y = pipeline.scan(path, names, synthetic.TARGET)
    model = pipeline.Accelerated(boosting(todo), device="cpu").fit(X, y)
    for entry in model.execution_log_.entries:
        name = "gather" if entry.call == "gather" else STEPS.get(entry.step, entry.step)
        parts[name] = parts.get(name, 0.0) + entry.seconds
    return model


@contextmanager
def _clock(parts: dict[str, float], name: str) -> Iterator[None]:
    start = time.perf_counter()
    try:
        yield
    finally:
        parts[name] = time.perf_counter() - start


def told(fit: Fit) -> str:
    """Return a fit as a line of progress."""
    parts = ", ".join(f"{name} {seconds:.1f}" for name, seconds in fit.parts.items())
    peak = fit.peak_bytes / 2**20
    return f"{fit.way}: {fit.seconds:.1f} s ({parts}), {peak:,.0f} MiB {fit.error}"


def auc(model: Path, recipe: Recipe, rows: int) -> float:
    """Return the AUC of a saved model on rows that come after those of a recipe.

    Parameters
    ----------
    model : Path
        Its folder.
    recipe : Recipe
        Of the table that it learnt from.
    rows : int
    """
    longer = dataclasses.replace(recipe, rows=recipe.rows + rows)
    (held_out,) = synthetic.frames(longer, recipe.rows, size=rows)
    numbers, categories = columns(recipe)
    fitted = pipeline.load(model, "cpu")
    scores = fitted.predict_proba(held_out[[*numbers, *categories]])[:, 1]
    return float(roc_auc_score(held_out[synthetic.TARGET], scores))


if __name__ == "__main__":
    answer = made(msgspec.json.decode(sys.argv[1], type=Job))
    sys.stdout.write(msgspec.json.encode(answer).decode())
