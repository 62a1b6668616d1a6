"""Cheats, planted one at a time: each is found by what the runs themselves say."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from pipeline.benchmark.judge import integrity
from pipeline.benchmark.judge.integrity import objection
from pipeline.benchmark.judge.statistics import cell_parity, differences
from pipeline.benchmark.report.tables import leaderboard
from pipeline.benchmark.run import worker
from pipeline.benchmark.run.worker import RunReport
from pipeline.task import task
from pipeline.task.metrics import judges
from pipeline.task.task import Job
from tasks.flights import TASK
from tests.benchmark import fixtures


def once(path: Path, variant: str, **changes: Any) -> RunReport:
    job = Job("flights", "forest", variant, path, changes=changes)
    return worker.measured(task.load("flights"), job)[1]


@pytest.fixture(scope="module")
def reference(small_flights: Path) -> RunReport:
    return once(small_flights, "reference")


@pytest.fixture
def honest(small_flights: Path, reference: RunReport) -> Iterator[RunReport]:
    report = once(small_flights, "cpu")
    assert objection(report, reference) == ""
    return report


def test_runs_of_the_same_work_are_compared(honest: RunReport, reference: RunReport) -> None:
    assert honest.work["trees"] == reference.work["trees"] == "20"
    assert honest.cpu_seconds > 0


def test_a_variant_that_trains_fewer_trees_is_found(
    small_flights: Path, reference: RunReport
) -> None:
    cheat = once(small_flights, "cpu", randomforestclassifier__n_estimators=5)
    name = "parameter n_estimators"
    assert objection(cheat, reference) == f"it did other work: {name} 5, the reference 20"
    stealthy = replace(cheat, work={**cheat.work, name: reference.work[name]})
    assert objection(stealthy, reference) == "it did other work: trees 5, the reference 20"


def test_a_variant_that_learns_from_a_few_rows_is_found(
    small_flights: Path, reference: RunReport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It reads all rows, and says so."""
    fit = RandomForestClassifier.fit

    def lazy(self: Any, X: Any, y: Any, **params: Any) -> Any:
        return fit(self, X[::10], y[::10], **params)

    monkeypatch.setattr(RandomForestClassifier, "fit", lazy)
    assert objection(once(small_flights, "cpu"), reference).startswith("it did other work: nodes")


def test_a_variant_that_reads_other_rows_is_found(honest: RunReport, reference: RunReport) -> None:
    fewer = replace(honest, rows_train=honest.rows_train // 2)
    assert objection(fewer, reference).startswith("it read other data: ")
    other = replace(honest, y_true=np.roll(honest.y_true, 1))
    assert "target of its test rows" in objection(other, reference)


def test_a_variant_that_predicts_constants_makes_no_claim(
    honest: RunReport, reference: RunReport
) -> None:
    constant = np.full_like(honest.predicted, np.mean(honest.y_true))
    every = judges(TASK)
    found = differences(every, honest.y_true, constant, reference.predicted)
    metrics = {name: metric(honest.y_true, constant) for name, metric in every.items()}
    results = fixtures.with_cell(
        fixtures.normal(), "forest", "cpu", metrics=metrics, differences=found
    )
    assert cell_parity(results, "forest", "cpu") == "FAIL"
    shown = [[cell.text for cell in row] for row in leaderboard(results).rows]
    assert ["forest", "cpu", "no claim: quality fails"] in [[*row[:2], row[4]] for row in shown]


def test_what_a_model_says_of_its_work_leaves_out_how_it_computes() -> None:
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 2
    one = integrity.work(RandomForestClassifier(5, random_state=0, n_jobs=1).fit(X, y))
    two = integrity.work(RandomForestClassifier(5, random_state=0, n_jobs=2).fit(X, y))
    assert one == two
    assert {"parameter max_depth", "trees", "nodes", "columns"} < set(one)
    assert "parameter n_jobs" not in one


@pytest.mark.parametrize(
    ("estimator", "where"),
    [
        (LogisticRegression(max_iter=1), "max_iter=1"),
        (LogisticRegression(), ""),
        (make_pipeline(StandardScaler(), MLPClassifier(max_iter=2)), "mlpclassifier__max_iter=2"),
        (SVC(), ""),
        (SVC(max_iter=1), "max_iter=1"),
        (SGDClassifier(max_iter=3, tol=None), ""),
        (HistGradientBoostingClassifier(max_iter=3), ""),
        (RidgeClassifier(max_iter=1), ""),
    ],
    ids=["limit", "converged", "in a pipeline", "no limit", "own limit", "epochs", "trees",
         "no iterations"],
)  # fmt: skip
def test_a_solver_that_stopped_at_its_limit_is_known(estimator: Any, where: str) -> None:
    X, y = load_iris(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        estimator.fit((X - X.mean(axis=0)) / X.std(axis=0), y)
    assert integrity.work(estimator).get("gave up", "") == where
