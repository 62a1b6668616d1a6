"""Each kind of task from the data to the report, and its models on new rows."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pyarrow.parquet as pq
import pytest

from pipeline.compare import results
from pipeline.runner import RunRecord
from tests.commands import assert_one_message, call

KINDS = {
    "segments": ("kmeans", "adjusted_rand", "Adjusted Rand index"),
    "digits": ("logistic", "log_loss", "Largest |Δp|"),
}
"""Task -> a program, a metric, and what the report sets beside the reference's answers."""


@pytest.fixture(scope="module")
def ran(small_homes: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the folder of a run of each."""
    folder = tmp_path_factory.mktemp("runs")
    for name, (spec, *_) in KINDS.items():
        options = ["--device", "cpu", "--specs", spec, "--home", small_homes]
        done = call("run", name, *options, "--out", folder / name)
        assert done.code == 0, done.err
    return {name: folder / name for name in KINDS}


@pytest.mark.parametrize("name", KINDS)
def test_a_run_keeps_what_was_predicted_and_how_good_it_is(name: str, ran) -> None:
    spec, metric, _ = KINDS[name]
    record = msgspec.json.decode((ran[name] / "record.json").read_bytes(), type=RunRecord)
    assert metric in record.specs[0].metrics
    table = pq.read_table(ran[name] / f"{spec}.predictions.parquet")
    assert len(table) == record.specs[0].rows_test
    assert table.column_names[0] == "truth"


def test_probabilities_of_all_classes_are_kept(ran) -> None:
    table = pq.read_table(ran["digits"] / "logistic.predictions.parquet")
    chances = [f"probability_{number}" for number in range(10)]
    assert table.column_names == ["truth", "prediction", *chances]


@pytest.mark.parametrize("name", KINDS)
def test_a_report_compares_the_answers(name: str, small_homes: Path, tmp_path: Path) -> None:
    spec, metric, words = KINDS[name]
    options = ["--device", "cpu", "--specs", spec, "--repeats", "3", "--home", small_homes]
    done = call("report", name, *options, "--out", tmp_path / "report")
    assert done.code == 0, done.err
    found = results.load(tmp_path / "report" / "results.json")
    cell = found.cell(spec, "cpu")
    assert cell is not None
    assert (cell.status, cell.why) == ("ok", "")
    assert metric in cell.differences
    text = (tmp_path / "report" / "report.md").read_text(encoding="utf-8")
    assert words.replace("|", "\\|") in text
    assert "Quality parity: 1 of 1 within the declared margins" in text


@pytest.mark.parametrize("name", KINDS)
def test_a_saved_model_predicts_new_rows(name: str, ran, small_homes: Path, tmp_path) -> None:
    rows = small_homes / "digits" / "digits.parquet"
    model = ran[name] / f"{KINDS[name][0]}.model"
    done = call("predict", model, rows, tmp_path / "out.parquet", "--device", "cpu")
    assert done.code == 0, done.err
    assert pq.read_metadata(tmp_path / "out.parquet").num_rows == 1_797


def test_clusters_that_know_their_own_rows_alone_say_so(small_homes: Path, tmp_path) -> None:
    options = ["--device", "cpu", "--specs", "hdbscan", "--home", small_homes]
    assert call("run", "segments", *options, "--out", tmp_path / "run").code == 0
    rows = small_homes / "digits" / "digits.parquet"
    done = call("predict", tmp_path / "run" / "hdbscan.model", rows, tmp_path / "out.parquet")
    assert_one_message(done, 2, "hdbscan.model: answers for the rows that it learnt from alone")
