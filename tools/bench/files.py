"""Files to predictions: ours, and what people use in its place.

A variant reads the rows to learn from, fits, reads the rows to predict, and predicts. All have the
same pipeline, except skrub, which prepares the columns in its own way.
"""

from __future__ import annotations

import gc
import time
import warnings
from collections.abc import Iterator
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.base import clone
from sklearn.metrics import r2_score, roc_auc_score

import pipeline
from pipeline.benchmark.judge.statistics import Ratio
from pipeline.benchmark.run.worker import peak_rss
from pipeline.task.numerals import MISSING
from tools.bench import record, report
from tools.bench.record import Cell, Results, Run, Values, Variant
from tools.bench.runner import Ask, Claim, Turn

FORMATS = {"csv": "CSV", "parquet": "Parquet"}
TASKS = {
    "flights-logistic": ("flights", "logistic"),
    "flights-forest": ("flights", "forest"),
    "delays-ridge": ("flights_delay", "linear"),
}
"""Program -> a task, and which of its pipelines."""
GENERATED = ("onehot5000-xgboost", "tfidf-logistic")
"""Of `programs`, on its generated rows."""
NAMES = (*TASKS, *GENERATED)
PANDAS, POLARS, INTEL, SKRUB, OURS = "pandas", "polars", "intelex", "skrub", "ours"
TITLES = {
    PANDAS: "read by pandas, scikit-learn",
    POLARS: "read by Polars, scikit-learn",
    INTEL: "read by pandas, scikit-learn with scikit-learn-intelex",
    SKRUB: "read by pandas, skrub's `tabular_pipeline`",
    OURS: "`pipeline.read` and `Accelerated`",
}
HELD_OUT = 0.2
PEAK = "peak"
LEAST = 1.5
"""Target: how many times as fast as the fastest of the others with as good a score."""
MEMORY = 1.1
"""Target: peak memory over that of pandas and scikit-learn."""
SAME_SCORE = 0.005
"""A score, of AUC or R², that is lower by more than this is not as good."""


def program(name: str, seed: int) -> tuple[Any, list[str], str]:
    """Return a pipeline, the columns that it is given, and its target."""
    if name in TASKS:
        task, which = TASKS[name]
        found = import_module(f"tasks.{task}").TASK
        return found.pipelines[which](seed), list(found.features), found.target
    estimator, columns, target = import_module("tools.bench.programs").PROGRAMS[name]
    return estimator, columns, target


def start(ask: Ask, case: record.Case, variant: str) -> Turn:
    """Import what a variant needs. A turn goes from the files to predictions, of both formats."""
    if variant == INTEL:  # before the classes are imported, which it replaces
        import_module("sklearnex").patch_sklearn(verbose=False)
    warnings.simplefilter("ignore")  # of convergence and unseen values, with all variants alike
    estimator, columns, target = program(case.title, ask.seed)
    reader = import_module(POLARS if variant == POLARS else PANDAS)

    def make() -> Any:
        if variant == SKRUB:
            return import_module(SKRUB).tabular_pipeline(clone(estimator[-1]))
        same = clone(estimator)
        return pipeline.Accelerated(same, device="cpu") if variant == OURS else same

    def read(path: Path) -> tuple[Any, Any]:
        if variant == OURS:
            return pipeline.read(path, columns, target)
        frame = getattr(reader, f"read_{path.suffix[1:]}")(path)
        return frame[columns], frame[target].to_numpy()

    def turn() -> tuple[Run, Values]:
        taken: dict[str, float] = {}
        values: Values = {}
        for kind in FORMATS:
            learnt, new = (ask.home / f"{case.name} {part}.{kind}" for part in ("learn", "new"))
            model = make()
            gc.collect()
            begun = time.perf_counter()
            X, y = read(learnt)
            middle = time.perf_counter()
            model.fit(X, y)
            fitted = time.perf_counter()
            X, y = read(new)
            last = time.perf_counter()
            scores = hasattr(model, "predict_proba")
            found = model.predict_proba(X)[:, 1] if scores else model.predict(X)
            ended = time.perf_counter()
            taken |= {
                f"{kind} read": middle - begun + last - fitted,
                f"{kind} fit": fitted - middle,
                f"{kind} predict": ended - last,
            }
            if variant == OURS:
                taken[f"{kind} estimator"] = model.execution_log_.seconds("fit")
            values[kind] = float((roc_auc_score if scores else r2_score)(y, found))
        return Run(seconds=taken, bytes={PEAK: peak_rss()}), values

    return turn


def _cases(ask: Ask) -> Iterator[record.Case]:
    """Write the files of each program and size, with texts as texts."""
    programs = import_module("tools.bench.programs")
    # Sizes ascend: the peak of the process that they share is that of the largest so far.
    for name, rows in product(filter(ask.wants, NAMES), sorted(ask.settings["rows"])):
        _, columns, target = program(name, ask.seed)
        path = ask.home / "all.parquet"
        if name in TASKS:
            path = import_module(f"datasets.{TASKS[name][0]}").prepare(ask.data)
        else:
            programs.write(path, rows, ask.seed)
        table = pq.read_table(path, columns=[*columns, target])
        table = table.take(np.random.default_rng(ask.seed).permutation(len(table))[:rows])
        kinds = ((f.name, getattr(f.type, "value_type", f.type)) for f in table.schema)
        table = table.cast(pa.schema(list(kinds)))
        case = record.Case(name=f"{name} {rows}", title=name, facts={"rows": len(table)})
        cut = round(len(table) * (1 - HELD_OUT))
        for part, some in (("learn", table[:cut]), ("new", table[cut:])):
            path = ask.home / f"{case.name} {part}"
            pq.write_table(some, f"{path}.parquet")
            some.to_pandas().to_csv(f"{path}.csv", index=False)
        yield case


