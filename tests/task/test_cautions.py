"""Cautions of tables and splits, and that sound ones have none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn import datasets
from sklearn.linear_model import LinearRegression
from sklearn.metrics import accuracy_score, mean_absolute_error, r2_score

from pipeline.benchmark.run.beforehand import before_runs
from pipeline.errors import ConfigError
from pipeline.task.cautions import examine, overview
from pipeline.task.cautions.examine import of_table
from pipeline.task.task import Job, Split, Task

N = 800
GOOD, PRICE = ("good", "binary"), ("price", "regression")


def draw(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def table(rows: int = N, seed: int = 0, **columns: object) -> pd.DataFrame:
    """Return numbers and a category, of which the first number has some say in the targets."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({"size": random.normal(100, 20, rows), "age": random.normal(size=rows)})
    frame["town"] = random.choice(list("abcd"), rows)
    told = (frame["size"] - 100) / 20 + random.normal(size=rows)
    frame["good"] = np.where(told > 0, "yes", "no")
    frame["price"] = frame["size"] * 10 + random.normal(0, 100, rows)
    return frame.assign(**columns)


def is_yes() -> np.ndarray:
    return (table()["good"] == "yes").to_numpy()


def said(frame: pd.DataFrame, target: str, kind: str, test: np.ndarray | None = None) -> list[str]:
    """Return the cautions of a table, by default with a fourth of the rows to be judged on."""
    others = {"good", "price"} - {target}
    features = [name for name in frame if name != target and name not in others]
    test = draw(9).random(len(frame)) < 0.25 if test is None else test
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    return of_table(arrow, target, kind, features, test)


def of_time(rows: int = N, **columns: object) -> pd.DataFrame:
    days = pd.date_range("2018-01-01", periods=rows, freq="D")
    rising = np.linspace(0, 5, rows) + draw().normal(size=rows)
    return table(rows, **{"sold": days, "price": rising, **columns})


