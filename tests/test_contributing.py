"""The examples of CONTRIBUTING.md are as short as it says, apply, and do what they say."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import ROOT

TEXT = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
LIMITS = {"estimator": 8, "transformer": 55, "dataset": 60, "panel": 30}
"""What is added -> the most lines that change."""

TESTS = {
    "estimator": "tests/backends/test_array_api.py",
    "transformer": "tests/twins/test_parity.py",
    "dataset": "tests/datasets/test_wine.py",
    "panel": "tests/benchmark/test_report.py",
}
CHOSEN = "(RidgeClassifier and not CV) or random or wine or throughput"
"""Of these tests, what the examples add."""


def diff(kind: str) -> str:
    part = TEXT.partition(f"<!-- {kind} -->")[2]
    (found,) = re.findall(r"\A\s*```diff\n(.*?)^```", part, flags=re.DOTALL | re.MULTILINE)
    return str(found)


@pytest.mark.parametrize("kind", LIMITS)
def test_an_example_is_as_short_as_it_is_said_to_be(kind: str) -> None:
    lines = re.findall(r"^[+-](?!\+\+ |-- )", diff(kind), flags=re.MULTILINE)
    assert 2 < len(lines) <= LIMITS[kind]
    assert f"At most {LIMITS[kind]} lines" in TEXT


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the repository to which the examples are applied, one after the other."""
    copy = tmp_path_factory.mktemp("repository")
    for folder in ("datasets", "docs", "pipeline", "tasks", "tests", "tools"):
        ignored = shutil.ignore_patterns("__pycache__", "results")
        shutil.copytree(ROOT / folder, copy / folder, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", copy)
    for kind in LIMITS:
        done = subprocess.run(
            ["git", "apply", "-"],
            cwd=copy, input=diff(kind), text=True, capture_output=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{kind}: {done.stderr}"
    return copy


@pytest.mark.slow
def test_the_examples_work(changed: Path) -> None:
    options = ["-v", "-p", "no:cacheprovider", "-p", "no:xdist", "-k", CHOSEN]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *TESTS.values()],
        cwd=changed, env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(changed)},
        text=True, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    passed = set(re.findall(r"^([\w/]+\.py)::.* PASSED", done.stdout, flags=re.MULTILINE))
    assert passed == set(TESTS.values())


def test_the_examples_apply(changed: Path) -> None:
    assert "rbf_sampler" in (changed / "pipeline/twins/__init__.py").read_text()
