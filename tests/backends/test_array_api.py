from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from sklearn import get_config

from pipeline.backends.array_api import SWITCH, dispatching
from pipeline.backends.gpu_rules import RULES
from tests.estimators import CASES, named

ROOT = Path(__file__).parents[2]
TOLERANCES = {named(case): case.tolerance for case in CASES}
NAMES = sorted(name.rpartition(".")[2] for name in RULES if RULES[name].runner == "cupy")


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """Return what a process finds in which nobody has told SciPy of the array API."""
    command = [sys.executable, "-m", "tests.backends.strict_arrays"]
    environment = {name: value for name, value in os.environ.items() if name != SWITCH}
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
    assert found[name]["others"] <= TOLERANCES[name], "classes of text"
    assert found[name]["labels"] in (None, ["a", "b", "c"])
    assert found[name]["free"], "the lifted model is NumPy through and through"
    # What learnt float32 is lifted behind a step that makes it.
    assert max(found[name]["narrow"].values()) < 1e-4


def test_the_variable_is_set_while_a_thread_computes_and_as_it_was_afterwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(SWITCH, raising=False)
    with dispatching():
        with ThreadPoolExecutor(1) as other:
            other.submit(_dispatch_once).result()
        assert (os.environ[SWITCH], get_config()["array_api_dispatch"]) == ("1", True)
    assert SWITCH not in os.environ
    assert not get_config()["array_api_dispatch"]


def _dispatch_once() -> None:
    with dispatching():
        pass
