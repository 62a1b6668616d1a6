"""The generated tables: how near a model comes to the best score, and what writing takes."""

from __future__ import annotations

import time
from collections.abc import Generator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from datasets import synthetic
from datasets.synthetic import Recipe, best, frames, prepare, truth
from tools.bench import apart, record, report
from tools.bench.claim import Ask, Case, Claim, here
from tools.bench.learner import features, fit, learner
from tools.bench.record import Cell, Report, Results, Run, Variant

METRICS = {
    "roc_auc": "area under the ROC curve",
    "accuracy": "accuracy",
    "r2": "R²",
    "ndcg_at_10": "NDCG of the first ten, gain 2^relevance - 1",
    "adjusted_rand": "adjusted Rand index of the most probable cluster",
}


def best_scores() -> str:
    """Return the table of kinds with their best scores, for the seed 0."""
    rows = []
    for kind in synthetic.KINDS:
        recipe = Recipe(kind)
        found, about = best(recipe), recipe.schema()["target"].about
        rows.append([f"`{kind}`", about, METRICS[found["metric"]], f"{found['value']:.4f}"])
    return report.table(["kind", "`target`", "metric", "best, seed 0"], rows, right=[3])


def _auc(ask: Ask) -> Generator[Case, None, None]:
    """Yield sizes of the training table; all models are judged on the same rows after them."""
    sizes, test = ask.settings["rows"], ask.one("rows_test")
    recipe = Recipe(rows=max(sizes) + test, columns=ask.one("columns"), seed=ask.seed)
    (judged,) = frames(recipe, max(sizes), size=test)
    chances = truth(recipe, max(sizes), max(sizes) + test)
    bounds = {
        "best": best(recipe)["value"],
        "truth": float(roc_auc_score(judged["target"], chances)),
    }
    facts: dict[str, float] = {"columns": recipe.columns, "rows_test": test, **bounds}
    for rows in sizes:
        about = record.Case(name=f"{rows:,}", facts={"rows": rows, **facts})
        work = here(partial(learn, recipe, rows, judged))
        yield Case(about, {"xgboost": work}, warms_up=False)


def learn(recipe: Recipe, rows: int, judged: pd.DataFrame) -> Report:
    """Fit a model on the first rows of a table, and judge it."""
    (frame,) = frames(recipe, 0, rows, size=rows)
    model = learner(recipe, recipe.seed)
    start = time.perf_counter()
    trees = fit(model, features(frame, recipe), np.asarray(frame["target"]))
    seconds = time.perf_counter() - start
    scores = model.predict_proba(features(judged, recipe))[:, 1]
    found = float(roc_auc_score(judged["target"], scores))
    return Report(run=Run(seconds={"fit": seconds}), values={"auc": found, "trees": trees})


class Writing(msgspec.Struct, frozen=True):
    """A table to be written."""

    home: str
    rows: int
    columns: int
    partitions: int | None


def write(job: Writing) -> Report:
    """Write a table and say what it took."""
    start = time.perf_counter()
    folder = prepare(Path(job.home), Recipe(rows=job.rows, columns=job.columns), job.partitions)
    seconds = time.perf_counter() - start
    files = [path.stat().st_size for path in folder.glob("part-*.parquet")]
    run = Run(seconds={"write": seconds}, bytes={"peak": apart.peak()})
    return Report(run=run, values={"files": len(files), "bytes": sum(files)})


def _memory(ask: Ask) -> Generator[Case, None, None]:
    rows, columns = ask.one("rows"), ask.one("columns")
    job = Writing(str(ask.home.resolve()), rows, columns, ask.one("partitions") or None)
    about = record.Case(name=f"{rows:,}", facts={"rows": rows, "columns": columns})
    work = here(partial(apart.apart, write, job))
    yield Case(about, {"written": work}, most_repeats=1, warms_up=False)


def _below(results: Results, cell: Cell) -> str:
    return f"{results.case(cell.case).facts['truth'] - (cell.values['auc'] or 0):.4f}"


def _attainable(results: Results) -> str:
    facts = results.cases[0].facts
    return (
        f"The true probabilities have {facts['truth']:.4f}. {facts['rows_test']:,} test rows, the "
        f"same for all; {facts['columns']} columns, seed {results.protocol.seed}."
    )


AUC = Claim(
    folder="synthetic-auc",
    settings={
        "rows": (10_000, 30_000, 100_000, 300_000, 1_000_000),
        "columns": (30,),
        "rows_test": (200_000,),
    },
    repeats=1,
    cases=_auc,
    variants=[Variant(name="xgboost", title="XGBoost")],
    clock="the smallest first",
    isolation="one process",
    tables=[
        report.Table(
            [
                report.case("training rows", right=True),
                report.value("AUC", "auc", "{:.4f}".format),
                report.Column("below the best", _below),
                report.value("trees", "trees", "{:.0f}".format),
            ]
        )
    ],
    notes=_attainable,
)


def _written(results: Results) -> str:
    (cell,), facts = results.cells, results.cases[0].facts
    values: dict[str, Any] = cell.values
    return (
        f"{facts['rows']:,} rows of {facts['columns']} columns in {values['files']:.0f} files, "
        f"{values['bytes'] / 1e9:.2f} GB: {cell.median('write'):.0f} s, at most "
        f"{cell.most('peak') / report.MIB:.0f} MiB resident."
    )


MEMORY = Claim(
    folder="synthetic-memory",
    settings={"rows": (10_000_000,), "columns": (30,), "partitions": (0,)},
    repeats=1,
    cases=_memory,
    variants=[Variant(name="written", title="written")],
    clock="writing alone",
    isolation="a new process",
    notes=_written,
)
