"""What goes wrong ends in one message and its exit code; see ``docs/errors.md``."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.commands import assert_one_message, call, intact, old_results


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is tested must not depend on the machine."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")


@pytest.fixture
def home(small_home: Path, tmp_path: Path) -> Path:
    """Return a data folder that may be damaged."""
    return shutil.copytree(small_home, tmp_path / "data")


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Return a folder with old results."""
    return old_results(tmp_path / "out" / "results")


BAD_INPUT = {
    "task": (["run", "fligths"], ["unknown task 'fligths'", "did you mean 'flights'?"]),
    "task to compare": (["compare", "fligths"], ["did you mean 'flights'?"]),
    "device": (["run", "flights", "--device", "gpu"], ["device 'gpu'", "'cuda'?"]),
    "pipeline": (
        ["run", "flights", "--pipelines", "logistik"],
        ["pipeline 'logistik'", "'logistic'?"],
    ),
    "split": (["run", "flights", "--split", "tine"], ["split 'tine'", "'time'?"]),
    "malformed change": (["run", "flights", "--set", "C"], ["--set C", "STEP__PARAM=VALUE"]),
}
BAD_CHANGES = {
    "unknown to scikit-learn": (
        ["--pipelines", "logistic", "--set", "logisticregression__c=1"],
        ["'logisticregression__c'", "did you mean 'logisticregression__C'?"],
    ),
    "unknown to XGBoost": (
        ["--pipelines", "boosting", "--set", "xgbclassifier__max_dept=3"],
        ["'xgbclassifier__max_dept'", "did you mean 'xgbclassifier__max_depth'?"],
    ),
    "unknown to one of the pipelines": (
        ["--set", "xgbclassifier__max_depth=3"],
        ["parameter of the pipeline logistic: 'xgbclassifier__max_depth'"],
    ),
    "deep inside": (
        ["--pipelines", "logistic", "--set", "columntransformer__onehotencoder__drop=5"],
        ["columntransformer.onehotencoder", "'drop'"],
    ),
}


@pytest.mark.parametrize("name", BAD_INPUT)
def test_bad_input_ends_with_2(name: str) -> None:
    arguments, words = BAD_INPUT[name]
    assert_one_message(call(*arguments), 2, *words)


@pytest.mark.parametrize("name", BAD_CHANGES)
def test_a_bad_change_ends_with_2_before_data_is_touched(name: str, tmp_path: Path) -> None:
    arguments, words = BAD_CHANGES[name]
    done = call("run", "flights", "--device", "cpu", "--data-home", tmp_path / "data", *arguments)
    assert_one_message(done, 2, *words)
    assert list(tmp_path.iterdir()) == []


def test_a_gpu_that_is_asked_for_and_absent_ends_with_69(out: Path) -> None:
    done = call("report", "flights", "--device", "cuda", "--out", out)
    assert_one_message(done, 69, 'device="cuda" needs a usable NVIDIA GPU', "-m pipeline doctor`")
    assert intact(out)


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


DAMAGE = {
    "a flipped bit": flip,
    "missing": lambda path: path.unlink(),
    "another table": lambda path: pq.write_table(pq.read_table(path, columns=["day"]), path),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_data_end_with_65_before_training(home: Path, out: Path, damage: str) -> None:
    DAMAGE[damage](home / "flights" / "flights.parquet")
    done = call("run", "flights", "--device", "cpu", "--data-home", home, "--out", out)
    assert_one_message(done, 65, "flights.parquet", "; remove the folder ")
    assert done.out == ""
    assert intact(out)


def test_a_report_without_a_record_ends_with_65(tmp_path: Path) -> None:
    done = call("report", "flights", "--from-results", "--out", tmp_path)
    assert_one_message(done, 65, "results.json: no such file", "-m pipeline report TASK`")


@pytest.mark.parametrize("way", ["file", "file above", "other things"])
def test_something_in_the_way_ends_with_73(home: Path, tmp_path: Path, way: str) -> None:
    if way == "other things":
        (tmp_path / "way").mkdir()
        (tmp_path / "way" / "thesis.tex").write_text("mine")
    else:
        (tmp_path / "way").write_text("mine")
    folder = tmp_path / "way" / "results" if way == "file above" else tmp_path / "way"
    done = call("run", "flights", "--device", "cpu", "--data-home", home, "--out", folder)
    assert_one_message(done, 73, str(tmp_path / "way"))
    left = tmp_path / "way" / "thesis.tex" if way == "other things" else tmp_path / "way"
    assert left.read_text() == "mine"
