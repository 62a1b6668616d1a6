"""Measure how near XGBoost comes to the best AUC: ``python -m tools.synthetic.auc``."""

from __future__ import annotations

import argparse
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from datasets.synthetic import Recipe, best, frames, truth
from pipeline.system import environment
from pipeline.system.atomic import publishing
from tools.synthetic import schema
from tools.synthetic.learner import features, fit, learner

SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)
TEST = 200_000


def measure(sizes: list[int], columns: int, seed: int, test: int = TEST) -> schema.Results:
    """Fit one model for each number of rows; all are judged on the same rows after them.

    Parameters
    ----------
    sizes : list of int
        Training rows, the first of the table.
    columns : int
        Features of the table.
    seed : int
        Of the table and of the models.
    test : int
        Rows to judge on, behind the longest training table.
    """
    load, last = environment.load_average(), max(sizes)
    recipe = Recipe(rows=last + test, columns=columns, seed=seed)
    (judged,) = frames(recipe, last, size=test)
    chances = truth(recipe, last, last + test)
    return schema.Results(
        schema=schema.SCHEMA,
        points=[_point(recipe, rows, judged) for rows in sizes],
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        machine=environment.machine(environment.threads(), load),
        source=environment.source(["python", "-m", "tools.synthetic.auc", *sys.argv[1:]]),
        columns=columns,
        seed=seed,
        best=best(recipe)["value"],
        rows_test=test,
        truth=float(roc_auc_score(judged["target"], chances)),
    )


def _point(recipe: Recipe, rows: int, judged: pd.DataFrame) -> schema.Point:
    (frame,) = frames(recipe, 0, rows, size=rows)
    model = learner(recipe, recipe.seed)
    start = time.perf_counter()
    trees = fit(model, features(frame, recipe), np.asarray(frame["target"]))
    seconds = time.perf_counter() - start
    scores = model.predict_proba(features(judged, recipe))[:, 1]
    found = float(roc_auc_score(judged["target"], scores))
    print(f"{rows:>10,} rows  AUC {found:.4f}  {trees} trees", file=sys.stderr, flush=True)
    return schema.Point(rows=rows, auc=found, trees=trees, seconds=seconds)


def main() -> None:
    """Measure and publish the record."""
    parser = argparse.ArgumentParser(prog="python -m tools.synthetic.auc", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/results/synthetic-auc"))
    parser.add_argument("--rows", default=",".join(map(str, SIZES)), help="with commas")
    parser.add_argument("--columns", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with publishing(given.out) as folder:
        found = measure([int(rows) for rows in given.rows.split(",")], given.columns, given.seed)
        (folder / "results.json").write_bytes(schema.dumps(found))


if __name__ == "__main__":
    main()
