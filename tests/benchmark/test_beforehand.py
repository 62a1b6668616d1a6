"""What is known of a task before it runs: what is said of its table, and the dummy's scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.metrics import accuracy_score, mean_absolute_error, r2_score, roc_auc_score

from pipeline.benchmark import beforehand
from pipeline.benchmark.beforehand import before_runs
from pipeline.benchmark.task import Job, Kind, Split, Task

N = 900


def task_of(
    frame: pd.DataFrame,
    folder: Path,
    *,
    kind: Kind = "regression",
    split: Split | None = None,
    metrics: dict[str, Callable[..., float]] | None = None,
) -> tuple[Task, Job]:
    """Return a task of a table, of which every fourth row is judged on."""
    folder.mkdir(exist_ok=True)
    frame.assign(fold=np.arange(len(frame)) % 4).to_parquet(folder / "own.parquet")
    task = Task(
        name="own", title="", prepare=lambda home: home, target="y",
        features=[name for name in frame if name not in ("y", "fold")],
        pipelines={"linear": lambda seed: LinearRegression()},
        splits={"random": split or Split([("fold", "<", 3)], [("fold", "==", 3)], "")},
        metrics=metrics or {"r2": r2_score, "mean_absolute_error": mean_absolute_error},
        margins={}, licence="", source="", kind=kind,
    )  # fmt: skip
    return task, Job("own", "linear", "cpu", folder / "own.parquet")


def table(**columns: object) -> pd.DataFrame:
    draw = np.random.default_rng(0)
    x = draw.normal(size=N)
    return pd.DataFrame({"x": x, "z": draw.normal(size=N), "y": x + draw.normal(size=N)} | columns)


def test_the_dummy_answers_with_the_mean_of_the_training_rows(tmp_path: Path) -> None:
    frame = table()
    noted, baseline = before_runs(*task_of(frame, tmp_path))
    test = np.arange(N) % 4 == 3
    mean = np.full(test.sum(), frame["y"][~test].mean())
    assert noted == []
    assert baseline == pytest.approx(
        {
            "r2": r2_score(frame["y"][test], mean),
            "mean_absolute_error": mean_absolute_error(frame["y"][test], mean),
        }
    )


def test_the_dummy_answers_with_the_shares_of_the_classes(tmp_path: Path) -> None:
    frame = table(y=np.arange(N) % 3)
    told = {"accuracy": accuracy_score}
    _, baseline = before_runs(*task_of(frame, tmp_path, kind="multiclass", metrics=told))
    assert baseline == {"accuracy": pytest.approx((frame["y"][3::4] == 0).mean())}
    frame = table(y=(np.arange(N) % 3 == 0).astype(int))
    ranked = {"roc_auc": roc_auc_score, "odd": lambda y_true, chance: float("nan")}
    _, baseline = before_runs(*task_of(frame, tmp_path, kind="binary", metrics=ranked))
    assert baseline == {"roc_auc": 0.5}


def grouped() -> pd.DataFrame:
    return table(patient=[f"p{i // 6}" for i in range(N)])


def dated() -> pd.DataFrame:
    days = pd.date_range("2020", periods=N)
    return table(day=days, y=np.linspace(0, 9, N) + np.random.default_rng(1).normal(size=N))


@pytest.mark.parametrize(
    ("make", "heeding", "words"),
    [
        (grouped, Split([("patient", "<", "p6")], [("patient", ">=", "p6")], ""), "--split groups"),
        (dated, Split([("x", "<", 0.0)], [("x", ">=", 0.0)], ""), "--split time"),
    ],
    ids=["groups", "not by time"],
)
def test_a_split_is_looked_at_itself(
    make: Callable[[], pd.DataFrame], heeding: Split, words: str, tmp_path: Path
) -> None:
    noted = "\n".join(before_runs(*task_of(make(), tmp_path))[0])
    assert words in noted
    noted = "\n".join(before_runs(*task_of(make(), tmp_path, split=heeding))[0])
    assert (words in noted) == (words == "--split time")


def test_a_split_by_time_is_not_told_to_be_one(tmp_path: Path) -> None:
    frame, when = dated(), pd.Timestamp("2021-06-01")
    split = Split([("day", "<", when)], [("day", ">=", when)], "")
    noted = "\n".join(before_runs(*task_of(frame, tmp_path, split=split))[0])
    assert "--split" not in noted
    assert "differ in" not in noted


def test_of_a_split_by_groups_each_group_counts_once(tmp_path: Path) -> None:
    draw = np.random.default_rng(3)
    who = draw.integers(0, 40, N)
    frame = table(x=draw.normal(size=40)[who], patient=[f"p{i:02d}" for i in who])
    split = Split([("patient", "<", "p30")], [("patient", ">=", "p30")], "")
    assert before_runs(*task_of(frame, tmp_path, split=split))[0] == []
    moved = frame.assign(x=frame["x"] + 9.0 * (frame["patient"] >= "p30"))
    noted = before_runs(*task_of(moved, tmp_path, split=split))[0]
    assert "differ in 'x'" in "\n".join(noted)


def test_copies_in_both_parts_are_said_of_the_table_and_of_the_split(tmp_path: Path) -> None:
    frame = pd.concat([table()[:301]] * 3, ignore_index=True)
    noted = before_runs(*task_of(frame, tmp_path))[0]
    assert [sentence[:6] for sentence in noted] == ["66.7 %", "100 % "]


def test_of_a_long_table_a_share_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beforehand, "MOST_READ", 300)
    task, job = task_of(table(gone=np.nan), tmp_path)
    noted = beforehand.of_task(task, job)
    assert any(sentence.startswith("'gone' has one value or none") for sentence in noted)
    assert noted == beforehand.of_task(task, job)


def test_what_cannot_be_looked_through_is_said_and_ends_nothing(tmp_path: Path) -> None:
    task, job = task_of(table(), tmp_path)
    (tmp_path / "own.parquet").write_bytes(b"PAR1")
    noted, baseline = before_runs(task, job)
    assert baseline == {}
    assert noted[0].startswith("The table was not looked through: ")
    assert "\n" not in noted[0]


@pytest.mark.parametrize("kind", ["clusters", "ranking"])
def test_rankings_and_clusters_have_no_dummy(kind: Kind, tmp_path: Path) -> None:
    frame = table(y=np.arange(N) % 3, query=np.arange(N) // 9, gone=1)
    task, job = task_of(frame, tmp_path, metrics={"own": lambda y_true, said: 0.0})
    task = replace(task, kind=kind, query="query" if kind == "ranking" else "")
    noted, baseline = before_runs(task, job)
    assert baseline == {}
    assert [sentence.partition(":")[0] for sentence in noted] == ["'gone' has one value or none"]
