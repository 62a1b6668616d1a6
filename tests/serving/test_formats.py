"""Files of earlier versions load and say what they said, or are refused with what to do."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pipeline
from pipeline.errors import DataError
from pipeline.serving import manifest
from pipeline.serving.load import load, unpack
from tests.serving.written import FIXTURES, answers

FOLDERS = sorted(path.parent for path in FIXTURES.glob(f"*/*/{manifest.MANIFEST}"))
REFUSED = sorted(path.parent for path in FIXTURES.with_name("refused").glob("*/*.json"))
LINEAR = FIXTURES / "pipeline.model-4" / "linear"


def test_there_are_files_of_the_present_format_and_version() -> None:
    found = [manifest.read_manifest(folder)[0] for folder in FOLDERS]
    assert {each.format for each in found} == {manifest.FORMAT}
    minor = ".".join(pipeline.__version__.split(".")[:2])
    assert [each for each in found if each.versions["pipeline"].startswith(f"{minor}.")]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_file_of_a_format_is_read(folder: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of other versions of scikit-learn and XGBoost
        model = load(folder, "cpu")
    wanted = json.loads((folder.parent / "answers.json").read_text())[folder.name]
    np.testing.assert_allclose(answers(model, folder.name), wanted, rtol=1e-6)
    assert (model.table_format_, model.target_names_) == (None, None), "not known then"


@pytest.mark.parametrize("folder", REFUSED, ids=lambda path: path.name)
def test_a_file_of_an_earlier_format_is_refused_with_what_to_do(folder: Path) -> None:
    says = r"format 'pipeline\.model/[123]', but this version reads 'pipeline\.model/4'; fit the"
    with pytest.raises(DataError, match=says):
        load(folder, "cpu")


CHANGES: dict[str, tuple[Callable[[Any], object], str]] = {
    "later setting": (
        lambda state: state["settings"].update(of_tomorrow=True),
        r"unknown field `of_tomorrow`.*; load it with the version that saved it, or copy",
    ),
    "setting of another type": (
        lambda state: state["settings"].update(profile="none"),
        "Expected `bool`, got `str`",
    ),
    "other steps": (
        lambda state: state["steps"][0].__setitem__(0, "scaler"),
        r"the steps of the state, \['scaler', 'logisticregression'\], differ from those of the "
        r"estimator, \['columntransformer', 'logisticregression'\]",
    ),
    "another kind of step": (
        lambda state: state["steps"].__setitem__(0, ["columntransformer", {"type": "model"}]),
        "columntransformer: was saved as another kind of step",
    ),
    "another form of block": (
        lambda state: state["steps"][0][1]["forms"].__setitem__(0, "Numbers2"),
        "Invalid enum value 'Numbers2'",
    ),
    "a program of other columns": (
        lambda state: state["steps"][0][1]["dtypes"].pop(),
        "not the state of a model that this version can read: ",
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_state_that_does_not_fit_is_refused(change: str) -> None:
    apply, says = CHANGES[change]
    files = manifest.read_manifest(LINEAR)[1]
    state = json.loads(files["state.json"])
    apply(state)
    with pytest.raises(DataError, match=says):
        unpack({**files, "state.json": json.dumps(state).encode()}, "cpu")
