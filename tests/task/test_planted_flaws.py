"""Flaws that are planted in a table, a split, a pipeline or a search, and what the record says.

Each case has a twin without the flaw, of which nothing is said.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from optuna.distributions import FloatDistribution
from sklearn.compose import make_column_transformer
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeRegressor

from pipeline.benchmark.compare import Comparison
from pipeline.benchmark.judge.verdict import every_caution, verdict
from pipeline.benchmark.report.tuning_page import tuning_lines
from pipeline.benchmark.run import rounds, variants, worker
from pipeline.benchmark.run.resume import FinishedRuns
from pipeline.benchmark.single import PredictedBatch
from pipeline.benchmark.tune import publish_tuning
from pipeline.task import task
from pipeline.task.cautions.caution import SEVERITIES
from pipeline.task.task import Job, Kind, Split, Task
from tests.benchmark.tuned import batch_of

N = 600
EVERY_FOURTH = Split([("fold", "<", 3)], [("fold", "==", 3)], "every fourth row")


def draw(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def table(**columns: object) -> pd.DataFrame:
    """Return two numbers and a category, of which the first number has some say in `y`."""
    frame = pd.DataFrame(
        {
            "x": draw(1).normal(size=N),
            "z": draw(2).normal(size=N),
            "town": draw(3).choice(list("abcd"), N),
            "fold": np.arange(N) % 4,
        }
    )
    return frame.assign(y=frame["x"] + draw(4).normal(size=N)).assign(**columns)


def classes(**columns: object) -> pd.DataFrame:
    return table(y=(table()["y"] > 0).astype(int)).assign(**columns)


def three() -> pd.DataFrame:
    return table(y=np.select([table()["y"] > 0.7, table()["y"] > -0.7], ["b", "c"], "a"))


def dated(drift: float = 0.0) -> pd.DataFrame:
    days = pd.date_range("2021-01-01", periods=N, freq="D")
    return table(y=table()["y"] + drift * np.arange(N) / N, day=days)


def copied(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table of which every row is there again, in another part of the split."""
    return pd.concat([frame, frame.assign(fold=(frame["fold"] + 1) % 4)], ignore_index=True)


def patients(rows_each: int) -> pd.DataFrame:
    who = np.arange(N) // rows_each
    return table(patient=[f"p{i}" for i in draw(5).permutation(who)])


@dataclass(frozen=True)
class Planted:
    """A task of a table."""

    frame: pd.DataFrame
    kind: Kind = "regression"
    estimator: Any = field(default_factory=Ridge)
    metrics: Any = ("r2",)
    split: Split = EVERY_FOURTH

    def task(self, folder: Path) -> tuple[Task, Job]:
        path = folder / "planted.parquet"
        self.frame.to_parquet(path)
        usable = self.frame.select_dtypes(["number", "str", "object"])
        names = [name for name in usable if name not in ("y", "fold")]
        what = Task(
            name="planted", title="", prepare=lambda home: path, target="y", features=names,
            pipelines={"only": self.pipeline}, splits={"mine": self.split}, metrics=self.metrics,
            margins={}, licence="", source="", kind=self.kind,
        )  # fmt: skip
        return what, Job("planted", "only", "cpu", path)

    def pipeline(self, seed: int) -> Pipeline:
        texts = [n for n in self.frame.select_dtypes(["str", "object"]) if n != "y"]
        others = self.frame.select_dtypes("number").columns
        numbers = make_pipeline(SimpleImputer(), StandardScaler())
        columns = make_column_transformer(
            (numbers, [name for name in others if name not in ("y", "fold")]),
            (OneHotEncoder(handle_unknown="ignore"), texts),
        )
        return make_pipeline(columns, self.estimator)

    def cautions(self, folder: Path) -> list[str]:
        """Return what the record of a run says before its scores are believed."""
        what, job = self.task(folder)
        return every_caution(PredictedBatch(what, job, ["only"]).run(folder, lambda line: None))


def of_classes(frame: pd.DataFrame, **more: Any) -> Planted:
    given: dict[str, Any] = {
        "kind": "binary",
        "metrics": ["roc_auc"],
        "estimator": LogisticRegression(),
    }
    return Planted(frame, **given | more)


