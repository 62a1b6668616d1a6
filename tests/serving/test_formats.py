"""Files of earlier versions load, and say what they said."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import pipeline
from pipeline.errors import DataError
from pipeline.serving import manifest
from pipeline.serving.load import load, unpack
from pipeline.serving.save import SETTINGS
from tests.serving.written import FIXTURES, answers

FOLDERS = sorted(path.parent for path in FIXTURES.glob(f"*/*/{manifest.MANIFEST}"))


def test_there_are_files_of_the_present_format() -> None:
    formats = {manifest.read(folder)[0].format for folder in FOLDERS}
    assert manifest.FORMAT in formats


def test_there_are_files_of_the_last_two_minor_versions() -> None:
    written = {manifest.read(folder)[0].versions["pipeline"] for folder in FOLDERS}
    major, minor = map(int, pipeline.__version__.split(".")[:2])
    wanted = [f"{major}.{each}" for each in (minor, minor - 1) if (major, each) >= (0, 1)]
    for version in wanted:
        assert [each for each in written if each.startswith(f"{version}.")], version


def settings_of(folder: Path) -> set[str]:
    state = json.loads((folder / "state.json").read_text())
    return {name for name, _ in state["settings"]["@dict"]}


def test_files_from_before_a_setting_came_are_among_them() -> None:
    found = [settings_of(folder) for folder in FOLDERS]
    assert [each for each in found if "host_bytes" not in each]
    assert [each for each in found if each == {*SETTINGS}]


@pytest.mark.parametrize("change", ["later", "earlier", "damaged"])
def test_a_setting_that_came_later_is_told_and_one_that_is_older_may_lack(change: str) -> None:
    folder = next(folder for folder in FOLDERS if settings_of(folder) == {*SETTINGS})
    files = manifest.read(folder)[1]
    state = json.loads(files["state.json"])
    pairs = state["settings"]["@dict"]
    if change == "later":
        pairs.append(["setting_of_tomorrow", True])
    elif change == "earlier":
        pairs[:] = [pair for pair in pairs if pair[0] != "host_bytes"]
    else:
        pairs[:] = [pair for pair in pairs if pair[0] != "dtype"]
    made = {**files, "state.json": json.dumps(state).encode()}
    if change == "earlier":
        assert unpack(made, "cpu").host_bytes is None
        return
    says = r"\['setting_of_tomorrow'\], which this version does not know; load it with the version"
    with pytest.raises(DataError, match=says if change == "later" else "settings are damaged"):
        unpack(made, "cpu")


def test_a_file_whose_preprocessing_was_fitted_step_by_step_is_refused_with_the_way_out() -> None:
    folder = FIXTURES.with_name("refused") / "chain"
    assert manifest.read(folder)[0].versions["pipeline"] == "0.1.0"
    says = (
        r"an older version of this package saved \['simpleimputer', 'standardscaler', "
        r"'logisticregression'\], and this one fits 'simpleimputer \+ standardscaler' as one "
        r"program; fit the model again, or load the scikit-learn pipeline .* \.skops"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(DataError, match=says):
            load(folder, "cpu")


def test_steps_of_another_program_are_named() -> None:
    folder = FIXTURES / "pipeline.model-1" / "linear"
    files = manifest.read(folder)[1]
    state = json.loads(files["state.json"])
    state["steps"][0][0] = "scaler"
    made = {**files, "state.json": json.dumps(state).encode()}
    says = (
        r"the steps of the state, \['scaler', 'logisticregression'\], are not those of the "
        r"estimator, "
        r"\['columntransformer', 'logisticregression'\]"
    )
    with pytest.raises(DataError, match=says):
        unpack(made, "cpu")


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_file_of_a_format_is_read(folder: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of other versions of scikit-learn and XGBoost
        model = load(folder, "cpu")
    wanted = json.loads((folder.parent / "answers.json").read_text())[folder.name]
    np.testing.assert_allclose(answers(model, folder.name), wanted, rtol=1e-6)
