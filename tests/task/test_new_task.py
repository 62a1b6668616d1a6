"""Tables of one's own: odd names, dates, gaps and texts, from the file to the report."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
from datetime import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline import Accelerated, explain
from pipeline.errors import ConfigError, DataError
from pipeline.files.table_format import TableFormat
from pipeline.table.arrow_types import plain_values
from pipeline.task.own import new_task
from pipeline.task.own.own_target import choose_positive, read_target
from pipeline.task.own.roles import assign_roles
from pipeline.task.task import Task

ROOT = Path(__file__).parents[2]
ROWS = 400


def houses(rows: int = ROWS) -> pd.DataFrame:
    """Return a table in which little is as a program wants it."""
    draw = np.random.default_rng(0)
    size = draw.normal(100, 20, rows).round(1)
    town = draw.choice(["Zürich", "Genève", "it's", 'a "b"'], rows)
    price = size * 10 + (town == "Zürich") * 300 + draw.normal(0, 10, rows)
    frame = pd.DataFrame(
        {
            "": np.arange(1, rows + 1),
            "size [m²] <new>": np.where(np.arange(rows) % 9 == 0, np.nan, size),
            "town, where\nit is": np.where(np.arange(rows) % 7 == 0, None, town),
            "street": [f"Street {i % 60}" for i in range(rows)],
            "sold on": pd.date_range("2020-02-01", periods=rows, freq="31h").astype("str"),
            "who": [f"Person {i}" for i in range(rows)],
            "country": "CH",
            "nothing": None,
            "new?": draw.random(rows) < 0.5,
            "price": np.where(np.arange(rows) == 5, np.nan, price.round(2)),
            "grade": np.where(price > 1100, "dear", "cheap"),
            "kind": np.select([price > 1200, price > 1000], ["big", "middle"], "small"),
        }
    )
    frame.loc[:2, "kind"] = "castle"
    return frame


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "__init__.py").touch()
    houses().to_csv(tmp_path / "My houses.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def create(
    workspace: Path, label: str, file: str = "My houses.csv", **choices: Any
) -> new_task.NewTask:
    return new_task.create(workspace / file, label, workspace / "data", new_task.Choices(**choices))


def stored(made: new_task.NewTask) -> pd.DataFrame:
    return pd.read_parquet(made.data)


def pipeline(workspace: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command line where the new task is."""
    done = subprocess.run(
        [sys.executable, "-m", "pipeline", *arguments],
        cwd=workspace, env={"PYTHONPATH": f"{workspace}:{ROOT}", "PATH": "/usr/bin:/bin"},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.slow
@pytest.mark.parametrize(
    ("label", "kind", "best"),
    [("price", "regression", "r2"), ("grade", "binary", "roc_auc"),
     ("kind", "multiclass", "accuracy")],
)  # fmt: skip
def test_from_the_file_to_the_report_without_a_change(workspace, label, kind, best) -> None:
    said = pipeline(workspace, "new-task", "My houses.csv", label).stdout
    assert f" ({kind})\n" in said
    assert re.search(r"next: .*python -m pipeline report my_houses\n", said)
    out = workspace / "out"
    pipeline(
        workspace, "report", "my_houses", "--device", "cpu", "--repeats", "3", "--out", str(out)
    )
    record = json.loads((out / "results.json").read_text())
    assert {cell["status"] for cell in record["cells"]} == {"ok"}
    assert all(cell["metrics"][best] > 0.6 for cell in record["cells"])
    assert "| FAIL |" not in (out / "report.md").read_text()
    assert (out / "index.html").stat().st_size > 10_000


def test_what_cannot_be_used_is_named_with_the_reason(workspace) -> None:
    made = create(workspace, "price")
    assert made.columns.unused == {
        "Unnamed: 0": "has a different number in each row",
        "who": "has 399 different texts in 399 rows, like an identifier",
        "country": "has a single value",
        "nothing": "has no values",
    }
    said = "\n".join(made.lines())
    for name in made.columns.unused:
        assert f"not used: {name!r}" in said
    assert "399 of 400 rows" in said


def role(values: Any, name: str = "x") -> str:
    """Return what a column becomes, or why nothing."""
    table = pa.table({name: plain_values(pa.table({name: values})[name])})
    roles = assign_roles(table, [name], TableFormat(), pa.array(range(len(table))))
    return next(iter(roles.by_name), roles.unused.get(name, ""))


WORDS = ["red", "green", "apples", "pears", "sweet", "sour"]
SHUFFLED = np.random.default_rng(0).permutation(200)
DAYS = pa.array(range(200), "int32").cast("date32")
COLUMNS = [
    ("numbers", SHUFFLED / 7, "numbers"),
    ("flags", SHUFFLED > 9, "numbers"),
    ("a flag or a blank", ["X" if i % 3 else None for i in range(200)], "few"),
    ("a number or a blank", [1.0 if i % 3 else None for i in range(200)], "few"),
    ("a row number", range(200), "a different number in each row"),
    ("codes", [f"K-{i:05d}" for i in range(200)], "like an identifier"),
    ("names", [f"{WORDS[i % 6]} Smith{i}" for i in range(200)], "like an identifier"),
    ("towns", [f"town {i % 30}" for i in range(200)], "many"),
    ("words", [" ".join(WORDS[i % 5 :]) + f" x{i}" for i in range(200)], "texts"),
    (
        "long texts that come again",
        [" ".join(WORDS * 2) + f" {i % 40}" for i in range(200)],
        "texts",
    ),
    ("one date", [pd.Timestamp("2024-01-01")] * 200, "single value"),
    ("dates", pd.date_range("2024-01-01", periods=200), "dates"),
    ("days", DAYS, "dates"),
    ("times of day", [time(i % 24, i % 60) for i in range(200)], "times"),
    ("lists", [[1], [2, 3]] * 100, "is of type list"),
]


@pytest.mark.parametrize(
    ("values", "expected"), [c[1:] for c in COLUMNS], ids=[c[0] for c in COLUMNS]
)
def test_what_a_column_becomes(values, expected) -> None:
    assert expected in role(values)


@pytest.mark.parametrize("name", ["id", "Customer ID", "order_no", "rowId", "CustomerID", "nr."])
def test_numbers_that_only_tell_rows_apart_are_known_by_their_name(name) -> None:
    ids = SHUFFLED * 17 + 1000
    assert role(ids, name) == "has a different number in each row"
    assert role(ids, "income") == role(ids, "paid") == "numbers"


def test_classes_too_rare_are_left_out_and_named(workspace) -> None:
    made = create(workspace, "kind")
    assert list(made.target.classes) == ["big", "middle", "small"]
    assert made.target.left_out == {"castle": 3}
    assert made.rows == ROWS - 3
    assert "rare classes, left out: 'castle' (3 rows)" in "\n".join(made.lines())
    assert set(stored(made)["kind"]) == {"big", "middle", "small"}


TARGETS = [
    ("texts", ["b", "a"] * 100, "", ("binary", ["a", "b"])),
    ("true and false", [True, False] * 100, "", ("binary", [False, True])),
    ("0 and 1", [0, 1] * 100, "", ("binary", [0, 1])),
    ("two floats with gaps", [1.0, 2.0, None, 2.0] * 50, "", ("binary", [1, 2])),
    ("three classes", ["a", "b", "c", "a"] * 50, "", ("multiclass", ["a", "b", "c"])),
    ("grades", [1, 2, 3, 4] * 50, "", ("multiclass", [1, 2, 3, 4])),
    (
        "counts with a tail",
        [0] * 90 + [1] * 60 + [2] * 30 + [3] * 15 + [5] * 5,
        "",
        ("regression", []),
    ),
    ("many counts", list(range(11)) * 20, "", ("regression", [])),
    ("codes", list(range(41)) * 20, "", ("regression", [])),
    ("codes, as said", list(range(41)) * 20, "multiclass", ("multiclass", list(range(41)))),
    ("grades as numbers", [1, 2, 3, 4] * 50, "regression", ("regression", [])),
    ("0 and 1 as numbers", [0, 1] * 100, "regression", ("regression", [])),
    ("numbers", list(SHUFFLED / 7), "", ("regression", [])),
]


@pytest.mark.parametrize(
    ("values", "kind", "expected"), [t[1:] for t in TARGETS], ids=[t[0] for t in TARGETS]
)
def test_a_target_is_classes_or_a_number(values, kind, expected) -> None:
    found = read_target("y", pa.chunked_array([pa.array(values)]), kind)
    assert (found.kind, list(found.classes)) == expected
    whole = pa.types.is_integer(pa.array(values).type) and len(set(values)) > 2
    assert len(found.notes) == int(whole and not kind)
    other = "multiclass" if found.kind == "regression" else "regression"
    assert all(f"--kind {other}" in note for note in found.notes)


@pytest.mark.parametrize(
    ("values", "kind", "error", "told"),
    [
        ([None] * 9, "", DataError, "has no values"),
        (["a"] * 90, "", DataError, "all rows are 'a'"),
        ([1.5] * 90, "regression", DataError, "has a single value"),
        ([f"t{i}" for i in range(90)], "", DataError, "0 of 90 classes have 20 rows or more"),
        ([0.5] * 90 + [1.5], "", DataError, "1 of 2 classes .* or --kind regression"),
        ([i / 7 for i in range(90)], "multiclass", DataError, "0 of 90 .* or --kind regression"),
        (["a", "b", "c"] * 30, "binary", ConfigError, "needs two classes, not 3"),
        (["a", "b"] * 30, "regression", ConfigError, "needs numbers, but row 0 holds 'a'"),
        (["a", "b"] * 30, "ranking", ConfigError, "choose from binary, multiclass, regression"),
        ([[1, 2]] * 9, "", DataError, "holds list.*choose another TARGET"),
        ([pd.Timestamp("2024-01-01")] * 9, "", DataError, "holds dates or times, .*choose another"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_a_target_that_is_none_is_refused(values, kind, error, told) -> None:
    with pytest.raises(error, match=f"^(target 'y'|--kind).*{told}"):
        read_target("y", pa.chunked_array([pa.array(values)]), kind)


@pytest.mark.parametrize(
    ("classes", "positive"),
    [({"bad": 30, "good": 70}, "bad"), ({"good": 30, "bad": 70}, "good"), ({"a": 5, "b": 5}, "b"),
     ({"No": 3, "Yes": 97}, "Yes"), ({0: 90, 1: 10}, 1),
     ({1: 90, 2: 10}, 2), ({False: 1, True: 9}, True)],
    ids=str,
)  # fmt: skip
def test_the_positive_class_is_a_yes_the_larger_number_or_the_rarer(classes, positive) -> None:
    assert choose_positive(classes) is positive


def judged(made: new_task.NewTask) -> pd.Series:
    return stored(made)["fold"] == 3


@pytest.mark.quick(2)
@pytest.mark.parametrize("label", ["price", "grade", "kind"])
def test_a_random_quarter_is_a_quarter_of_each_class(workspace, label) -> None:
    made = create(workspace, label)
    table, test = stored(made), judged(made)
    assert abs(test.sum() - len(table) / 4) <= 0.75
    if made.target.classes:
        parts = test.groupby(table[label].astype("str")).agg(["sum", "size"])
        assert ((parts["sum"] - parts["size"] / 4).abs() < 1).all()


def test_a_split_by_time_is_cut_where_it_is_said_or_before_the_last_quarter(workspace) -> None:
    made = create(workspace, "grade", split="time")
    table, test = stored(made), judged(made)
    assert test.sum() == 100
    assert table["sold on"][~test].max() < table["sold on"][test].min()
    pq.write_table(pa.table({"y": range(200), "on": DAYS}), "days.parquet")
    assert judged(create(workspace, "y", "days.parquet", split="time")).sum() == 50
    size = create(workspace, "price", name="size", split="time", by="size [m²] <new>")
    assert not stored(size)["size [m²] <new>"].isna().any()


@pytest.mark.parametrize("label", ["price", "grade"])
def test_groups_are_never_cut_and_not_learnt_from(workspace, label) -> None:
    made = create(workspace, label, split="groups", by="street")
    table, test = stored(made), judged(made)
    assert not set(table["street"][test]) & set(table["street"][~test])
    assert 0.2 < test.mean() < 0.3
    assert made.columns.unused["street"] == "holds the groups"


@pytest.mark.quick(5)
@pytest.mark.parametrize(
    ("choices", "told"),
    [
        ({"ignore": ["stret"]}, "unknown column 'stret'; did you mean 'street'"),
        ({"ignore": ["price"]}, "--ignore price: this is the target"),
        ({"split": "time", "by": "price"}, "--by price: this is the target"),
        ({"split": "groups"}, "--split groups needs --by"),
        ({"split": "time", "by": "street"}, "must hold dates or numbers"),
        ({"split": "never"}, "unknown --split 'never'; choose from: groups, random, time"),
        ({"by": "street"}, "--by needs --split time"),
        ({"name": "my houses"}, "--name my houses: write it as my_houses"),
        ({"name": "class"}, "write it as table_class"),
    ],
    ids=str,
)
def test_a_choice_that_cannot_be_is_refused_and_leaves_nothing(workspace, choices, told) -> None:
    with pytest.raises((ConfigError, DataError), match=told):
        create(workspace, "price", **choices)
    assert [path.name for path in (workspace / "tasks").iterdir()] == ["__init__.py"]
    assert not list(workspace.glob("data/*"))


def test_the_columns_that_are_added_have_names_of_their_own(workspace) -> None:
    table = houses().rename(columns={"street": "fold", "new?": "row", "grade": "(target)"})
    table.to_csv(workspace / "odd.csv", index=False)
    made = create(workspace, "(target)", "odd.csv")
    assert {"fold", "row"} <= set(made.columns.used)
    assert {"fold", "fold_", "row", "row_", "(target)"} <= set(stored(made))


def test_a_task_that_is_there_is_never_written_over(workspace) -> None:
    create(workspace, "price")
    with pytest.raises(ConfigError, match="already exists; choose another --name, or use --force"):
        create(workspace, "price")
    assert (
        create(workspace, "price", ignore=["street"], force=True).columns.by_name.get("many")
        is None
    )
    (workspace / "tasks" / "flights.py").write_text("# mine")
    houses().to_csv(workspace / "flights.csv", index=False)
    with pytest.raises(ConfigError, match="--name"):
        create(workspace, "price", "flights.csv", force=True)
    assert (workspace / "tasks" / "flights.py").read_text() == "# mine"


@pytest.mark.parametrize("there", ["included/digits.py", "data/digits/manifest.json"])
def test_the_name_of_an_included_task_is_never_taken(workspace, there, monkeypatch) -> None:
    monkeypatch.setattr(new_task, "TASKS", workspace / "included")
    (workspace / there).parent.mkdir(parents=True)
    (workspace / there).touch()
    houses().to_csv(workspace / "digits.csv", index=False)
    with pytest.raises(ConfigError, match="digits.* already exists; choose another --name$"):
        create(workspace, "price", "digits.csv", force=True)


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow"])
def test_a_table_of_a_script_is_kept(workspace, library) -> None:
    import polars

    table = houses().drop(columns=["", "nothing"])
    kinds = {"pandas": table, "polars": polars.from_pandas(table), "arrow": pa.table(table)}
    choices = new_task.Choices(name="given")
    made = new_task.create(kinds[library], "price", workspace / "data", choices)
    first = made.data.stat().st_mtime_ns
    assert task_of(made).data(workspace / "data") == made.data
    assert made.data.stat().st_mtime_ns == first
    assert pq.read_table(task_of(made).source).num_rows == ROWS
    assert made.columns.by_name["dates"] == ["sold on"]  # which the frame has as texts
    with pytest.raises(ConfigError, match="pass name="):
        new_task.create(kinds[library], "price", workspace / "data")


def task_of(made: new_task.NewTask) -> Task:
    """Import the file that was written, as it stands now."""
    return Task(**{**vars(runpy.run_path(str(made.task))["TASK"])})


def test_the_data_are_made_anew_when_the_file_or_a_choice_has_changed(workspace) -> None:
    made = create(workspace, "price")
    table, home = task_of(made), workspace / "data"
    first = made.data.stat().st_mtime_ns
    assert table.data(home) == made.data
    assert made.data.stat().st_mtime_ns == first
    file = workspace / "My houses.csv"
    houses(300).to_csv(file, index=False)
    table.data(home)
    assert len(stored(made)) == 299
    program = made.task.read_text().replace("OwnTable(", 'OwnTable(split="time", by="sold on", ', 1)
    made.task.write_text(program)
    task_of(made).data(home)
    assert (
        stored(made)["sold on"][judged(made)].min() > stored(made)["sold on"][~judged(made)].max()
    )
    file.rename(workspace / "moved.csv")
    assert task_of(made).data(home) == made.data
    with pytest.raises(DataError, match="My houses.csv: no such file .* restore the file"):
        table.data(home)


def varied() -> pd.DataFrame:
    """Return a table with columns of every kind."""
    table = houses().drop(columns=["", "price"])
    rows = np.arange(ROWS)
    table["cost"] = [f"€ {row * 37 % 1000 + 1000:,}.50" for row in rows]
    table["seen"] = [f"{8 + row % 9:02d}:{row % 60:02d}" for row in rows]
    table["from"] = pd.date_range("2021-01-30", periods=ROWS).strftime("%d/%m/%Y")
    table["text"] = [None if row % 9 == 0 else f"some words about house {row}" for row in rows]
    table["flag"] = np.where(rows % 3 == 0, "X", "")
    table["n"] = rows % 7
    return table


QUOTES = """it's "so" \\"""
WRITTEN: list[tuple[str, dict[str, Any]]] = [
    ("grade", {}),
    ("kind", {}),
    ("cost", {}),
    ("cost", {}),
    ("grade", {"ignore": ["text", "seen", "from", "sold on"]}),
    ("grade", {"split": "time", "by": "sold on"}),
    ("kind", {"split": "groups", "by": "street"}),
    ("cost", {"rename": {"n": "n" * 99, "street": QUOTES, "cost": '"""' + "cost" * 21}}),
    ("grade", {"rename": {"grade": "g" * 90, "new?": "é" * 80, "kind": "k\t'\""}}),
]


@pytest.mark.quick(1)
@pytest.mark.parametrize(("label", "choices"), WRITTEN, ids=[f"{n}" for n in range(len(WRITTEN))])
def test_the_file_that_is_written_is_as_one_would_write_it(workspace, label, choices) -> None:
    names = choices.pop("rename", {}) if (choices := dict(choices)) else {}
    varied().rename(columns=names).to_csv(workspace / "odd.csv", index=False)
    made = create(workspace, names.get(label, label), "odd.csv", **choices)
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--ignore=E501", "--config",
         ROOT / "pyproject.toml", made.task],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    written = task_of(made)
    rows = pd.read_parquet(written.data(workspace / "data"))
    y = np.unique(rows[written.target], return_inverse=True)[1]
    for name in written.pipelines:
        said = explain(written.pipeline(name, 0), "cpu", rows[written.columns])
        assert all(placement.device == "cpu" for placement in said.placements)
        model = Accelerated(written.pipeline(name, 0), device="cpu")
        assert len(model.fit(rows[written.columns], y).predict(rows[written.columns])) == made.rows
