"""Targets of all kinds, from the table to metrics, predictions and the record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.metrics import accuracy_score, cohen_kappa_score, f1_score, log_loss, make_scorer
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import LabelEncoder, StandardScaler
from xgboost import XGBClassifier, XGBRegressor

from pipeline.benchmark.compare import Comparison
from pipeline.benchmark.run import measure, rounds
from pipeline.benchmark.run.resume import FinishedRuns
from pipeline.benchmark.single import PredictedBatch
from pipeline.errors import ConfigError, DataError
from pipeline.table import partitioned
from pipeline.task.task import Job, Split, Task

ROWS = 240
RANDOM = np.random.default_rng(0)
A, B = RANDOM.normal(size=(2, ROWS))
TWO = (A + RANDOM.normal(size=ROWS) / 2 > 0).astype(int)
THREE = TWO + (B > 0.3)
FOLD, WEIGHT = np.arange(ROWS) % 4, RANDOM.uniform(size=ROWS).round(2)
BINARY = [
    (np.array(["good", "bad"], object)[TWO], "bad"),
    (np.array(["good", "bad"], object)[TWO], "good"),
    (TWO.astype(bool), None),
    (TWO + 1, 1),
    (TWO, None),
    (pd.Categorical(np.array(["yes", "no"])[TWO]), "no"),
    (TWO + 1.0, 2),
]
SEVERAL = [
    np.array(["setosa", "virginica", "versicolor"], object)[THREE],
    np.array([3, 5, 9])[THREE],
    pd.Categorical(np.array(["c", "a", "b"])[THREE]),
]
NAMES = ["a", "b"]


def linear(seed: int) -> Any:
    return make_pipeline(StandardScaler(), LogisticRegression())


def boosting(seed: int) -> Any:
    return make_pipeline(StandardScaler(), XGBClassifier(n_estimators=4, n_jobs=1))


def nested(seed: int) -> Any:
    return CalibratedClassifierCV(XGBClassifier(n_estimators=3, n_jobs=1), cv=2)


def bare(seed: int) -> Any:
    return RidgeClassifier()


TASK = Task(
    name="own",
    title="Own",
    prepare=lambda home: home,
    features=NAMES,
    target="y",
    row_id="(row)",
    pipelines={"linear": linear, "boosting": boosting, "nested": nested},
    splits={"random": Split([("fold", "<", 3)], [("fold", ">=", 3)], "three quarters")},
    metrics=["roc_auc", "neg_log_loss"],
    margins={"roc_auc": 0.01},
    licence="own",
    source="own",
)
MULTICLASS = replace(
    TASK,
    kind="multiclass",
    pipelines={**TASK.pipelines, "bare": bare},
    metrics={"accuracy": "accuracy", "macro_f1": "f1_macro", "log_loss": "neg_log_loss"},
    margins={"accuracy": 0.01},
)
REGRESSION = replace(
    TASK,
    kind="regression",
    pipelines={"linear": lambda seed: LinearRegression()},
    metrics={"mse": "neg_mean_squared_error"},
    margins={},
)


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def write(y: Any, **more: Any) -> Path:
        table = {"a": A, "b": B, "y": y, "fold": FOLD, "w": WEIGHT, "(row)": np.arange(ROWS) * 2}
        path = tmp_path / "own.parquet"
        pd.DataFrame({**table, **more}).to_parquet(path)
        return path

    return write


def functions(task: Task) -> dict[str, Callable[..., float]]:
    """Return the plain metrics of a task."""
    return {n: partial(each._score_func, **each._kwargs) for n, each in task.metrics.items()}


def by_hand(task: Task, name: str, y: Any) -> tuple[dict[str, float], Any, Any]:
    """Return metrics, truth and probabilities by plain scikit-learn and XGBoost."""
    X, y, test = pd.DataFrame({"a": A, "b": B}), np.asarray(y), FOLD >= 3
    encoder = LabelEncoder().fit(y)
    model = task.pipeline(name, 0)
    last = {"linear": "logisticregression__", "boosting": "xgbclassifier__"}.get(name, "")
    weights = {f"{last}sample_weight": WEIGHT[~test]} if task.weight else {}
    model.fit(X[~test], y[~test] if name in ("linear", "bare") else encoder.transform(y[~test]),
              **weights)  # fmt: skip
    judged = {"sample_weight": WEIGHT[test]} if task.weight else {}
    chances = model.predict_proba(X[test]) if name != "bare" else None
    if task.kind == "binary":
        classes = encoder.classes_.tolist()
        place = classes.index(1 if task.positive is None else task.positive)
        wanted, said = y[test] == classes[place], chances[:, place]
        found = {n: float(m(wanted, said, **judged)) for n, m in functions(task).items()}
        return found, y[test], chances
    said = model.predict(X[test])
    said = said if name in ("linear", "bare") else encoder.inverse_transform(said)
    plain = functions(task)
    found = {n: float(plain[n](y[test], said, **judged)) for n in ("accuracy", "macro_f1")}
    if chances is not None:
        found["log_loss"] = float(log_loss(y[test], chances, **judged))
    return found, y[test], chances


CASES = [(replace(TASK, positive=positive), y) for y, positive in BINARY]
CASES += [(MULTICLASS, y) for y in SEVERAL]
CASES = [(replace(task, weight=weight), y) for task, y in CASES for weight in ("", "w")]


@pytest.mark.quick(1)
@pytest.mark.parametrize("number", range(len(CASES)))
def test_metrics_and_predictions_are_those_of_a_program_by_hand(
    number: int, write: Callable[..., Path], tmp_path: Path
) -> None:
    (task, y), path = CASES[number], write(CASES[number][1])
    (tmp_path / "run").mkdir()
    ran = PredictedBatch(task, Job("own", "", "cpu", path), list(task.pipelines))
    record = ran.run(tmp_path / "run", lambda line: None)
    for run in record.cells:
        wanted, y_true, chances = by_hand(task, run.pipeline, y)
        job = Job("own", run.pipeline, "reference", path)
        plain = measure.measure_once(task, task.pipeline(run.pipeline, 0), job)
        assert measure.judge_outcome(task, plain) == pytest.approx(wanted, rel=1e-6)
        assert run.metrics == pytest.approx(wanted, rel=1e-5)
        table = pq.read_table(tmp_path / "run" / run.predictions.file).to_pandas()
        assert table["row"].tolist() == (np.arange(ROWS) * 2)[FOLD >= 3].tolist()
        assert table["truth"].tolist() == y_true.tolist()
        classes = np.unique(np.asarray(y))
        if chances is None:
            continue
        if task.kind == "binary" and task.positive is None:
            assert list(table.columns) == ["row", "truth", "prediction", "probability"]
            np.testing.assert_allclose(table["probability"], chances[:, 1], rtol=1e-5)
            assert table["prediction"].tolist() == classes[chances.argmax(axis=1)].tolist()
            continue
        columns = [f"probability_{name}" for name in classes]
        assert list(table.columns) == ["row", "truth", "prediction", *columns]
        np.testing.assert_allclose(table[columns], chances, rtol=1e-4)
        assert table["prediction"].tolist() == classes[chances.argmax(axis=1)].tolist()


WRONG: list[tuple[str, Task, Any, str]] = [
    ("positive unsaid", TASK, BINARY[0][0],
     "holds 'bad' and 'good'; set the positive .* positive='good'"),
    ("positive of 1 and 2 unsaid", TASK, TWO + 1, "holds 1 and 2; set the positive"),
    ("none of them", replace(TASK, positive="Bad"), BINARY[0][0], "but positive='Bad'; choose"),
    ("text for a number", replace(TASK, positive="1"), TWO, "but positive='1'; choose"),
    ("three of two", TASK, THREE, "holds 3 classes: 0, 1, 2; use kind='multiclass'"),
    ("one class", TASK, 0 * TWO, "all 180 training rows have the class 0"),
    ("fractions", MULTICLASS, THREE / 2, r"is \d?\.5 in row \d+ .*; classes must be text"),
    ("dates", MULTICLASS, pd.date_range("2020", periods=ROWS),
     "holds datetime64?, such as .*classes"),
    ("decimals", MULTICLASS, [Decimal(int(each)) for each in THREE],
     "holds decimal, such as Decimal"),
    ("missing class", MULTICLASS, pd.Series(SEVERAL[0]).mask(FOLD == 2), "is missing in 60 of the "
     "180 training rows, first in row 2 of the training rows"),
    ("missing in the test rows", MULTICLASS, pd.Series(SEVERAL[0]).mask(FOLD == 3),
     "is missing in 60 of the 60 test rows"),
    ("missing integers", TASK, pd.Series(TWO, dtype="Int64").mask(A > 1), "is missing in"),
    ("missing booleans", TASK, pd.Series(TWO == 1, dtype="boolean").mask(A > 1), "is missing in"),
    ("missing number", REGRESSION, np.where(FOLD == 1, np.nan, A), "missing in 60 of the 180"),
    ("infinite", REGRESSION, np.where(np.arange(ROWS) == 5, np.inf, A), "is inf in row 4 of the "),
    ("text for numbers", REGRESSION, BINARY[0][0], "holds string, such as .*; kind 'regression'"),
    ("dates for numbers", REGRESSION, pd.date_range("2020", periods=ROWS),
     "holds datetime64?, such as"),
]  # fmt: skip


@pytest.mark.parametrize("variant", ["reference", "cpu"])
@pytest.mark.parametrize(
    ("task", "y", "said"), [case[1:] for case in WRONG], ids=[c[0] for c in WRONG]
)
def test_a_target_that_cannot_be_learnt_is_refused_with_its_row(
    task: Task, y: Any, said: str, variant: str, write: Callable[..., Path]
) -> None:
    job = Job("own", "linear", variant, write(y))
    with pytest.raises((ConfigError, DataError), match=f"^own: .*{said}"):
        measure.measure_once(task, task.pipeline("linear", 0), job)


class Never:
    """A worker that must not be started."""

    def __init__(self, job: Job) -> None:
        raise AssertionError(job)


@pytest.mark.parametrize(
    ("task", "y"), [WRONG[0][1:3], WRONG[9][1:3], (replace(TASK, weight="w"), TWO)],
    ids=["classes", "missing", "weights"],
)  # fmt: skip
def test_what_no_run_can_use_is_refused_before_any(
    task: Task, y: Any, write: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounds, "WorkerProcess", Never)
    near = {"near": lambda seed: KNeighborsClassifier(), **task.pipelines}
    task, job = replace(task, pipelines=near), Job("own", "", "cpu", write(y))
    lines: list[str] = []
    for asked in (
        lambda: Comparison(task, job, ["near", "linear"]).measure(
            lines.append, FinishedRuns(tmp_path / "runs", {})
        ),
        lambda: PredictedBatch(task, job, ["near", "linear"]).run(tmp_path, lines.append),
    ):
        with pytest.raises((ConfigError, DataError), match="^own: "):
            asked()
    assert lines == []


@pytest.mark.parametrize("kind", ["binary", "multiclass"])
def test_what_is_predicted_is_what_the_model_decides(
    kind: str, write: Callable[..., Path], tmp_path: Path
) -> None:
    """Neither a threshold of one's own nor a support vector machine takes the most probable."""
    strict = FixedThresholdClassifier(LogisticRegression(), threshold=0.8, pos_label="good")
    unsure = SGDClassifier(loss="modified_huber", random_state=0, alpha=0.001)
    several = replace(MULTICLASS, pipelines={"own": lambda seed: unsure})
    two = replace(TASK, positive="good", pipelines={"own": lambda seed: strict})
    task, y = (two, BINARY[0][0]) if kind == "binary" else (several, SEVERAL[0])
    (tmp_path / "run").mkdir()
    ran = PredictedBatch(task, Job("own", "", "cpu", write(y)), ["own"])
    (run,) = ran.run(tmp_path / "run", print).cells
    table = pq.read_table(tmp_path / "run" / run.predictions.file).to_pandas()
    X = pd.DataFrame({"a": A, "b": B})
    model = task.pipeline("own", 0).fit(X[FOLD < 3], y[FOLD < 3])
    said, chances = model.predict(X[FOLD >= 3]), model.predict_proba(X[FOLD >= 3])
    assert table["prediction"].tolist() == said.tolist()
    assert (said != model.classes_[chances.argmax(axis=1)]).any()
    if kind == "multiclass":
        assert run.metrics["accuracy"] == accuracy_score(y[FOLD >= 3], said)