def total(kind: str) -> str:
    """Return the phase of all that a format takes."""
    return "+".join(f"{kind} {part}" for part in ("read", "fit", "predict"))


def fastest(results: Results, case: str, kind: str) -> Cell | None:
    """Return the fastest of the others whose score is as good as ours; None if there is none."""
    ours = results.cell(case, OURS)
    least = -np.inf if ours is None else (ours.values[kind] or 0.0) - SAME_SCORE
    others = (results.cell(case, each.name) for each in results.variants if each.name != OURS)
    good = [cell for cell in others if cell and (cell.values[kind] or 0.0) >= least]
    return min(good, key=lambda cell: cell.median(total(kind)), default=None)


def beside(results: Results, case: str, kind: str) -> tuple[Ratio, str] | None:
    """Return our time over that of the fastest other, and its name."""
    other = fastest(results, case, kind)
    found = results.ratio(case, total(kind), OURS, other.variant) if other else None
    return (found, other.variant) if other and found else None


def notes(results: Results) -> str:
    """Return how the target is met, for each size and format."""
    sizes, lines = sorted({int(case.facts["rows"]) for case in results.cases}), []
    for rows, kind in product(sizes, FORMATS):
        cases = [case.name for case in results.cases if case.facts["rows"] == rows]
        ratios = [each[0].value for case in cases if (each := beside(results, case, kind))]
        if ratios:
            middle = report.speed(Ratio(float(np.median(ratios)), None))
            met = f"{sum(1 / ratio >= LEAST for ratio in ratios)} of {len(ratios)}"
            slower = str(sum(ratio > 1 for ratio in ratios))
            lines.append([f"{rows:,}", FORMATS[kind], middle, met, slower])
    head = ["rows", "file", "median", f"at least {LEAST}× faster", "slower"]
    peaks = (
        _peaks(results, case.name) for case in results.cases if case.facts["rows"] == sizes[-1]
    )
    ratios = [ours / plain for plain, *_, ours in peaks if plain and ours]
    memory = f"{min(ratios):.2f} to {max(ratios):.2f}" if ratios else MISSING
    about = f"Peak memory of ours over that of pandas and scikit-learn, at {sizes[-1]:,} rows"
    return f"{report.table(head, lines, (0, 3, 4))}\n\n{about}: {memory} (target: ≤ {MEMORY})."


def every(results: Results) -> str:
    """Return how ours does in each case and format, and the figures of all variants."""
    names = [each.name for each in results.variants]
    best, taken, scores, memory = [], [], [], []
    for case in results.cases:
        cells = [results.cell(case.name, name) for name in names]
        rows = f"{case.facts['rows']:,}"
        peaks = _peaks(results, case.name)
        memory.append([case.title, rows, *(f"{n / 1e6:,.0f}" if n else MISSING for n in peaks)])
        for kind, word in FORMATS.items():
            of = [case.title, rows, word]
            found = beside(results, case.name, kind)
            pace = [report.speed(found[0]), found[1]] if found else [MISSING, MISSING]
            best.append([*of, *pace, _own(cells[-1], kind)])
            taken.append([*of, *(_taken(cell, kind) for cell in cells)])
            shown = [cell and cell.values[kind] for cell in cells]
            scores.append([*of, *(MISSING if n is None else f"{n:.3f}" for n in shown)])
    head = ["program", "rows", "file"]
    parts = [
        "\n".join(f"- `{name}`: {title}" for name, title in TITLES.items()),
        "## Ours beside the fastest of the others whose score is as good",
        report.table([*head, "ours", "than", "of our time, the estimator's own fit"], best, (1, 5)),
        f"## Seconds, and those of reading; {MISSING}: the first run took twice as long as that of "
        "`pandas`, and over 5 s",
        report.table([*head, *names], taken, range(1, 8)),
        "## Scores: AUC, or R² of `delays-ridge`",
        report.table([*head, *names], scores, range(1, 8)),
        "## Peak memory of the process, MB",
        report.table([*head[:2], *names], memory, range(1, 7)),
    ]
    return "\n\n".join(parts)


def _peaks(results: Results, case: str) -> list[int]:
    """Return the peak memory of each variant, in bytes; 0 where it is not known."""
    cells = (results.cell(case, each.name) for each in results.variants)
    return [max((run.bytes[PEAK] for run in cell.runs), default=0) if cell else 0 for cell in cells]


def _taken(cell: Cell | None, kind: str) -> str:
    if cell is None:
        return MISSING
    return f"{cell.median(total(kind)):.3f} ({cell.median(f'{kind} read'):.3f})"


def _own(cell: Cell | None, kind: str) -> str:
    """Return the share of the seconds that the estimator takes, which the engine cannot change."""
    if cell is None:
        return MISSING
    return f"{cell.median(f'{kind} estimator') / cell.median(total(kind)):.0%}"


CLAIM = Claim(
    name="files",
    settings={"rows": (1_000, 10_000, 100_000), "budget": (20,)},
    repeats=5,
    shares="title",
    cases=_cases,
    start=start,
    names=NAMES,
    variants=[Variant(name=name, title=title) for name, title in TITLES.items()],
    clock="read, fit, read rows to predict, predict; a first plain run of at most {budget} s",
    notes=notes,
)
