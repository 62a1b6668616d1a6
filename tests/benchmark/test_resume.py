from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pipeline.backends.base import Placement
from pipeline.benchmark import publish
from pipeline.benchmark.compare import Comparison
from pipeline.benchmark.record import results
from pipeline.benchmark.run.resume import FinishedRuns
from pipeline.benchmark.run.worker import RunReport
from pipeline.errors import OutputError
from pipeline.system.atomic import publishing
from pipeline.task import metrics, task
from pipeline.task.task import Job
from pipeline.trace import Event
from tests.benchmark import fixtures

HERE = {"seed": "0", "packages": "numpy 2"}
NUMBERS = np.array([0.25, np.nan, np.inf, 1e-300])
ARRAYS = {
    "numbers": NUMBERS,
    "float32": np.array([0.1, 0.2], "float32"),
    "logical": np.array([True, False]),
    "wide": np.array([[0.1, 0.9], [0.7, 0.3]]),
    "fields": metrics.fields(query=np.array(["a", "b"], object), shares=[[0.1, 0.9], [0.7, 0.3]]),
    "words": np.array(["a", "b|", "<c>\n"], dtype=object),
}


def report(values: np.ndarray = NUMBERS) -> RunReport:
    return RunReport(
        total=1.25,
        stages={"fit": 0.5},
        metrics={"roc_auc": 0.1 + 0.2},
        rows_train=9,
        y_true=np.array([0, 1]),
        predicted=values,
        placements=[Placement("step", "what", "cpu", parameters={"metric": np.mean})],
        execution_log=[Event("step", "fit", "cpu", 0.1, 1, 2, "why")],
        peak_rss_bytes=1000,
        threads={"openblas": "2"},
        cpu_seconds=2.0,
        other_cpu_seconds=0.5,
        usage=fixtures.usage("cuda"),
        work={"trees": "9"},
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new" / "runs.jsonl"


def kept(path: Path) -> None:
    finished = FinishedRuns(path, HERE)
    for number in "12":
        finished.keep(report(), "forest", "cpu", number)


@pytest.mark.parametrize("name", ARRAYS)
def test_a_run_is_read_back_as_it_was(path: Path, name: str) -> None:
    given = report(ARRAYS[name])
    FinishedRuns(path, HERE).keep(given, "a", "b")
    again = FinishedRuns(path, HERE)
    assert again.find("a") is None
    found = again.find("a", "b")
    assert (again.count, again.resumed, again.refused) == (1, 1, [])
    assert isinstance(found, RunReport)
    np.testing.assert_array_equal(found.predicted, given.predicted)
    assert found.predicted.dtype.kind == given.predicted.dtype.kind.replace("O", "U")
    np.testing.assert_array_equal(found.y_true, given.y_true)
    (place,) = found.placements
    assert (place.step, place.implementation, place.device) == ("step", "what", "cpu")
    same = {"y_true": None, "predicted": None, "placements": []}
    assert replace(found, **same) == replace(given, **same)


def test_runs_with_another_fingerprint_are_refused_with_what_differs(path: Path) -> None:
    kept(path)
    other = FinishedRuns(path, {"seed": "1", "packages": "numpy 2", "device": "cpu"})
    assert other.refused == ["device", "seed"]
    assert other.find("forest", "cpu", "1") is None
    assert not path.exists()


@pytest.mark.parametrize("damage", ["torn", "flipped"])
def test_a_damaged_run_is_made_again_and_the_others_are_not(path: Path, damage: str) -> None:
    kept(path)
    content = path.read_bytes()
    flipped = content.replace(b'"2"]', b'"3"]')
    assert flipped != content
    path.write_bytes(content[:-9] if damage == "torn" else flipped)
    finished = FinishedRuns(path, HERE)
    assert finished.find("forest", "cpu", "1") is not None
    assert [finished.find("forest", "cpu", number) for number in "23"] == [None, None]
    finished.keep(report(), "forest", "cpu", "2")
    assert FinishedRuns(path, HERE).find("forest", "cpu", "2") is not None


def test_what_cannot_be_kept_is_made_again(path: Path) -> None:
    finished = FinishedRuns(path, HERE)
    finished.keep(report(np.array([object(), "a"], dtype=object)), "a")
    assert (finished.find("a"), finished.resumed, finished.count) == (None, 0, 0)
    finished.drop()
    path.parent.write_text("in the way")
    with pytest.raises(OutputError, match="new"):
        FinishedRuns(path, HERE).keep(report(), "a")


def test_runs_are_dropped_once_the_results_hold_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "r"
    folder.mkdir()
    (folder / "results.json").write_text("old")
    (tmp_path / "rows.parquet").write_bytes(b"rows")
    job = Job("breast_cancer", "logistic", "cpu", tmp_path / "rows.parquet")
    asked = Comparison(task.load("breast_cancer"), job, ["logistic"], "cpu")
    publish.find_finished(folder, asked).keep(report(), "forest", "cpu", "1")
    assert publish.find_finished(folder, asked).count == 1
    assert "resuming after 1 finished runs" in capsys.readouterr().out
    assert publish.find_finished(folder, replace(asked, repeats=7)).count == 0
    assert "not used: protocol changed" in capsys.readouterr().out
    publish.find_finished(folder, asked).keep(report(), "forest", "cpu", "1")
    (folder / "results.json").write_text("new")
    assert publish.find_finished(folder, asked).count == 0


def test_pages_that_cannot_all_be_written_again_stay_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "r"
    with publishing(folder) as draft:
        (draft / "results.json").write_bytes(results.dumps(fixtures.normal()))
        for name in ("index.html", "report.md", "runs.csv", "notes.txt"):
            (draft / name).write_text("old")
    there = {path.name: path.read_bytes() for path in folder.iterdir()}
    monkeypatch.setattr(publish, "runs_csv", lambda measured: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        publish.write_again(folder)
    assert there == {path.name: path.read_bytes() for path in folder.iterdir()}
    monkeypatch.undo()
    publish.write_again(folder)
    assert (folder / "notes.txt").read_text() == "old"
    assert (folder / "report.md").read_text() != "old"