def of_three(split: Split) -> Planted:
    return of_classes(three(), kind="multiclass", metrics=["f1_macro"], split=split)


def by_day() -> Split:
    when = pd.Timestamp("2022-03-01")
    return Split([("day", "<", when)], [("day", ">=", when)], "", time="day")


def balanced() -> np.ndarray:
    return np.where(draw(6).random(N) < 0.5, 1, 0)


NOISE = draw(9).normal(size=N)
Case = tuple[Callable[[], Planted], Callable[[], Planted], Sequence[str]]
"""The flaw, its twin without it, and what the sentence about it names."""
FLAWS: dict[str, Case] = {
    "worse than a dummy": (
        lambda: Planted(table(y=NOISE), estimator=DecisionTreeRegressor(random_state=0)),
        lambda: Planted(table(), estimator=DecisionTreeRegressor(max_depth=2, random_state=0)),
        ["only is worse than a dummy", "r2 -", "try a stronger penalty"],
    ),
    "hardly better than a dummy": (
        lambda: Planted(table(), estimator=Ridge(alpha=3e5)),
        lambda: Planted(table(), estimator=Ridge(alpha=3e1)),
        ["only is hardly better than a dummy", "r2 -0.00", "other columns"],
    ),
    "learns nothing": (
        lambda: of_classes(classes(), estimator=LogisticRegression(C=1e-300)),
        lambda: of_classes(classes(), estimator=LogisticRegression(C=1)),
        ["only is no better than a dummy", "roc_auc 0.500", "try a weaker penalty"],
    ),
    "target under another name": (
        lambda: of_classes(classes(state=np.where(classes()["y"] == 1, "paid", "due"))),
        lambda: of_classes(classes(state=np.where(balanced() == 1, "paid", "due"))),
        ["'state' (AUC 1.000) alone predicts 'y'", "--ignore state"],
    ),
    "target with noise": (
        lambda: Planted(table(bill=table()["y"] + NOISE / 20)),
        lambda: Planted(table(bill=table()["y"] + 2 * NOISE)),
        ["'bill' (R² 0.9", "alone predicts 'y'", "--ignore bill"],
    ),
    "missing where the target is": (
        lambda: of_classes(classes(closed=np.where(classes()["y"] == 1, NOISE, np.nan))),
        lambda: of_classes(classes(closed=np.where(draw(7).random(N) < 0.7, NOISE, np.nan))),
        ["'closed' (AUC 1", "alone predicts 'y'", "--ignore closed"],
    ),
    "same rows in both parts": (
        lambda: Planted(copied(table())),
        lambda: Planted(table()),
        ["of the test rows are among the training rows", "remove the copies"],
    ),
    "same rows under other numbers": (
        lambda: Planted(copied(table()).assign(row=lambda f: np.arange(len(f)) * 3)),
        lambda: Planted(copied(table())[:N].assign(x=NOISE, y=NOISE + table()["y"])),
        ["of the test rows are among the training rows", "remove the copies"],
    ),
    "groups in both parts": (
        lambda: Planted(patients(6)),
        lambda: Planted(patients(6), split=Split([("patient", "<", "p7")],
                                                 [("patient", ">=", "p7")], "", groups="patient")),
        ["'patient' has 100 values", "--split groups --by patient"],
    ),
    "training later than the test": (
        lambda: Planted(dated(drift=4)),
        lambda: Planted(dated(drift=0)),
        ["'y' changes with 'day'", "--split time --by day"],
    ),
    "training wholly later than the test": (
        lambda: Planted(dated().assign(fold=3 - np.arange(N) * 4 // N)),
        lambda: Planted(dated().assign(fold=np.arange(N) * 4 // N)),
        ["By 'day', all training rows are later than the test rows", "--split time --by day"],
    ),
    "split by time that overlaps": (
        lambda: Planted(dated(), split=Split(EVERY_FOURTH.train, EVERY_FOURTH.test, "",
                                             time="day")),
        lambda: Planted(dated(), split=by_day()),
        ["The split goes by 'day'", "are later than the first test row", "train only on rows bef"],
    ),
    "constant": (
        lambda: Planted(table(unit=3.5)),
        lambda: Planted(table(unit=NOISE)),
        ["One value or none: 'unit'", "--ignore unit"],
    ),
    "id": (
        lambda: Planted(table(account_id=draw(5).permutation(9 * N)[:N])),
        lambda: Planted(table(amount=draw(5).integers(0, 90, N))),
        ["A row number: 'account_id'", "--ignore account_id"],
    ),
    "class that the test lacks": (
        lambda: of_three(Split([("fold", "<", 3)], [("fold", "==", 3), ("y", "!=", "a")], "")),
        lambda: of_three(EVERY_FOURTH),
        ["Classes of 'y' without a test row: 'a'", "give both parts rows of it"],
    ),
    "class that training lacks": (
        lambda: of_three(Split([("fold", "<", 3), ("y", "!=", "b")], [("fold", "==", 3)], "")),
        lambda: of_three(EVERY_FOURTH),
        ["Classes of 'y' without a training row: 'b'", "give both parts rows"],
    ),
    "column twice": (
        lambda: Planted(table(inch=table()["z"] / 2.54 + 1)),
        lambda: Planted(table(inch=table()["z"] / 2.54 + NOISE)),
        ["The same column twice: 'inch' as 'z'", "--ignore inch"],
    ),
    "another range in the test": (
        lambda: Planted(table(z=table()["z"] + 4 * (np.arange(N) % 4 == 3))),
        lambda: Planted(table()),
        ["Training and test rows differ", "'z' (0.9", "--split random"],
    ),
}  # fmt: skip


@pytest.mark.quick(4)
@pytest.mark.parametrize("name", FLAWS)
def test_a_planted_flaw_is_found(name: str, tmp_path: Path) -> None:
    flawed, _, words = FLAWS[name]
    found = flawed().cautions(tmp_path)
    assert [all(word in each for word in words) for each in found].count(True) == 1, found
    assert len(found) <= 3


@pytest.mark.quick(4)
@pytest.mark.parametrize("name", FLAWS)
def test_its_twin_without_the_flaw_has_no_caution(name: str, tmp_path: Path) -> None:
    assert FLAWS[name][1]().cautions(tmp_path) == []


SEVERE = tuple(f"{word}: " for word in SEVERITIES.values())


def searched(folder: Path, low: float) -> list[str]:
    """Return what is said of a search in a range that begins there."""
    folder.mkdir()
    what, _ = Planted(table()).task(folder)
    what = replace(what, spaces={"only": {"ridge__alpha": FloatDistribution(low, 1e6, log=True)}})
    record = publish_tuning(batch_of(folder, what, trials=12), folder / "out", lambda line: None)
    lines = tuning_lines(record, folder)
    return [line for line in lines if line.startswith(SEVERE) or "end of its range" in line]


def test_the_best_value_at_the_edge_of_a_search_is_found(tmp_path: Path) -> None:
    assert searched(tmp_path / "far", 1e-3) == []
    [edge] = searched(tmp_path / "near", 1e3)
    assert "only cpu: The best ridge__alpha" in edge
    assert "lies at the low end of its range, 1000." in edge


class HereWorker:
    """A worker that runs its job in this process."""

    def __init__(self, job: Job) -> None:
        self.job = job

    def __enter__(self) -> HereWorker:
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def run(self, seed: int | None) -> worker.RunReport:
        return worker.measured(task.load(self.job.task), self.job)[1]


@pytest.mark.quick(1)
@pytest.mark.parametrize("most", [3, 300])
def test_a_solver_that_gives_up_is_found(
    most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    solver = LogisticRegression(max_iter=most)
    what, job = of_classes(classes(), estimator=solver).task(tmp_path)
    monkeypatch.setattr(rounds, "WorkerProcess", HereWorker)
    monkeypatch.setattr(task, "load", lambda name: what)
    monkeypatch.setattr(variants, "available", lambda package: False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        record = Comparison(what, job, ["only"], "cpu", repeats=1).measure(
            str, FinishedRuns(tmp_path / "runs", {})
        )
    found = verdict(record).cautions
    assert len(found) == (most == 3)
    for each in found:
        assert "only stopped at logisticregression__max_iter=3" in each
        assert "(reference, cpu)" in each
        assert "raise max_iter" in each
