from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pipeline.backends.array_api import ESTIMATORS
from tests.estimators import CASES, named

ROOT = Path(__file__).parents[2]
TOLERANCES = {named(case): case.tolerance for case in CASES}
NAMES = sorted(name.rpartition(".")[2] for name in ESTIMATORS)


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """Return what a process finds in which SciPy knew of the array API before its import."""
    command = [sys.executable, "-m", "tests.backends.strict_arrays"]
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    told = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert told.returncode == 0, told.stderr
    return json.loads(told.stdout)


@pytest.mark.parametrize("name", NAMES)
def test_it_learns_and_answers_without_coming_to_the_host_until_it_is_lifted(
    name: str, found: dict[str, Any]
) -> None:
    assert found[name]["device"] <= TOLERANCES[name]
    assert found[name]["lifted"] <= TOLERANCES[name]
    assert found[name]["free"], "the lifted model is NumPy through and through"
    # What learnt float32 is lifted behind a step that makes it.
    assert max(found[name]["narrow"].values()) < 1e-4


@pytest.mark.parametrize("name", ["LinearDiscriminantAnalysis", "RidgeClassifierCV"])
def test_labels_that_are_text_come_back(name: str, found: dict[str, Any]) -> None:
    assert found[name]["labels"] == ["a", "b", "c"]
    assert found[name]["others"] == 0
