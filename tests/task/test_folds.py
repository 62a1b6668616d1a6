from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from pipeline.benchmark.record.tuning_record import TuningRecord, load_tuning
from pipeline.benchmark.tune import publish_tuning
from pipeline.errors import ConfigError, DataError
from pipeline.task.folds import plan_folds, read_learnt_rows, times_of
from pipeline.task.task import Job, Split, Task
from tests.benchmark.tuned import batch_of, task_of

ROWS, UNITS = 1200, 400
RANDOM = Split([("fold", "<", 3)], [("fold", "==", 3)], "three quarters")
GROUPS = replace(RANDOM, groups="patient")
LATER = Split([("day", "<", 300)], [("day", ">=", 300)], "before day 300")
LEAVES = "decisiontree{}__max_leaf_nodes"


def prepared(path: Path) -> Path:
    """Write a table whose answer is that of a patient, or of a day, which its number gives away.

    What holds for others too is `x`, which alone tells less. Rows are in no order.
    """
    draw = np.random.default_rng(0)
    unit = np.repeat(np.arange(UNITS), ROWS // UNITS)
    x = draw.normal(size=UNITS)
    level = x + draw.normal(size=UNITS)
    frame = pd.DataFrame({"number": draw.permutation(UNITS).astype(float)[unit], "x": x[unit]})
    frame["day"] = unit
    frame["hour"] = draw.integers(0, 24, ROWS)
    frame["when"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(unit, unit="D")
    frame["patient"] = pd.Series([f"p{each}" for each in unit])
    frame["ill"] = level[unit] > 0
    frame["size"] = level[unit] + 0.1 * draw.normal(size=ROWS)
    frame["weight"] = draw.uniform(0.5, 2, ROWS)
    frame["fold"] = unit % 4
    frame.sample(frac=1, random_state=1).to_parquet(path, index=False)
    return path


def classes(seed: int) -> Any:
    return make_pipeline(StandardScaler(), DecisionTreeClassifier(random_state=seed))


def numbers(seed: int) -> Any:
    return make_pipeline(StandardScaler(), DecisionTreeRegressor(random_state=seed))


CLASSES: dict[str, Any] = {
    "features": ["number", "x"], "target": "ill", "positive": True, "pipelines": {"tree": classes},
    "metrics": ["accuracy"],
    "spaces": {"tree": {LEAVES.format("classifier"): [2, 4, None]}},
}  # fmt: skip
NUMBERS: dict[str, Any] = {
    "features": ["number", "x"], "target": "size", "positive": None, "kind": "regression",
    "pipelines": {"tree": numbers}, "metrics": ["r2"],
    "spaces": {"tree": {LEAVES.format("regressor"): [2, 4, None]}},
}  # fmt: skip
KINDS = {"classes": CLASSES, "numbers": NUMBERS}


def task_by(path: Path, split: Split, name: str = "random", **changes: Any) -> Task:
    what = task_of(path, prepare=lambda home: prepared(path), splits={name: split}, **CLASSES)
    return replace(what, **changes)


def searched(folder: Path, what: Task) -> TuningRecord:
    folder.mkdir(exist_ok=True)
    batch = batch_of(folder / "out", what, trials=8, prune=False)
    publish_tuning(batch, folder / "out", lambda line: None, resume=False)
    return load_tuning(folder / "out" / "tuning.json")


def job_of(what: Task, folder: Path) -> Job:
    return Job(what.name, "tree", "cpu", what.data(folder))


def training(path: Path, split: Split) -> pd.DataFrame:
    return pd.read_parquet(path, filters=[*split.train])


@pytest.mark.quick(1)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("split", [GROUPS, replace(LATER, time="day")], ids=["groups", "time"])
def test_scores_of_folds_are_those_of_scikit_learn(tmp_path: Path, split: Split, kind: str) -> None:
    path = tmp_path / "small.parquet"
    what = task_by(path, split, **KINDS[kind])
    record = searched(tmp_path, what)
    rows = training(path, split)
    if split.time:
        rows, cut = rows.sort_values("day", kind="stable"), TimeSeriesSplit(3)
    else:
        grouped = StratifiedGroupKFold if kind == "classes" else GroupKFold
        cut = grouped(3, shuffle=True, random_state=0)
    expected = cross_val_score(
        what.pipeline("tree", 0), rows[["number", "x"]], rows[what.target], cv=cut,
        groups=rows["patient"] if split.groups else None,
        scoring=record.protocol.metric,
    )  # fmt: skip
    (search,) = record.searches
    assert search.default == 0
    np.testing.assert_allclose(search.trials[0].folds, expected, rtol=1e-6)
    plan = record.protocol
    assert plan.splitter == repr(cut)
    assert (plan.time, plan.groups) == ((["day"], "") if split.time else ([], "patient"))


@pytest.mark.parametrize(
    ("kind", "split", "splitter"),
    [
        ("classes", RANDOM, StratifiedKFold(4, shuffle=True, random_state=7)),
        ("numbers", RANDOM, KFold(4, shuffle=True, random_state=7)),
        ("classes", GROUPS, StratifiedGroupKFold(4, shuffle=True, random_state=7)),
        ("numbers", GROUPS, GroupKFold(4, shuffle=True, random_state=7)),
        ("classes", replace(RANDOM, time=["day", "hour"]), TimeSeriesSplit(4)),
        ("numbers", replace(RANDOM, time="when"), TimeSeriesSplit(4)),
    ],
)
def test_folds_hold_the_rows_that_scikit_learn_puts_there(
    tmp_path: Path, kind: str, split: Split, splitter: Any
) -> None:
    path = tmp_path / "small.parquet"
    what = task_by(path, split, weight="weight", **KINDS[kind])
    job = replace(job_of(what, tmp_path), seed=7)
    plan = plan_folds(what, job, 4)
    assert repr(plan.splitter) == repr(splitter)
    rows = read_learnt_rows(what, job, what.pipeline("tree", 7), "cpu", plan)
    frame = training(path, split)
    if split.time:
        by = [split.time] if isinstance(split.time, str) else [*split.time]
        frame = frame.sort_values(by, kind="stable")
    np.testing.assert_array_equal(rows.X["number"], frame["number"])
    np.testing.assert_array_equal(rows.y, frame[what.target])
    np.testing.assert_array_equal(rows.params["sample_weight"], frame["weight"])
    ours = plan.splitter.split(rows.X, rows.y, rows.params.get("groups"))
    theirs = splitter.split(frame, frame[what.target], frame["patient"] if split.groups else None)
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(one[0], other[0])
        np.testing.assert_array_equal(one[1], other[1])


@pytest.mark.parametrize(
    ("name", "split", "expected"),
    [
        ("time", LATER, ("day",)),
        ("late", LATER, ()),
        ("late", replace(LATER, time="when"), ("when",)),
        ("time", Split([("later", "==", 0)], [("later", "==", 1)], ""), ()),
        ("late", Split([("at", "<", date(2024, 2, 1))], [("at", ">=", date(2024, 2, 1))], ""),
         ("at",)),
        ("time", Split([("day", "<", 4), ("x", ">", 0)], [("day", ">=", 4)], ""), ("day",)),
        ("time", replace(LATER, groups="patient"), ()),
        ("random", RANDOM, ()),
    ],
)  # fmt: skip
def test_the_time_is_what_a_split_names_or_is_cut_at(
    name: str, split: Split, expected: tuple[str, ...]
) -> None:
    assert times_of(name, split) == expected


def test_a_split_that_names_no_column_is_cautioned(tmp_path: Path) -> None:
    what = task_by(tmp_path / "small.parquet", RANDOM, "groups")
    plan = plan_folds(what, job_of(what, tmp_path), 3)
    assert "write Split(..., groups=COLUMN)" in plan.cautions[0]
    record = searched(tmp_path, what)
    assert record.cautions[0] == plan.cautions[0]


def refused(tmp_path: Path, split: Split, folds: int, change: Any = None, **more: Any) -> str:
    what = task_by(tmp_path / "small.parquet", split, **more)
    job = job_of(what, tmp_path)
    if change is not None:
        frame = pd.read_parquet(job.path)
        change(frame)
        frame.to_parquet(job.path)
    plan = plan_folds(what, job, folds)
    with pytest.raises(DataError) as caught:
        read_learnt_rows(what, job, classes(0), "cpu", plan)
    return str(caught.value)


def test_folds_that_cannot_be_made_are_refused(tmp_path: Path) -> None:
    def gaps(frame: pd.DataFrame) -> None:
        frame.loc[frame["fold"] == 0, "patient"] = None

    said = refused(tmp_path, replace(RANDOM, groups="fold"), 5)
    assert "5 folds by fold: Cannot have number of splits n_splits=5 greater than" in said
    missing = refused(tmp_path, GROUPS, 3, gaps)
    assert (
        "group column of the split, 'patient', is missing in 300 of the 900 training rows"
        in missing
    )
    text = refused(tmp_path, replace(RANDOM, time="patient"), 3)
    assert "time column of the split, 'patient', holds string; store dates or numbers" in text


def test_a_fold_without_a_class_is_refused(tmp_path: Path) -> None:
    def ill_at_last(frame: pd.DataFrame) -> None:
        frame["ill"] = frame["day"] >= 299

    said = refused(tmp_path, replace(LATER, time="day"), 3, ill_at_last)
    assert "3 folds by day: fold 1 lacks rows of a class" in said
    assert "use fewer folds (--cv), or choose another --split" in said


def test_a_split_goes_by_one_thing() -> None:
    with pytest.raises(ConfigError, match="pass time='day' or groups=, not both"):
        replace(LATER, time="day", groups="patient")
