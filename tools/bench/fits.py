"""Fits of generated tables: in memory, from the disk with a hard limit, by workers, of more rows.

Each is made in a process of its own. What it took is the kernel's own count.
"""

from __future__ import annotations

import dataclasses
import resource
import shutil
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Literal

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
from datasets.synthetic.rows import table
from pipeline.benchmark.worker import WorkerGone, status_bytes
from pipeline.data import parquet
from pipeline.data.files import parquet_files
from pipeline.errors import PipelineError
from tools.bench import apart, record, report
from tools.bench.claim import Ask, Case, Claim, here
from tools.bench.record import Cell, Report, Results, Run, Variant
from tools.bench.report import MIB, Target, in_mib

Way = Literal["memory", "stream", "cluster"]
FRUGAL = {**apart.SYSTEM_POOL, "MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "65536"}
"""Environment under a limit: else allocators keep what was freed, and the limit counts it."""
STEPS = {"columntransformer": "preprocess", "xgbclassifier": "train"}
"""Step of the pipeline -> its phase."""
LEAST_ROOM = 224 * MIB
"""Bytes that even the fit of a short table from the disk needs beyond its libraries."""
SHARE = 4
"""The limit is the bytes of the data divided by this, unless the settings have another."""
CELLS = 4_000_000
"""Of a file of the table under a limit: about a partition's, so that no file is split."""
MOST_APART = 0.002
"""Target for the difference of the areas under the curve."""
CLOCK = "from opening the files to the fitted model; AUC on {held_out} rows that no model saw"
ISOLATION = "a process each"


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
    trees: int = 50
    bins: int = 256
    seed: int = 0
    limit_bytes: int = 0
    room_bytes: int = 0
    workers: int = 0


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


def run_apart(job: Job) -> Report:
    """Make a fit in a process of its own, and return what it took; a process that dies says so."""
    start = time.perf_counter()
    environ = FRUGAL if job.limit_bytes or job.room_bytes else {}
    try:
        return apart.apart(fit, job, environ=environ, limit_bytes=job.limit_bytes)
    except WorkerGone as error:
        seconds, limit = {"fit": time.perf_counter() - start}, {"limit": job.limit_bytes}
        return Report(run=Run(seconds=seconds, bytes=limit, why=str(error)))


def fit(job: Job) -> Report:
    """Fit in this process, save the model and say what it took."""
    if job.room_bytes:
        limit = status_bytes("VmData") + job.room_bytes
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    start_bytes = apart.resident()
    seconds: dict[str, float] = {}
    note = why = ""
    try:
        with ExitStack() as stack:
            if job.way == "cluster":
                with _clock(seconds, "start"):
                    stack.enter_context(pipeline.cluster("local", workers=job.workers))
            with _clock(seconds, "fit"):
                model = _fit(job, seconds)
        note = model.plan_.placements[-1].note
        pipeline.save(model, job.model)
    except PipelineError as caught:
        why = f"{type(caught).__name__}: {caught}"
    limit = resource.getrlimit(resource.RLIMIT_DATA)[0]
    held = {"start": start_bytes, "peak": apart.peak()}
    held |= {} if limit == resource.RLIM_INFINITY else {"limit": limit}
    return Report(run=Run(seconds=seconds, bytes=held, note=note, why=why))


def _fit(job: Job, seconds: dict[str, float]) -> pipeline.Accelerated:
    names, path = [*job.numbers, *job.categories], Path(job.folder)
    with _clock(seconds, "read"):
        if job.way == "memory":
            X, y = parquet.read_parquet(path, names, synthetic.TARGET, (), "cpu")
        else:
            X, y = pipeline.scan(path, names, synthetic.TARGET)
    model = pipeline.Accelerated(boosting(job), device="cpu").fit(X, y)
    for entry in model.execution_log_.entries:
        name = "gather" if entry.call == "gather" else STEPS.get(entry.step, entry.step)
        seconds[name] = seconds.get(name, 0.0) + entry.seconds
    return model


@contextmanager
def _clock(seconds: dict[str, float], name: str) -> Iterator[None]:
    start = time.perf_counter()
    try:
        yield
    finally:
        seconds[name] = time.perf_counter() - start


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
    held_out = table(longer, recipe.rows, recipe.rows + rows).to_pandas()
    numbers, categories = columns(recipe)
    fitted = pipeline.load(model, "cpu")
    scores = fitted.predict_proba(held_out[[*numbers, *categories]])[:, 1]
    return float(roc_auc_score(held_out[synthetic.TARGET], scores))


@dataclasses.dataclass(frozen=True)
class Made:
    """A generated table in files, and fits of it.

    Parameters
    ----------
    ask : Ask
    recipe : Recipe
    partitions : int, optional
        Files of the table.
    """

    ask: Ask
    recipe: Recipe
    partitions: int | None = None

    @property
    def folder(self) -> Path:
        """The files, which are made when they are first asked for."""
        return synthetic.prepare(self.ask.home, self.recipe, self.partitions)

    @property
    def names(self) -> list[str]:
        """The columns that are read."""
        return [name for names in columns(self.recipe) for name in names]

    @property
    def bytes(self) -> int:
        """Of the columns that are read, as one Arrow table."""
        return arrow_bytes(self.folder, self.names)

    @property
    def room(self) -> int:
        """What to leave a fit from the disk: less than twice the rows, or it would gather."""
        return max(self.bytes * 7 // 4, LEAST_ROOM)

    def about(self, name: str, **facts: int) -> record.Case:
        """Return what the record says of it."""
        sizes = {"rows": self.recipe.rows, "columns": self.recipe.columns, "read": len(self.names)}
        return record.Case(name=name, facts={**sizes, "bytes": self.bytes, **facts})

    def run(self, way: Way, options: Mapping[str, int], *, may_fail: bool = False) -> Report:
        """Fit once and judge the model, if there are rows to judge it on."""
        model = self.ask.home / way
        shutil.rmtree(model, ignore_errors=True)
        numbers, categories = columns(self.recipe)
        made = run_apart(
            Job(
                way=way, folder=str(self.folder.resolve()), model=str(model.resolve()),
                numbers=numbers, categories=categories, seed=self.recipe.seed, **options,
            )
        )  # fmt: skip
        if made.run.why and not may_fail:
            raise WorkerGone(made.run.why)
        held_out = self.ask.settings.get("held_out")
        if held_out and not made.run.why:
            return Report(run=made.run, values={"auc": auc(model, self.recipe, *held_out)})
        return made


def _streaming(ask: Ask) -> Generator[Case, None, None]:
    small = Made(ask, Recipe(rows=ask.one("rows"), columns=ask.one("columns"), seed=ask.seed))
    if ask.wants("times"):
        trees = {"trees": ask.one("trees")}
        yield Case(
            small.about("times", bins=256, **trees),
            {
                "memory": here(partial(small.run, "memory", trees)),
                "stream": here(partial(small.run, "stream", {"room_bytes": small.room, **trees})),
            },
            warms_up=False,
        )
    rows, width = ask.one("limit_rows"), ask.one("limit_columns")
    wide = Made(ask, Recipe(rows=rows, columns=width, seed=ask.seed), max(1, rows * width // CELLS))
    if ask.wants("limit"):
        tight = {"trees": ask.one("limit_trees"), "bins": ask.one("limit_bins")}
        limit = ask.one("limit_mib") * MIB or wide.bytes // SHARE
        limited = {**tight, "limit_bytes": limit}
        yield Case(
            wide.about("limit", limit=limit, **tight),
            {
                "memory": here(partial(wide.run, "memory", tight, may_fail=True)),
                "limited": here(partial(wide.run, "memory", limited, may_fail=True)),
                "stream": here(partial(wide.run, "stream", limited, may_fail=True)),
            },
            most_repeats=1,
            warms_up=False,
        )


def _cluster(ask: Ask) -> Generator[Case, None, None]:
    for rows in ask.settings["rows"]:
        recipe = Recipe(rows=rows, columns=ask.one("columns"), seed=ask.seed)
        table = Made(ask, recipe, max(1, rows // 250_000))
        trees = {"trees": ask.one("trees")}
        workers = {"workers": ask.one("workers"), **trees}
        yield Case(
            table.about(f"{rows:,}", **workers),
            {
                "memory": here(partial(table.run, "memory", trees)),
                "cluster": here(partial(table.run, "cluster", workers)),
            },
            warms_up=False,
        )


def _within(results: Results, case: str) -> report.Found | None:
    found = results.cell(case, "stream")
    limit = results.case(case).facts["limit"]
    return (f"{in_mib(found.most('peak'))} MiB", found.most("peak") <= limit) if found else None


def _as_good(results: Results, case: str) -> report.Found | None:
    scores = [_score(results.cell(case, way)) for way in ("memory", "stream")]
    if None in scores:
        return None
    found = abs(scores[0] - scores[1])  # type: ignore[operator]
    return f"{found:.4f} apart", found <= MOST_APART


def _score(cell: Cell | None) -> float | None:
    return cell.values.get("auc") if cell else None


def _size(name: str) -> report.Table:
    """Return the table of fits of a case, with the case in words before it."""

    def caption(results: Results) -> str:
        facts = results.case(name).facts
        words = (
            f"{facts['rows']:,} rows, {facts['read']} columns of {facts['bytes'] / 1e9:.2f} GB, "
            f"{facts['trees']} trees with max_bin={facts['bins']}"
        )
        if "limit" not in facts:
            return f"{words}:"
        share = f"1/{facts['bytes'] / facts['limit']:.1f} of that"
        return f"{words}; the limit is {in_mib(facts['limit'])} MiB, {share}:"

    digits = 0 if name == "limit" else 1
    plain = [
        report.variant("way"),
        report.took("seconds", "fit", lambda seconds: f"{seconds:.{digits}f}"),
        report.most("peak, MiB", "peak", in_mib),
        report.most("before reading, MiB", "start", in_mib),
        report.value("AUC", "auc", "{:.4f}".format),
    ]
    ended = report.Column(
        "ended", lambda _, cell: f"`{cell.why}`" if cell.why else "fitted", right=False
    )
    ratio = report.factor("ratio", "fit", "memory")
    kept = [*plain[:3], plain[4], ended] if name == "limit" else [*plain, ratio]
    return report.Table(kept, cases=[name], caption=caption)


STREAMING = Claim(
    folder="streaming-cpu",
    settings={
        "rows": (1_000_000,), "columns": (64,), "trees": (20,), "held_out": (200_000,),
        "limit_rows": (2_500_000,), "limit_columns": (512,), "limit_trees": (3,),
        "limit_bins": (32,), "limit_mib": (0,),
    },
    repeats=5,
    cases=_streaming,
    names=("times", "limit"),
    variants=[
        Variant(name="memory", title="in memory"),
        Variant(name="limited", title="in memory, with the limit"),
        Variant(name="stream", title="from the disk"),
    ],
    clock=CLOCK,
    isolation=f"{ISOLATION}, one of each with the limit",
    tables=[_size("times"), _size("limit")],
    targets=[
        Target("peak", "stream", "limit", "≤ the limit", _within, ["limit"]),
        Target("AUC", "stream", "memory", f"≤ {MOST_APART} apart", _as_good, ["limit"]),
    ],
    may_fail=True,
)  # fmt: skip

CLUSTER = Claim(
    folder="cluster-cpu",
    settings={
        "rows": (1_000_000, 5_000_000), "columns": (30,), "trees": (20,), "workers": (2,),
        "held_out": (200_000,),
    },
    repeats=5,
    cases=_cluster,
    variants=[
        Variant(name="memory", title="one process"), Variant(name="cluster", title="workers")
    ],
    clock=f"{CLOCK}; starting the workers comes on top",
    isolation=ISOLATION,
    tables=[
        report.Table(
            [
                report.case("rows", right=True),
                report.variant("way"),
                report.Column("runs", lambda _, cell: f"{len(cell.runs)}"),
                report.took("seconds", "fit", "{:.1f}".format),
                report.factor("ratio", "fit", "memory"),
                report.value("AUC", "auc", "{:.4f}".format),
            ]
        )
    ],
)  # fmt: skip