@pytest.mark.parametrize("variant", ["reference", "cpu"])
@pytest.mark.parametrize(
    "y",
    [
        (A * 100).round().astype(int),
        np.uint64(2**63) + np.arange(ROWS).astype("uint64"),
        [Decimal(int(each)) / 4 for each in A * 100],
        A.astype("float32"),
        TWO == 1,
    ],
    ids=["int64", "uint64", "decimal", "float32", "bool"],
)
def test_numbers_of_any_type_are_learnt(y: Any, variant: str, write: Callable[..., Path]) -> None:
    job = Job("own", "linear", variant, write(y))
    found = measure.measure_once(REGRESSION, REGRESSION.pipeline("linear", 0), job)
    numbers, X = np.asarray(y, "float64"), np.column_stack([A, B])
    plain = LinearRegression().fit(X[FOLD < 3], numbers[FOLD < 3])
    np.testing.assert_allclose(found.predicted, plain.predict(X[FOLD >= 3]), rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("room", [0, 2**40], ids=["streaming", "in memory"])
def test_weights_stay_with_their_rows_whatever_the_order_of_files(
    room: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Readers do not agree whether 10 or a comes before 2."""
    for number, name in enumerate(["2", "10", "1", "a-b/1", "a/1", "a/10", "a/2", "a.c"]):
        path = tmp_path / "own" / f"{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = np.arange(20.0) + 100 * number
        table = {"a": rows % 7, "b": rows % 5, "y": rows, "fold": rows % 4, "w": rows + 1}
        pq.write_table(pa.table(table), path)
    monkeypatch.setattr(partitioned, "room", lambda device: room)
    task = replace(
        REGRESSION,
        weight="w",
        pipelines={
            "boosting": lambda seed: make_pipeline(StandardScaler(), XGBRegressor(n_jobs=1))
        },
    )
    job = Job("own", "boosting", "cpu", tmp_path / "own")
    found = measure.measure_once(task, task.pipeline("boosting", 0), job)
    assert len(found.y_true) == 40
    np.testing.assert_array_equal(found.y_true["weight"], found.y_true["target"] + 1)


@pytest.mark.parametrize("variant", ["reference", "cpu"])
def test_a_class_that_no_training_row_has_is_answered_wrongly_and_named(
    variant: str, write: Callable[..., Path]
) -> None:
    y = np.array(["b", "d", "a"], object)[THREE]
    y[FOLD >= 3] = np.where(B[FOLD >= 3] > 1, "c", y[FOLD >= 3])
    job, without = Job("own", "linear", variant, write(y)), dict(MULTICLASS.metrics)
    chances = {"log_loss": without.pop("log_loss")}
    found = measure.measure_once(MULTICLASS, MULTICLASS.pipeline("linear", 0), job)
    assert found.classes.tolist() == ["a", "b", "d", "c"]
    X = np.column_stack([A, B])
    said = linear(0).fit(X[FOLD < 3], y[FOLD < 3]).predict(X[FOLD >= 3])
    plain = functions(replace(MULTICLASS, metrics=without))
    wanted = {name: metric(y[FOLD >= 3], said) for name, metric in plain.items()}
    assert measure.judge_outcome(replace(MULTICLASS, metrics=without), found) == wanted
    with pytest.raises(
        DataError, match="log_loss of the 60 test rows: no training row has the class 'c'"
    ):
        measure.judge_outcome(replace(MULTICLASS, metrics=chances), found)


@pytest.mark.parametrize(
    ("y", "function"),
    [
        (SEVERAL[1], lambda y_true, said: float(np.abs(y_true - said).mean())),
        (SEVERAL[0], partial(f1_score, labels=["setosa"], average="macro")),
        (SEVERAL[0], lambda y_true, said: float(np.mean((y_true == "setosa") & (said != "b")))),
        (SEVERAL[0], partial(cohen_kappa_score, weights="quadratic")),
    ],
    ids=["numbers", "labels", "own", "weights"],
)
def test_metrics_get_the_names_of_classes(
    y: Any, function: Any, write: Callable[..., Path]
) -> None:
    scorer = make_scorer(getattr(function, "func", function), **getattr(function, "keywords", {}))
    task = replace(MULTICLASS, metrics={"own": scorer})
    job = Job("own", "linear", "cpu", write(y))
    found = measure.measure_once(task, task.pipeline("linear", 0), job)
    model = linear(0).fit(np.column_stack([A, B])[FOLD < 3], y[FOLD < 3])
    wanted = function(y[FOLD >= 3], model.predict(np.column_stack([A, B])[FOLD >= 3]))
    assert measure.judge_outcome(task, found) == pytest.approx({"own": wanted})


@pytest.mark.parametrize("variant", ["reference", "cpu"])
@pytest.mark.parametrize(
    ("weights", "said"),
    [
        (np.where(np.arange(ROWS) == 5, -1.0, WEIGHT), "is -1.0 in row 4 of the training rows"),
        (np.where(np.arange(ROWS) == 6, np.nan, WEIGHT), "is nan in row 5 of the training rows"),
        (np.where(np.arange(ROWS) == 7, np.inf, WEIGHT), "is inf in row 1 of the test rows"),
        (0 * WEIGHT, "is 0 in all training rows"),
        (["heavy"] * ROWS, "holds string, such as 'heavy'; give numbers"),
    ],
    ids=["negative", "missing", "infinite", "zero", "text"],
)
def test_weights_that_are_none_are_refused_with_their_row(
    weights: Any, said: str, variant: str, write: Callable[..., Path]
) -> None:
    task = replace(TASK, weight="w")
    job = Job("own", "linear", variant, write(TWO, w=weights))
    with pytest.raises(DataError, match=f"^own: the weight 'w' {said}"):
        measure.measure_once(task, task.pipeline("linear", 0), job)


@pytest.mark.parametrize("variant", ["reference", "cpu"])
def test_a_program_that_takes_no_weights_is_named(variant: str, write) -> None:
    task = replace(TASK, weight="w", pipelines={"near": lambda seed: KNeighborsClassifier()})
    with pytest.raises(ConfigError, match="own: KNeighborsClassifier does not support weights"):
        measure.measure_once(
            task, task.pipeline("near", 0), Job("own", "near", variant, write(TWO))
        )


DATES = pd.date_range("2020-01-01", periods=ROWS, freq="6h")
COLUMNS = {
    "naive": DATES,
    "Berlin": DATES.tz_localize("UTC").tz_convert("Europe/Berlin"),
    "UTC": DATES.tz_localize("UTC"),
    "day": pa.array(DATES.date),
}
CUTS = [datetime(2020, 2, 1), date(2020, 2, 1), "2020-02-01", pd.Timestamp(2020, 2, 1)]


@pytest.mark.parametrize(
    ("column", "cut"), [*zip(COLUMNS, CUTS, strict=True), *zip(COLUMNS, CUTS[::-1], strict=True)]
)
def test_rows_are_split_by_dates(column: str, cut: Any, tmp_path: Path) -> None:
    dates = COLUMNS[column]
    table = pa.table({"a": A, "b": B, "y": TWO, "sold": dates})
    pq.write_table(table, tmp_path / "own.parquet", row_group_size=50)
    split = Split([("sold", "<", cut)], [("sold", ">=", cut)], "before February")
    task, job = (
        replace(TASK, splits={"time": split}),
        Job("own", "linear", "cpu", tmp_path / "own.parquet"),
    )
    found = measure.measure_once(task, task.pipeline("linear", 0), job)
    clock = pd.Series(dates.to_pandas() if column == "day" else dates)
    clock = pd.to_datetime(clock) if column == "day" else clock.dt.tz_localize(None)
    early = (clock < datetime(2020, 2, 1)).to_numpy()
    assert found.rows_train == early.sum()
    np.testing.assert_array_equal(found.y_true, TWO[~early])
