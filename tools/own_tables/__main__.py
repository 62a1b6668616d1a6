"""Make tasks of real tables, and hold them against programs written by hand.

    make bench-tables

Each table is written to CSV as its package has it; `pipeline.new_task` gets the file and the
target. Task and program learn from the same rows, drawn anew for each split, and are judged on the
others: by AUC, each class against the rest, or R².
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

import pipeline
from pipeline import Accelerated
from pipeline.benchmark import measure, task
from pipeline.errors import PipelineError
from tools.bench.record import Record, fingerprint, say
from tools.bench.report import table as as_table
from tools.own_tables.real import TABLES, RealTable

SCHEMA: Final = "own-tables.results/1"
OUT: Final = Path("docs/results/own-tables")
SPLITS: Final = 5
ALLOWED: Final = {"binary": 0.01, "multiclass": 0.01, "regression": 0.02}
"""How much worse than by hand the better of ours may be."""


class Compared(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table: a score for each split."""

    name: str
    package: str
    version: str
    target: str
    kind: str
    rows: int
    columns: int
    options: dict[str, Any]
    said: list[str]
    """What `new_task` printed."""
    scores: dict[str, list[float]]
    """By program: ``linear`` and ``boosting`` of the task, ``by hand``."""

    def mean(self, program: str) -> float:
        """Return the mean score over the splits."""
        return float(np.mean(self.scores[program]))

    @property
    def behind(self) -> float:
        """How much better the program by hand is than the better of ours."""
        ours = max(self.mean(name) for name in self.scores if name != "by hand")
        return self.mean("by hand") - ours

    @property
    def holds(self) -> bool:
        """Whether that is little."""
        return self.behind <= ALLOWED[self.kind]


class Results(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``results.json``."""

    schema: Literal["own-tables.results/1"]
    splits: int
    tables: list[Compared]


def compare(real: RealTable, splits: int) -> Compared:
    """Make a task of a table in the working directory, and judge all programs."""
    file = Path(f"{real.name}.csv")
    file.write_bytes(real.text())
    made = pipeline.new_task(file, target=real.target, **real.options)
    new = task.load(made.name)
    read = pipeline.read_table(file, new.format)
    there = _there(read[new.target], pd.read_parquet(new.data(Path("data")))[new.target])
    X, y = read.loc[there, new.columns], read.loc[there, new.target]
    hand = real.by_hand(file)[there]
    found: dict[str, list[float]] = {"linear": [], "boosting": [], "by hand": []}
    for seed, (train, test) in enumerate(_splits(real.kind, y, splits)):
        for name in ("linear", "boosting"):
            ours = Accelerated(new.pipeline(name, seed), device="cpu")
            found[name].append(_score(real.kind, ours, X, y, train, test))
        found["by hand"].append(_score(real.kind, _by_hand(real.kind, seed), hand, y, train, test))
    return Compared(
        name=real.name, package=real.package, version=version(real.package), target=real.target,
        kind=new.kind, rows=len(read), columns=read.shape[1], options=dict(real.options),
        said=list(made.lines()), scores=found,
    )  # fmt: skip


def _there(read: pd.Series[Any], kept: pd.Series[Any]) -> Any:
    """Return which rows the task kept: those whose target is known and no class too rare."""
    there = read.isin(kept.unique()) & read.notna()
    if int(there.sum()) != len(kept):
        raise SystemExit(f"the task keeps {len(kept)} rows, and the file has {int(there.sum())}")
    return there


def _splits(kind: str, y: Any, splits: int) -> Iterator[tuple[Any, Any]]:
    rule = ShuffleSplit if kind == "regression" else StratifiedShuffleSplit
    return iter(rule(splits, test_size=0.25, random_state=0).split(np.zeros(len(y)), y))


def _by_hand(kind: str, seed: int) -> Any:
    learner = (
        HistGradientBoostingRegressor if kind == "regression" else HistGradientBoostingClassifier
    )
    return learner(random_state=seed)


def _score(kind: str, model: Any, X: Any, y: Any, train: Any, test: Any) -> float:
    if isinstance(model, Accelerated):
        classes = None if kind == "regression" else np.unique(y.iloc[train])
        measure.fit(model, X.iloc[train], y.iloc[train], classes=classes)
    else:
        model.fit(X.iloc[train], y.iloc[train])
    if kind == "regression":
        return float(r2_score(y.iloc[test], model.predict(X.iloc[test])))
    found = model.predict_proba(X.iloc[test])
    found = found[:, 1] if found.shape[1] == 2 else found
    return float(roc_auc_score(y.iloc[test], found, multi_class="ovr"))


def page(found: Results) -> str:
    """Return the results as Markdown."""
    head = ["table", "of", "rows", "target", "kind", "linear", "boosting", "by hand", ""]
    rows = [
        [each.name, f"{each.package} {each.version}", f"{each.rows:,}", f"`{each.target}`",
         each.kind, *(f"{each.mean(name):.3f}" for name in ("linear", "boosting", "by hand")),
         "" if each.holds else f"{each.behind:.3f} behind"]
        for each in found.tables
    ]  # fmt: skip
    good = sum(each.holds for each in found.tables)
    return (
        "# Tasks made of real tables, beside programs written by hand\n\n"
        f"`make bench-tables`, {found.created[:10]}. By hand: `pandas.read_csv`, dates "
        "split, categories as they are, `HistGradientBoosting` with its defaults. Means of "
        f"{found.splits} splits, the same for all; AUC, each class against the rest, or R². "
        f"{good} of {len(found.tables)}: the better of ours is at most 0.01 AUC or 0.02 R² behind."
        f"\n\n{as_table(head, rows, right=[2, 5, 6, 7])}\n"
    )


def main() -> int:
    """Measure and write; return the exit code: 1 if a table fell behind."""
    parser = argparse.ArgumentParser(
        prog=".venv/bin/python -m tools.own_tables", description=__doc__
    )
    parser.add_argument("--out", type=Path, default=OUT, help="folder of the record")
    parser.add_argument("--tables", default="", help="with commas; all if not given")
    parser.add_argument("--splits", type=int, default=SPLITS)
    given = parser.parse_args()
    out, load = given.out.resolve(), os.getloadavg()[0]
    chosen = [t for t in TABLES if not given.tables or t.name in given.tables.split(",")]
    record = fingerprint("tools.own_tables", load, {})
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        sys.path.insert(0, folder)
        sys.modules.pop("tasks", None)
        compared = [each for real in chosen if (each := _told(real, given.splits))]
    found = Results(schema=SCHEMA, splits=given.splits, tables=compared, **record)
    out.mkdir(parents=True, exist_ok=True)
    text = msgspec.json.format(msgspec.json.encode(found), indent=2)
    (out / "results.json").write_bytes(text + b"\n")
    (out / "report.md").write_text(page(found), encoding="utf-8")
    print(page(found))
    return int(len(compared) < len(chosen) or not all(each.holds for each in compared))


def _told(real: RealTable, splits: int) -> Compared | None:
    try:
        found = compare(real, splits)
    except PipelineError as error:
        say(f"[own-tables] {real.name}: {error}")
        return None
    means = ", ".join(f"{name} {found.mean(name):.3f}" for name in found.scores)
    say(f"[own-tables] {real.name}: {means}")
    return found


if __name__ == "__main__":
    sys.exit(main())
