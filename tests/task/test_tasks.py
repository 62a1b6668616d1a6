from __future__ import annotations

import importlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from sklearn.base import BaseEstimator, is_classifier, is_outlier_detector, is_regressor
from sklearn.utils.validation import check_is_fitted

import tasks
from pipeline import CalendarFeatures
from pipeline.benchmark.run import measure
from pipeline.compile import explain
from pipeline.files.files import table_files
from pipeline.task import metrics, task
from pipeline.task.task import Job
from tests.names import one_in
from tools.tasks import published

ROOT = Path(__file__).parents[2]
FILES = [ROOT / "tasks" / f"{name}.py" for name in published()]
NAMES = [path.stem for path in FILES]
TASKS = {name: importlib.import_module(f"tasks.{name}").TASK for name in NAMES}
SPECS = [(name, pipeline) for name in NAMES for pipeline in TASKS[name].pipelines]
NOT_RANDOM = {"LogisticRegression", "TargetEncoder"}
"""Their `random_state` has no effect: solver "lbfgs", and a splitter with a seed of its own."""


BETTER_THAN = {
    "roc_auc": 0.6, "accuracy": 0.3, "r2": 0.0, "ndcg_at_10": 0.65,
    "adjusted_rand": 0.3, "trustworthiness": 0.7,
}  # fmt: skip
"""Metric -> what a program that has learnt something exceeds."""


GENERATED = 4_000
"""Rows of generated data."""


def parts(value: Any) -> Iterator[BaseEstimator]:
    """Yield a pipeline and all estimators inside it."""
    if isinstance(value, BaseEstimator):
        yield value
        value = list(value.get_params(deep=False).values())
    if isinstance(value, list | tuple):
        for inner in value:
            yield from parts(inner)


@pytest.fixture(scope="module")
def data(small_homes: Path) -> dict[str, Path]:
    """Return the data of each task: a small copy, of small files, or a few generated rows."""
    generated = {name for name in NAMES if "generated" in task.facts(name).needs}
    return {
        name: what.data(small_homes, rows=GENERATED if name in generated else None)
        for name, what in TASKS.items()
    }


def test_all_tasks_of_the_project_are_tested_and_no_one_elses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert {"flights", "taxi", "ranking", "segments", "newsgroups"} <= set(NAMES)
    shutil.copytree(ROOT / "tasks", tmp_path / "tasks")
    own = {"mine": "TASK = Task(kind='binary')", "broken": "def (", "odd": "Task(dataset='nosuch')"}
    for name, text in own.items():
        (tmp_path / "tasks" / f"{name}.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tasks, "__path__", [str(tmp_path / "tasks")])
    assert published() == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_task_is_whole(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    what = task.load(name)
    assert what.name == name
    assert all((what.title, what.licence, what.source, what.pipelines, what.splits))
    assert set(what.margins) == set(what.metrics), "what is measured is judged"
    assert all(0 < margin < 0.1 for margin in what.margins.values())
    assert what.target not in what.columns
    assert len(set(what.columns)) == len(what.columns)


@pytest.mark.parametrize("name", NAMES)
def test_splits_part_the_rows_and_use_no_feature(name: str, data: dict[str, Path]) -> None:
    what = TASKS[name]
    everything = sum(pq.read_metadata(file).num_rows for file in table_files(data[name]))
    for split in what.splits.values():
        assert split.about
        rows = [pq.read_table(data[name], filters=list(side) or None).num_rows for side in
                (split.train, split.test, [*split.train, *split.test])]  # fmt: skip
        if what.kind == "clusters":
            assert rows == [everything] * 3, "nothing is learnt of the target, so all rows serve"
            continue
        assert rows[0] > rows[1] > 0
        assert rows[2] == 0
        assert rows[0] + rows[1] == everything
        assert not {column for column, *_ in (*split.train, *split.test)} & set(what.columns)


def test_no_split_of_a_ranking_goes_through_a_query(data: dict[str, Path]) -> None:
    what = TASKS["ranking"]
    for split in what.splits.values():
        sides = [
            set(pq.read_table(data["ranking"], filters=list(side))[what.query].to_pylist())
            for side in (split.train, split.test)
        ]
        assert min(map(len, sides)) > 10
        assert not sides[0] & sides[1]


@pytest.mark.parametrize(("name", "pipeline"), SPECS)
def test_a_spec_is_plain_scikit_learn_and_says_what_it_is(name: str, pipeline: str) -> None:
    made = TASKS[name].pipeline(pipeline, 0)
    libraries = {type(part).__module__.partition(".")[0] for part in parts(made)}
    ours = {type(part) for part in parts(made) if type(part).__module__.startswith("pipeline")}
    assert libraries - {"pipeline"} <= {"sklearn", "xgboost"}
    assert ours <= {CalendarFeatures}, "scikit-learn has no transformer of dates"
    kind = TASKS[name].kind
    assert is_regressor(made) == (kind == "regression")
    assert (is_classifier(made) or is_outlier_detector(made)) == (kind in ("binary", "multiclass"))
    assert TASKS[name].pipelines[pipeline].__doc__
    with pytest.raises(Exception, match="not fitted"):
        check_is_fitted(made)


@pytest.mark.parametrize(("name", "pipeline"), SPECS)
def test_the_seed_fixes_everything_random(name: str, pipeline: str) -> None:
    open_ended = [
        f"{type(part).__name__}.random_state"
        for part in parts(TASKS[name].pipeline(pipeline, 3))
        if "random_state" in part.get_params(deep=False)
        and part.get_params(deep=False)["random_state"] is None
        and type(part).__name__ not in NOT_RANDOM
    ]
    assert open_ended == []


@pytest.mark.quick(1)
@pytest.mark.parametrize("spec", one_in(3, SPECS), ids="-".join)
def test_a_spec_learns_the_same_each_time_and_as_well_as_the_plain_program(
    spec: tuple[str, str], data: dict[str, Path]
) -> None:
    name, pipeline = spec
    what = TASKS[name]
    plain, ours, again = (
        measure.measure_once(
            what, what.pipeline(pipeline, 0), Job(name, pipeline, variant, data[name])
        )
        for variant in ("reference", "cpu", "cpu")
    )
    for field in ours.predicted.dtype.names or ("prediction",):
        one, other = (metrics.part(each.predicted, field) for each in (ours, again))
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-9)
    expected, found = measure.judge_outcome(what, plain), measure.judge_outcome(what, ours)
    assert any(expected[metric] > BETTER_THAN[metric] for metric in set(BETTER_THAN) & {*expected})
    assert expected.keys() == found.keys()
    for metric, value in expected.items():
        assert found[metric] == pytest.approx(value, abs=what.margins[metric]), metric


@pytest.mark.parametrize(("name", "pipeline"), SPECS)
def test_a_spec_runs_whole_on_a_gpu_as_far_as_the_rules_know(name: str, pipeline: str) -> None:
    explained = explain.explain(TASKS[name].pipeline(pipeline, 0), device="cuda")
    assert [p.step for p in explained.placements if p.device != "cuda"] == []