TABLES: dict[str, tuple[Callable[[], pd.DataFrame], tuple[str, str], str]] = {
    "nearly the classes": (
        lambda: table(score=is_yes() + draw().normal(0, 0.1, N)), GOOD, "'score' (AUC 0.99",
    ),
    "one of three classes each": (
        lambda: (f := table()).assign(good=f["town"].replace("d", "c"), part=f["town"]),
        ("good", "multiclass"), "'town' (accuracy beyond guessing 1.000), 'part' (",
    ),
    "an id that repeats": (
        lambda: table(customerId=np.arange(N) // 5), GOOD, "--split groups --by customerId",
    ),
    "years": (
        lambda: table(year=np.arange(N) % 9 + 2010, price=np.arange(N) % 9 + draw().normal(size=N)),
        PRICE, "--split time --by year",
    ),
    "a rare class": (
        lambda: table(good=["a", *["b"] * 300, *["c"] * 499]),
        ("good", "multiclass"), "Classes of 'good' with fewer than 20 rows: 'a' (1 rows)",
    ),
    "mostly missing": (
        lambda: table(x=np.where(np.arange(N) % 4 == 0, draw().random(N), np.nan)),
        GOOD, "Mostly missing: 'x' (75.0 %): leave it out",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", TABLES)
def test_what_is_wrong_with_a_table_is_said_and_little_else(case: str) -> None:
    make, what, words = TABLES[case]
    found = said(make(), *what)
    assert any(words in each for each in found), found
    assert len(found) <= 2, found


BUNDLED = {"iris": "multiclass", "wine": "multiclass", "breast_cancer": "binary",
           "diabetes": "regression"}  # fmt: skip


@pytest.mark.parametrize("name", BUNDLED)
def test_of_tables_that_everybody_knows_nothing_is_said(name: str) -> None:
    data = getattr(datasets, f"load_{name}")(as_frame=True)
    assert of_table(pa.Table.from_pandas(data.frame), "target", BUNDLED[name], [*data.data]) == []


@pytest.mark.parametrize("what", [GOOD, PRICE], ids=["classes", "numbers"])
@pytest.mark.parametrize("rows", [120, N, 5_000])
def test_a_sound_table_is_passed_over(what: tuple[str, str], rows: int) -> None:
    for seed in range(3):
        frame = table(
            rows, seed, born=pd.date_range("1950", periods=rows), wide=draw().random(rows)
        )
        assert said(frame, *what) == []


def test_a_time_or_a_group_that_the_split_goes_by_is_passed_over() -> None:
    last = np.arange(N) >= 600
    assert any("[time]" in each for each in said(of_time(), *PRICE))
    assert said(of_time(), *PRICE, test=last) == []
    frame = table(patient=np.arange(N) // 8)
    assert any("[groups]" in each for each in said(frame, *GOOD))
    assert said(frame, *GOOD, test=last) == []


def test_the_same_few_categories_in_both_parts_are_no_copies() -> None:
    frame = table(4_000, age=draw().normal(0, 10, 4_000).round())
    for names in (["town"], ["town", "age"], ["age"]):
        assert said(frame[[*names, "good"]], *GOOD) == []


@pytest.mark.parametrize("kind", ["ranking", "clusters"])
def test_of_ranks_and_clusters_only_the_columns_are_looked_at(kind: str) -> None:
    [only] = said(table(x=1, state=table()["good"]), "good", kind)
    assert only.startswith("note: One value or none: 'x': nothing can be learned")


def test_the_worst_comes_first() -> None:
    frame = of_time(constant=1, number=draw().permutation(N), copy=lambda f: f["price"] * 2)
    ids = [each.rpartition("[")[2] for each in said(frame, *PRICE)]
    assert ids == ["leak]", "time]", "row-id]", "constant]"]


ODD: dict[str, Callable[[int], object]] = {
    "infinite": lambda n: np.where(np.arange(n) % 9 == 0, np.inf, np.arange(n) * 1.0),
    "huge": lambda n: draw().normal(size=n) * 1e300,
    "beyond int64": lambda n: np.full(n, 2**63 + 5, dtype="uint64"),
    "nothing": lambda n: np.full(n, np.nan),
    "texts": lambda n: [f"{i} and more" for i in range(n)],
    "zoned": lambda n: pd.date_range("2020", periods=n, tz="Europe/Zurich"),
    "spans": lambda n: pd.to_timedelta(np.arange(n), "s"),
    "nullable": lambda n: pd.array([True, None] * (n // 2) + [False] * (n % 2), dtype="boolean"),
    "number categories": lambda n: pd.Categorical(np.arange(n) % 2),
    "lists": lambda n: [[1, 2]] * n,
}


@pytest.mark.quick(8)
@pytest.mark.parametrize("rows", [0, 1, 2, 21, 101])
@pytest.mark.parametrize("target", ODD)
def test_any_column_of_any_length_can_be_looked_at(rows: int, target: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({name: make(rows) for name, make in ODD.items()})
    kinds = ["binary", "multiclass"]
    if pd.api.types.is_float_dtype(frame[target]):
        kinds.append("regression")
    for kind in kinds:
        task, job = task_of(frame, tmp_path, target=target, kind=kind, metrics=METRICS[kind])
        examine.of_task(task, job)


METRICS = {"binary": ["roc_auc"], "multiclass": ["accuracy"],
           "regression": ["r2", "neg_mean_absolute_error"]}  # fmt: skip
FOURTH = Split([("fold", "<", 3)], [("fold", "==", 3)], "")


def task_of(
    frame: pd.DataFrame, folder: Path, *, split: Split = FOURTH, **changes: Any
) -> tuple[Task, Job]:
    """Return a task of a table, of which every fourth row is judged on."""
    target = changes.get("target", "price")
    frame.assign(fold=np.arange(len(frame)) % 4).to_parquet(folder / "own.parquet")
    given: dict[str, Any] = {"kind": "regression", "metrics": METRICS["regression"], **changes}
    task = Task(**{
        "name": "own", "title": "", "prepare": lambda home: home, "target": "price",
        "features": [n for n in frame if n not in (target, "good", "fold", "price")],
        "pipelines": {"linear": lambda seed: LinearRegression()}, "splits": {"mine": split},
        "margins": {}, "licence": "", "source": "", **given,
    })  # fmt: skip
    return task, Job("own", "linear", "cpu", folder / "own.parquet")


def of_parts(train: pd.DataFrame, test: pd.DataFrame, folder: Path, **changes: Any) -> list[str]:
    """Return the cautions of a split into these parts."""
    train, test = train.assign(part="train"), test.assign(part="test")
    split = Split([("part", "==", "train")], [("part", "==", "test")], "")
    names = ["size", "age", "town"]
    both = pd.concat([train, test], ignore_index=True)
    return examine.of_task(*task_of(both, folder, split=split, features=names, **changes))[0]


CLASSES = {"target": "good", "kind": "multiclass", "metrics": ["f1_macro"]}
PARTS: dict[str, tuple[pd.DataFrame, pd.DataFrame, dict[str, Any], str]] = {
    "more gaps": (
        table(600), table(300, 1).assign(age=lambda f: f["age"].where(f["age"] > 0.5)), {},
        "'age' (0.9",
    ),
    "other texts": (
        table(600), table(300, 1).assign(town=lambda f: f["town"].replace(["b", "c"], "a")), {},
        "'town' (0.7",
    ),
    "other shares": (
        table(600), table(300, 1).assign(good=["yes"] * 20 + ["no"] * 280), CLASSES,
        "'good' (0.68",
    ),
    "other numbers": (
        table(600), table(300, 1).assign(price=lambda f: f["price"] + 500), {},
        "'price' (0.9",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", PARTS)
def test_what_is_wrong_with_a_split_is_said(case: str, tmp_path: Path) -> None:
    train, test, changes, words = PARTS[case]
    found = of_parts(train, test, tmp_path, **changes)
    assert words in "\n".join(found), found
    assert len(found) <= 3, found


@pytest.mark.parametrize("changes", [{}, CLASSES], ids=["numbers", "classes"])
def test_a_sound_split_is_passed_over(changes: dict[str, Any], tmp_path: Path) -> None:
    for rows in (60, 300, 5_000):
        assert of_parts(table(4 * rows), table(rows, 1), tmp_path, **changes) == []


def test_columns_are_summarized_with_their_drift_and_cautions(tmp_path: Path) -> None:
    days = pd.date_range("2018-01-01", periods=N, freq="D")
    frame = table(x=1, sold=days, far=np.arange(N) % 4 // 3 + draw().normal(0, 0.01, N))
    frame["town"] = pd.Series(["a", "b", "a", None] * (N // 4))
    frame["sure"] = frame["age"] > 0
    cautions, found = examine.of_task(*task_of(frame, tmp_path, mute=["constant"]))
    assert (found.rows, found.sampled, found.left_out) == (N, False, 0)
    columns = {each.name: each for each in found.columns}
    assert [*columns] == ["price", "size", "age", "town", "x", "sold", "far", "sure"]
    kinds = ["number", "number", "number", "category", "number", "date", "number", "boolean"]
    assert [each.kind for each in columns.values()] == kinds
    age, town, sold, far = (columns[name] for name in ("age", "town", "sold", "far"))
    ordered = np.sort(frame["age"])
    assert (age.low, age.median, age.high) == (ordered[0], ordered[N // 2 - 1], ordered[-1])
    assert (town.missing, town.distinct, town.most_frequent) == (0.25, 2, "a")
    assert town.share == pytest.approx(2 / 3)
    assert (sold.low, sold.high) == ("2018-01-01", str(days[-1].date()))
    assert age.drift == pytest.approx(0.5, abs=0.1)
    assert far.drift == pytest.approx(1.0, abs=0.01)
    assert (far.cautions, columns["x"].cautions, age.cautions) == (["drift"], [], [])
    assert [each.rpartition(" ")[2] for each in cautions] == ["[drift]"]


def test_the_first_columns_of_many_are_summarized(tmp_path: Path) -> None:
    wide = {f"c{i}": draw(i).normal(size=40) for i in range(overview.MOST_SHOWN + 5)}
    frame = pd.concat([table(40), pd.DataFrame(wide)], axis=1)
    summary = examine.of_task(*task_of(frame, tmp_path))[1]
    assert (len(summary.columns), summary.left_out) == (overview.MOST_SHOWN, 9)


def test_cautions_are_muted_by_their_ids(tmp_path: Path) -> None:
    frame = table(x=1, number=np.arange(N))
    found = examine.of_task(*task_of(frame, tmp_path))[0]
    assert [each.rpartition(" ")[2] for each in found] == ["[row-id]", "[constant]"]
    assert examine.of_task(*task_of(frame, tmp_path, mute=["row-id"]))[0] == found[1:]
    task, job = task_of(frame, tmp_path, mute=["row-id", "constant"])
    assert before_runs(task, job).cautions == []
    with pytest.raises(ConfigError, match="'rowid'; did you mean 'row-id'"):
        task_of(frame, tmp_path, mute=["rowid"])


def test_the_dummy_predicts_the_mean_or_the_shares_of_the_training_rows(tmp_path: Path) -> None:
    frame, test = table(), np.arange(N) % 4 == 3
    known = before_runs(*task_of(frame, tmp_path))
    mean = np.full(test.sum(), frame["price"][~test].mean())
    assert known.baseline == pytest.approx({
        "r2": r2_score(frame["price"][test], mean),
        "mean_absolute_error": mean_absolute_error(frame["price"][test], mean),
    })  # fmt: skip
    assert (known.scoring.signs, known.scoring.best) == (
        {"r2": 1, "mean_absolute_error": -1},
        {"r2": 1, "mean_absolute_error": 0},
    )
    three = table(good=np.arange(N) % 3)
    several = {"target": "good", "kind": "multiclass", "metrics": ["accuracy"]}
    found = before_runs(*task_of(three, tmp_path, **several)).baseline
    shares = accuracy_score(
        three["good"][test], np.full(test.sum(), three["good"][~test].mode()[0])
    )
    assert found == {"accuracy": pytest.approx(shares)}
