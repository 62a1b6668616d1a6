"""Tables of one's own: odd names, dates, gaps and texts, from the file to the report."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from datetime import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.benchmark import new_task
from pipeline.errors import ConfigError, DataError

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


def create(workspace: Path, label: str, file: str = "My houses.csv") -> new_task.NewTask:
    return new_task.create(workspace / file, label, workspace / "data")


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
    said = pipeline(workspace, "new-task", "My houses.csv", "--target", label).stdout
    assert f"is predicted ({kind})" in said
    assert "next: make report TASK=my_houses" in said
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
        "Unnamed: 0": "numbers the rows",
        "who": "has 399 texts in 399 rows, one or two each",
        "country": "has one value",
        "nothing": "has no values",
    }
    said = "\n".join(made.lines())
    for name in made.columns.unused:
        assert f"not used: {name!r}" in said
    assert "399 of 400 rows" in said


def test_columns_are_taken_as_what_they_are(workspace) -> None:
    made = create(workspace, "price")
    assert made.columns.few == ["town, where\nit is", "grade", "kind"]
    assert made.columns.many == ["street"]
    parts = [f"sold on: {part}" for part in ("year", "month", "day", "weekday", "hour")]
    assert made.columns.dates == {"sold on": parts}
    assert made.columns.numbers == ["size [m²] <new>", *parts, "new?"]


def test_parts_of_a_date_are_those_of_pandas(workspace) -> None:
    table = pd.read_parquet(create(workspace, "price").data)
    dates = pd.to_datetime(houses()["sold on"]).drop(5).reset_index(drop=True).dt
    for part, expected in [("year", dates.year), ("weekday", dates.weekday), ("hour", dates.hour)]:
        np.testing.assert_array_equal(table[f"sold on: {part}"], expected)


def test_classes_too_rare_are_left_out_and_named(workspace) -> None:
    made = create(workspace, "kind")
    assert made.target.classes == ("big", "middle", "small")
    assert made.target.left_out == ("castle",)
    assert made.rows == ROWS - 3
    assert "too rare, left out: 'castle'" in "\n".join(made.lines())


def test_parquet_of_many_types_is_taken_or_named(workspace) -> None:
    draw = np.random.default_rng(0)
    table = pa.table(
        {
            "y": draw.integers(0, 2, 200).astype(bool),
            "x": np.where(np.arange(200) == 3, np.inf, draw.normal(size=200)),
            "money": pa.array(draw.integers(1, 99, 200)).cast(pa.decimal128(21, 2)),
            "day": pa.array(range(200), "int32").cast(pa.date32()),
            "moment": pa.array(range(200), "int64").cast(pa.timestamp("ns", "UTC")),
            "clock": pa.array([time(i % 24) for i in range(200)]),
            "while": pa.array(range(200), "int64").cast(pa.duration("s")),
            "list": pa.array([[1], [2, 3]] * 100),
            "code": pa.array(["a", "b"] * 100).dictionary_encode(),
        }
    )
    pq.write_table(table, workspace / "many.parquet")
    made = create(workspace, "y", "many.parquet")
    assert set(made.columns.unused) == {"list"}
    assert made.columns.few == ["code"]
    assert {"x", "money", "day: month"} <= set(made.columns.numbers)
    assert pd.read_parquet(made.data)["x"].isna().sum() == 1


def test_times_of_day_and_durations_are_texts_in_csv(workspace) -> None:
    hours = np.arange(200) % 7
    table = pd.DataFrame({"y": hours > 3, "x": np.arange(200) / 9})
    table["clock"] = [f"{hour:02d}:30" for hour in hours]
    table["exact"] = [f"{hour:02d}:30:00" for hour in hours]
    table["while"] = [f"PT{hour}H" for hour in hours]
    table.to_csv(workspace / "times.csv", index=False)
    made = create(workspace, "y", "times.csv")
    assert made.columns.few == ["clock", "exact", "while"]
    assert not made.columns.unused


def test_a_semicolon_parts_columns_too(workspace) -> None:
    houses().drop(columns="town, where\nit is").to_csv(workspace / "semi.csv", sep=";", index=False)
    assert create(workspace, "price", "semi.csv").rows == ROWS - 1


@pytest.mark.parametrize(
    ("content", "label", "error", "told"),
    [
        ("a,b\n1,2\n", "c", ConfigError, "unknown column 'c'"),
        ("a,price\n1,2\n", "prise", ConfigError, "did you mean 'price'"),
        ("a,a,b\n1,2,3\n", "b", DataError, r"columns with the same name: \['a'\]"),
        ("a,b\n", "b", DataError, "no rows"),
        ("", "b", DataError, "cannot be read: Empty CSV file"),
        ("a,b\n1,2\n1\n", "b", DataError, "row 1 has 1 cell, '1', and there are 2 names"),
        ("a,b\n" + "1,x\n1,y\n" * 30, "b", DataError, "60 rows with a known target"),
        ("a,b\n" + "1,x\n1,y\n" * 60, "b", DataError, "no column to learn from: 'a' has one value"),
        ("a,b\n" + "1,x\n2,x\n" * 60, "b", DataError, "1 classes of 20 rows or more, of 1"),
        ("a,b\n" + "".join(f"{i % 3},t{i}\n" for i in range(200)), "b", DataError, "0 classes of"),
    ],
)
def test_what_cannot_be_learnt_from_ends_in_one_message(
    workspace, content, label, error, told
) -> None:
    (workspace / "bad.csv").write_text(content)
    with pytest.raises(error, match=told):
        create(workspace, label, "bad.csv")
    assert not (workspace / "tasks" / "bad.py").exists()
    assert not (workspace / "data" / "bad").exists()


def test_a_task_that_is_there_is_never_written_over(workspace) -> None:
    create(workspace, "price")
    with pytest.raises(ConfigError, match="is there already; remove it, or choose another --name"):
        create(workspace, "price")


@pytest.mark.parametrize("name", ["my houses", "class", "../up", "1"])
def test_a_name_that_is_none_is_corrected(workspace, name) -> None:
    with pytest.raises(ConfigError, match="write it as "):
        new_task.create(workspace / "My houses.csv", "price", workspace / "data", name)


def test_data_that_is_gone_is_named(workspace) -> None:
    with pytest.raises(DataError, match=r"gone\.parquet: no such file"):
        new_task.find_table(workspace, "gone")


def guide(kind: str) -> str:
    """Return the part of the guide in a language."""
    text = (ROOT / "docs" / "tasks.md").read_text(encoding="utf-8")
    (found,) = re.findall(rf"```{kind}\n(.*?)```", text, re.DOTALL)
    return str(found)


@pytest.mark.slow
def test_the_commands_of_the_guide_run_as_they_stand(workspace) -> None:
    houses().drop(columns=["", "grade", "kind"]).to_csv(workspace / "houses.csv", index=False)
    for line in guide("sh").splitlines():
        words = line.partition("#")[0].split()[3:]
        pipeline(workspace, *words, *(["--repeats", "3"] if "report" in words else []))
    assert (workspace / "reports" / "houses" / "index.html").exists()


@pytest.mark.slow
def test_the_script_of_the_guide_runs_as_it_stands(tmp_path: Path) -> None:
    houses().drop(columns=["", "grade", "kind"]).to_csv(tmp_path / "houses.csv", index=False)
    (tmp_path / "script.py").write_text(guide("python"), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "script.py"], cwd=tmp_path, text=True,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        capture_output=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "reports" / "houses" / "index.html").exists()
    assert "not used: 'who'" in done.stdout
    assert "('boosting', 'cpu'," in done.stdout
    assert float(done.stdout.split()[-1]) > 0.6
