"""Each kind of task from the data to the report, and its models on new rows."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pipeline.benchmark.record import results
from pipeline.files.files import table_files
from pipeline.task import task
from tests.commands import ROOT, call

# Task -> a program and a metric.
KINDS = {
    "segments_synthetic": ("kmeans", "adjusted_rand"),
    "digits": ("logistic", "log_loss"),
    "fraud": ("isolation", "average_precision"),
    "ranking": ("lambdamart", "ndcg_at_10"),
    "synthetic": ("boosting", "roc_auc"),
}
ROWS = {"ranking": 3_000, "synthetic": 3_000, "segments_synthetic": 1_000}
"""Of those that are generated."""


def rows(name: str) -> list[object]:
    return ["--rows", ROWS[name]] if name in ROWS else []


def data(name: str, home: Path) -> Path:
    """Return one Parquet file of a task's data."""
    path = task.load(name).data(home, rows=ROWS.get(name))
    return table_files(path)[0]


@pytest.fixture(scope="module")
def ran(small_homes: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the folder of a run of each."""
    folder = tmp_path_factory.mktemp("runs")
    for name, (estimator, *_) in KINDS.items():
        options = [
            "--device", "cpu", "--pipelines", estimator, "--data-home", small_homes, *rows(name),
        ]  # fmt: skip
        done = call("run", name, *options, "--out", folder / name)
        assert done.code == 0, done.err
    return {name: folder / name for name in KINDS}


@pytest.mark.parametrize("name", KINDS)
def test_a_run_keeps_what_was_predicted_and_how_good_it_is(name: str, ran) -> None:
    estimator, metric = KINDS[name]
    record = results.load(ran[name] / "results.json")
    assert metric in record.cells[0].metrics
    table = pq.read_table(ran[name] / f"{estimator}.predictions.parquet")
    assert len(table) == record.task.rows_test
    assert table.column_names[0] == "truth"
    if name == "digits":
        chances = [f"probability_{number}" for number in range(10)]
        assert table.column_names[1:] == ["prediction", *chances]
    if name == "fraud":
        assert table.column_names == ["truth", "anomaly"], "a score is no probability"


@pytest.mark.quick(3)
@pytest.mark.parametrize("name", KINDS)
def test_a_saved_model_predicts_new_rows(
    name: str, ran, small_homes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    source = data(name, small_homes)
    model = ran[name] / f"{KINDS[name][0]}.model"
    done = call("predict", model, source, tmp_path / "out.parquet", "--device", "cpu")
    assert done.code == 0, done.err
    made = pq.read_metadata(tmp_path / "out.parquet").num_rows
    assert made == pq.read_metadata(source).num_rows


@pytest.mark.quick(1)
@pytest.mark.parametrize(("name", "what"), [("ranking", "queries"), ("segments", "all rows")])
def test_what_needs_one_process_is_refused_on_a_cluster(name, what, small_homes, tmp_path) -> None:
    options = ["--device", "cpu", "--cluster", "local", "--data-home", small_homes, *rows(name)]
    done = call("run", name, *options, "--out", tmp_path / "run")
    assert (done.code, "results:" in done.out) == (2, False)
    assert f"{name}: {what} are read by one process; leave out --cluster" in done.err
