from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pipeline.backends.base import Placement
from pipeline.benchmark.resume import Journal
from pipeline.benchmark.worker import Report
from pipeline.trace import Event
from tests.benchmark import fixtures

HERE = {"seed": "0", "packages": "numpy 2"}
ARRAYS = {
    "numbers": np.array([0.25, np.nan, 1e-300]),
    "float32": np.array([0.1, 0.2], "float32"),
    "whole": np.array([0, 1, 1]),
    "logical": np.array([True, False]),
    "wide": np.array([[0.1, 0.9], [0.7, 0.3]]),
    "fields": np.array([(1, 0.5), (2, 0.25)], dtype=[("query", "i4"), ("score", "f8")]),
    "mixed": np.array(
        [("a", (0.1, 0.9)), ("b", (0.7, 0.3))], dtype=[("class", "O"), ("shares", "f4", (2,))]
    ),
    "words": np.array(["a", "b|", "<c>"], dtype=object),
}


def report(values: np.ndarray = ARRAYS["numbers"]) -> Report:
    return Report(
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
        trace=fixtures.trace("cuda"),
        work={"trees": "9"},
    )


def kept(folder: Path) -> Journal:
    journal = Journal(folder, HERE)
    journal.keep(report(), "forest", "cpu", "1")
    return journal


def test_nothing_is_written_before_the_first_run(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "runs", HERE)
    assert journal.find("forest", "cpu", "1") is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ARRAYS)
def test_a_run_is_read_back_as_it_was(tmp_path: Path, name: str) -> None:
    given = report(ARRAYS[name])
    Journal(tmp_path / "runs", HERE).keep(given, "a", "b")
    found = Journal(tmp_path / "runs", HERE).find("a", "b")
    assert isinstance(found, Report)
    assert found.predicted.dtype == ARRAYS[name].dtype
    np.testing.assert_array_equal(found.predicted, given.predicted)
    np.testing.assert_array_equal(found.y_true, given.y_true)
    (place,) = found.placements
    assert (place.step, place.implementation, place.device) == ("step", "what", "cpu")
    same = {"y_true": None, "predicted": None, "placements": []}
    assert replace(found, **same) == replace(given, **same)


def test_an_error_is_kept_as_one(tmp_path: Path) -> None:
    Journal(tmp_path / "runs", HERE).keep("ValueError: no", "a")
    assert Journal(tmp_path / "runs", HERE).find("a") == "ValueError: no"


def test_equal_predictions_are_kept_once(tmp_path: Path) -> None:
    journal = kept(tmp_path / "runs")
    journal.keep(report(), "forest", "cpu", "2")
    assert journal.count() == 2
    assert len(list((tmp_path / "runs").glob("*.npy"))) == 2, "predictions and truth"


def test_runs_taken_up_are_counted(tmp_path: Path) -> None:
    kept(tmp_path / "runs")
    again = Journal(tmp_path / "runs", HERE)
    assert (again.find("forest", "cpu", "2"), again.taken) == (None, 0)
    assert again.find("forest", "cpu", "1") is not None
    assert (again.taken, again.refused) == (1, [])


def test_runs_of_other_circumstances_are_refused_with_what_differs(tmp_path: Path) -> None:
    kept(tmp_path / "runs")
    other = Journal(tmp_path / "runs", {"seed": "1", "packages": "numpy 2", "device": "cpu"})
    assert other.refused == ["device cpu now, none then", "seed 1 now, 0 then"]
    assert other.find("forest", "cpu", "1") is None
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("what", ["*.npy", "run-*.json"])
@pytest.mark.parametrize("damage", ["", "half", "flip"])
def test_a_damaged_run_is_run_again(tmp_path: Path, what: str, damage: str) -> None:
    kept(tmp_path / "runs")
    for path in (tmp_path / "runs").glob(what):
        content = path.read_bytes()
        flipped = content[:8] + bytes([content[8] ^ 1]) + content[9:]
        half = content[: len(content) // 2]
        path.write_bytes({"": b"", "half": half, "flip": flipped}[damage])
    assert Journal(tmp_path / "runs", HERE).find("forest", "cpu", "1") is None


def test_circumstances_that_cannot_be_read_are_others(tmp_path: Path) -> None:
    kept(tmp_path / "runs")
    (tmp_path / "runs" / "circumstances.json").write_text("{")
    assert Journal(tmp_path / "runs", HERE).refused


def test_answers_that_cannot_be_kept_are_made_again(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "runs", HERE)
    journal.keep(report(np.array([object(), 1], dtype=object)), "a")
    assert journal.find("a") is None
    assert journal.taken == 0


def test_a_journal_without_a_folder_keeps_nothing() -> None:
    journal = Journal()
    journal.keep(report(), "a")
    journal.drop()
    assert (journal.find("a"), journal.count()) == (None, 0)
