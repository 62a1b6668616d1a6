from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pipeline.backends.base import Placement
from pipeline.benchmark import publish
from pipeline.benchmark.record import results
from pipeline.benchmark.run.resume import FinishedRuns
from pipeline.benchmark.run.worker import RunReport
from pipeline.system.atomic import publishing
from pipeline.task import metrics
from pipeline.trace import Event
from tests.benchmark import fixtures

HERE = {"seed": "0", "packages": "numpy 2"}
ARRAYS = {
    "numbers": np.array([0.25, np.nan, 1e-300]),
    "float32": np.array([0.1, 0.2], "float32"),
    "logical": np.array([True, False]),
    "wide": np.array([[0.1, 0.9], [0.7, 0.3]]),
    "fields": metrics.fields(query=np.array(["a", "b"], object), shares=[[0.1, 0.9], [0.7, 0.3]]),
    "words": np.array(["a", "b|", "<c>"], dtype=object),
}


def report(values: np.ndarray = ARRAYS["numbers"]) -> RunReport:
    return RunReport(
        total=1.25,
        stages={"fit": 0.5},
        metrics={"roc_auc": 0.75},
        rows_train=9,
        y_true=np.array([0, 1]),
        predicted=values,
        placements=[Placement("step", "what", "cpu", parameters={"metric": np.mean})],
        execution_log=[Event("step", "fit", "cpu", 0.1, 1, 2, "why")],
        peak_rss_bytes=1000,
        threads={"openblas": "2"},
        cpu_seconds=2.0,
        usage=fixtures.usage("cuda"),
        work={"trees": "9"},
    )


def kept(folder: Path) -> FinishedRuns:
    finished = FinishedRuns(folder, HERE)
    finished.keep(report(), "forest", "cpu", "1")
    return finished


@pytest.mark.parametrize("name", ARRAYS)
def test_a_run_is_read_back_as_it_was(tmp_path: Path, name: str) -> None:
    given = report(ARRAYS[name])
    FinishedRuns(tmp_path / "runs", HERE).keep(given, "a", "b")
    again = FinishedRuns(tmp_path / "runs", HERE)
    assert again.find("a") is None
    found = again.find("a", "b")
    assert (again.resumed, again.refused) == (1, [])
    assert isinstance(found, RunReport)
    assert found.predicted.dtype == ARRAYS[name].dtype
    np.testing.assert_array_equal(found.predicted, given.predicted)
    np.testing.assert_array_equal(found.y_true, given.y_true)
    (place,) = found.placements
    assert (place.step, place.implementation, place.device) == ("step", "what", "cpu")
    same = {"y_true": None, "predicted": None, "placements": []}
    assert replace(found, **same) == replace(given, **same)


def test_an_error_is_kept_as_one(tmp_path: Path) -> None:
    FinishedRuns(tmp_path / "runs", HERE).keep("ValueError: no", "a")
    assert FinishedRuns(tmp_path / "runs", HERE).find("a") == "ValueError: no"


def test_equal_predictions_are_kept_once(tmp_path: Path) -> None:
    finished = kept(tmp_path / "runs")
    finished.keep(report(), "forest", "cpu", "2")
    assert finished.count() == 2
    assert len(list((tmp_path / "runs").glob("*.npy"))) == 2, "predictions and truth"


@pytest.mark.parametrize("readable", [True, False])
def test_runs_with_another_fingerprint_are_refused_with_what_differs(
    tmp_path: Path, readable: bool
) -> None:
    kept(tmp_path / "runs")
    if not readable:
        (tmp_path / "runs" / "fingerprint.json").write_text("{")
    other = FinishedRuns(tmp_path / "runs", {"seed": "1", "packages": "numpy 2", "device": "cpu"})
    differ = ["device cpu now, none then", "seed 1 now, 0 then"]
    assert other.refused == (differ if readable else ["their fingerprint cannot be read"])
    assert other.find("forest", "cpu", "1") is None
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("what", ["*.npy", "run-*.json"])
@pytest.mark.parametrize("damage", ["", "half", "flip", "edit"])
def test_a_damaged_run_is_run_again(tmp_path: Path, what: str, damage: str) -> None:
    kept(tmp_path / "runs")
    for path in (tmp_path / "runs").glob(what):
        content = path.read_bytes()
        flipped = content[:8] + bytes([content[8] ^ 1]) + content[9:]
        half = content[: len(content) // 2]
        path.write_bytes(
            {"": b"", "half": half, "flip": flipped, "edit": content.replace(b"e", b"a")}[damage]
        )
    assert FinishedRuns(tmp_path / "runs", HERE).find("forest", "cpu", "1") is None


def test_runs_are_dropped_once_the_results_hold_them_whatever_the_clock_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "r"
    folder.mkdir()
    (folder / "results.json").write_text("old")
    publish.find_finished(folder, HERE).keep(report(), "forest", "cpu", "1")
    os.utime(folder / "results.json", (4e9, 4e9))
    assert publish.find_finished(folder, HERE).count() == 1
    (folder / "results.json").write_text("new")
    os.utime(folder / "results.json", (0, 0))
    assert publish.find_finished(folder, HERE).count() == 0
    assert "resuming after 1 finished runs" in capsys.readouterr().out


def test_pages_that_cannot_all_be_written_again_stay_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "r"
    with publishing(folder) as draft:
        (draft / "results.json").write_bytes(results.dumps(fixtures.normal()))
        for name in ("index.html", "report.md", "cells.csv", "profile.html"):
            (draft / name).write_text("old")
    there = {path.name: path.read_bytes() for path in folder.iterdir()}
    monkeypatch.setattr(publish, "cells_csv", lambda measured: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        publish.write_again(folder)
    assert there == {path.name: path.read_bytes() for path in folder.iterdir()}
    monkeypatch.undo()
    publish.write_again(folder)
    assert (folder / "profile.html").read_text() == "old"
    assert (folder / "report.md").read_text() != "old"


def test_what_cannot_be_kept_is_made_again(tmp_path: Path) -> None:
    for finished in (FinishedRuns(tmp_path / "runs", HERE), FinishedRuns()):
        finished.keep(report(np.array([object(), 1], dtype=object)), "a")
        assert (finished.find("a"), finished.resumed, finished.count()) == (None, 0, 0)
        finished.drop()
