"""Tables in files: how much memory they take, whole and in partitions."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import pipeline
from pipeline.errors import ConfigError, DataError, OutOfMemory
from pipeline.files import files, parquet, read
from pipeline.table import partitioned
from tests.commands import call

pytest.importorskip("distributed")
pytest.importorskip("dask.dataframe")
NAMES = ["number", "small", "kind", "text", "y"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "number": rng.normal(size=20_000),
            "small": rng.integers(0, 9, 20_000).astype("int8"),
            "kind": pd.Categorical(rng.choice(["a", "b"], 20_000)),
            "text": [f"text number {i}" for i in range(20_000)],
            "y": rng.integers(0, 2, 20_000),
            "unread": rng.normal(size=20_000),
        }
    )
    frame.to_parquet(tmp_path / "table.parquet", row_group_size=2_000)
    return tmp_path / "table.parquet"


def left(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(partitioned, "room", lambda device: size)


def test_the_estimate_is_near_what_the_table_takes(path: Path) -> None:
    X, y = parquet.read_parquet(path, NAMES[:-1], "y", (), "cpu")
    table = int(X.memory_usage(index=False, deep=True).sum()) + y.nbytes
    assert pipeline.preflight(path, NAMES).need == pytest.approx(read.TABLES * table, rel=0.3)


@pytest.mark.parametrize("suffix", ["csv", "parquet", "feather", "jsonl"])
def test_what_is_read_can_be_written_to(tmp_path: Path, suffix: str) -> None:
    frame = pd.DataFrame({"n": [1, 2], "x": [0.5, 1.5], "text": ["a", "b"], "b": [True, False]})
    frame["day"], frame["kind"] = pd.to_datetime(["2020-01-01", "2020-01-02"]), [*"uv"]
    file = tmp_path / f"table.{suffix}"
    if suffix == "csv":
        frame.to_csv(file, index=False)
    elif suffix == "jsonl":
        frame.to_json(file, orient="records", lines=True, date_format="iso")
    else:
        getattr(frame.astype({"kind": "category"}), f"to_{suffix}")(file)
    X, y = pipeline.read(file, list(frame), "n")
    y[0] = 3
    for each in (X, read.read_table(file)):
        for name in each:
            each.loc[0, name] = each.loc[1, name]
        assert each.iloc[0].tolist() == each.iloc[1].tolist()
    assert y.tolist() == [3, 2]
    if suffix == "parquet":
        assert pipeline.read(file, [], "n")[0].shape == (2, 0)


def test_one_that_does_not_comes_in_partitions(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left(monkeypatch, 1_000_000)
    found = pipeline.preflight(path, NAMES)
    assert str(found).startswith("streaming: a fit needs about 0.0 GB and 0.0 GB are free")
    assert found.free == 1_000_000 < found.need
    X, y = pipeline.read(path, NAMES[:-1], "y", rows=[("small", "<", 5)])
    expected = parquet.read_parquet(path, NAMES[:-1], "y", [("small", "<", 5)], "cpu")
    made = X.compute().reset_index(drop=True)
    pd.testing.assert_frame_equal(made, expected[0], check_dtype=False)
    np.testing.assert_array_equal(y, expected[1])


def test_inside_a_cluster_its_workers_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workers = {"a": {"memory_limit": 2**30, "nthreads": 2}, "b": {"memory_limit": 0, "nthreads": 1}}
    monkeypatch.setattr(read, "active", lambda: SimpleNamespace(workers=lambda: workers))
    found = pipeline.preflight(path, NAMES)
    assert (found.how, found.free) == ("cluster", 2**30)
    assert str(found).endswith("and 1.1 GB are free")
    assert read.partition_size(2**40) == 2**25, "a share of what a thread of the first has"


@pytest.mark.parametrize("name", ["table.csv", "table.parquet"])
def test_memory_that_runs_out_is_no_damage_of_the_file(
    name: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def exhausted(*args: object, **options: object) -> None:
        raise pa.ArrowMemoryError("malloc of size 64 failed")

    pd.read_parquet(path).to_csv(path.with_suffix(".csv"), index=False)
    monkeypatch.setattr(pyarrow.csv, "open_csv", exhausted)
    monkeypatch.setattr(pq, "read_table", exhausted)
    with pytest.raises(OutOfMemory, match="input: the memory of the machine ran out in read"):
        pipeline.read(path.with_name(name), NAMES[:-1], "y")


@pytest.mark.slow
def test_a_run_streams_where_the_table_does_not_fit(
    small_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left(monkeypatch, 400_000)
    options = ["--pipelines", "boosting", "--device", "cpu", "--data-home", small_home]
    folders = ["--out", tmp_path / "run", "--checkpoint", tmp_path / "trees"]
    done = call("run", "flights", *options, *folders)
    assert done.code == 0, done.err
    assert "boosting: streaming: a fit needs about" in done.out
    note = (tmp_path / "run" / "results.json").read_text()
    assert "external memory:" in note
    assert not list((tmp_path / "trees").rglob("*.ubj"))


ROWS = 120


def table(rows: int = ROWS, **columns: Any) -> pa.Table:
    n = np.arange(rows)
    text = pa.array([f"t{i % 3}" for i in n]).dictionary_encode()
    return pa.table({"a": n * 1.0, "t": text, "other": n, "late": n % 2, **columns})


def test_files_that_disagree_are_refused_by_name(tmp_path: Path) -> None:
    pq.write_table(table(), tmp_path / "1.parquet")
    pq.write_table(table(a=pa.array(["x"] * ROWS)), tmp_path / "2.parquet")
    with pytest.raises(
        DataError, match=r"2.parquet: column 'a' has type string, .*1.parquet; store"
    ):
        pipeline.scan(tmp_path, ["a"], "late")
    pq.write_table(table().drop_columns(["t"]), tmp_path / "2.parquet")
    for reader in (pipeline.scan, pipeline.read):
        with pytest.raises(DataError, match=r"2.parquet: has no column 't'"):
            reader(tmp_path, ["a", "t"], "late")


@pytest.mark.parametrize(
    ("name", "options", "error", "said"),
    [
        ("gone.parquet", {}, DataError, "no such file"),
        ("broken.parquet", {}, DataError, "broken.parquet: cannot be read"),
        ("empty", {}, DataError, "contains no table"),
        ("x.csv", {"partition_bytes": 1}, DataError, "only Parquet"),
        ("x.csv", {"device": "gpu"}, ConfigError, "device='gpu'"),
    ],
)
def test_what_cannot_be_read_is_said(
    name: str, options: dict, error: type, said: str, tmp_path: Path
) -> None:
    (tmp_path / "broken.parquet").write_bytes(b"no parquet")
    (tmp_path / "empty").mkdir()
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    with pytest.raises(error, match=said):
        pipeline.scan(tmp_path / name, ["a"], "late", **options)
    if not options:
        with pytest.raises(error, match=said.removesuffix("file")):
            pipeline.preflight(tmp_path / name, ["a"])


def test_rows_of_many_files_come_in_one_order_whoever_reads_them(tmp_path: Path) -> None:
    for number, name in enumerate(["part-10", "b[c]/x", "part-2", "b/x", "part-1"]):
        file = tmp_path / f"{name}.parquet"
        file.parent.mkdir(exist_ok=True)
        rows = np.arange(50.0) + 100 * number
        table = pd.DataFrame({"x": rows, "fold": np.arange(50) % 4, "row": rows})
        table.to_parquet(file, row_group_size=17)
    test = [("fold", "==", 3)]
    X, whole = parquet.read_parquet(tmp_path, ["x"], "row", test, "cpu")
    parts, streamed = pipeline.scan(tmp_path, ["x"], "row", rows=test, partition_bytes=200)
    np.testing.assert_array_equal(streamed, whole)
    np.testing.assert_array_equal(parts.compute()["x"], X["x"])
    first = [pq.read_table(file)["row"][0].as_py() for file in files.table_files(tmp_path)]
    assert list(whole[:: len(whole) // 5]) == [start + 3 for start in first]
