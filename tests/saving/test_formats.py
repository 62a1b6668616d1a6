"""Files of earlier versions load, and say what they said."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

from pipeline.saving import load, manifest
from tests.saving.written import FIXTURES, answers

FOLDERS = sorted(path.parent for path in FIXTURES.glob(f"*/*/{manifest.MANIFEST}"))


def test_there_are_files_of_the_present_format() -> None:
    formats = {manifest.read(folder)[0].format for folder in FOLDERS}
    assert manifest.FORMAT in formats


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_file_of_a_format_is_read(folder: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of other versions of scikit-learn and XGBoost
        model = load(folder, "cpu")
    wanted = json.loads((folder.parent / "answers.json").read_text())[folder.name]
    np.testing.assert_allclose(answers(model, folder.name), wanted, rtol=1e-6)
