from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import structs
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer

import tasks.flights
from pipeline.compile import source_code
from pipeline.system import devices, environment, gpu
from tasks.flights import TASK

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def git(*arguments: str) -> str:
    identity = ["-c", "user.name=Tester", "-c", "user.email=tester@example.org"]
    command = ["git", *identity, "-c", "commit.gpgsign=false", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a repository of one commit, in which we are."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "code.py").write_text("1")
    git("init", "--quiet")
    git("add", "code.py")
    git("commit", "--quiet", "--message", "First")
    return tmp_path


def test_a_machine_with_a_gpu_describes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    device = gpu.Device("Synthetic GPU 1", 16 * 2**30, (9, 0))
    probe = gpu.Probe(driver="580.1", devices=(device,))
    monkeypatch.setattr(gpu, "probe", lambda: probe)
    monkeypatch.setattr(devices, "obstacle", lambda: "")
    found = environment.machine({}, 0.0)
    assert found.no_gpu_why == ""
    assert [*map(structs.astuple, found.gpus)] == [("Synthetic GPU 1", 16 * 2**30, "580.1", "9.0")]


@needs_git
def test_the_source_is_the_commit_and_whether_it_is_all(checkout: Path) -> None:
    clean = environment.source(["list"])
    assert (clean.commit, clean.dirty) == (git("rev-parse", "HEAD"), False)
    results = checkout / "docs" / "results" / "results.json"
    results.parent.mkdir(parents=True)
    results.write_text("1")
    git("add", ".")
    assert not environment.source(["list"]).dirty, "results are no change of the code"
    (checkout / "code.py").write_text("2")
    assert environment.source(["list"]).dirty


@pytest.mark.parametrize("lacks", ["a repository", "git"])
def test_without_git_or_a_repository_the_commit_is_unknown(
    lacks: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    if lacks == "git":
        monkeypatch.setenv("PATH", str(tmp_path))
    found = environment.source(["list"])
    assert (found.commit, found.dirty) == ("unknown", False)


def test_the_command_can_be_pasted() -> None:
    words = ["run", "flights", "--set", "a__b=[1, 'x y']", "--out", "$HOME"]
    said = shlex.split(environment.source(words).command)
    assert said == [".venv/bin/python", "-m", "pipeline", *words]
    assert environment.source(()).command == ""


@pytest.mark.parametrize("name", TASK.pipelines)
def test_the_code_of_a_pipeline_makes_it_again(name: str) -> None:
    changes = {"xgbclassifier__reg_lambda": 0.25} if name == "boosting" else {}
    pipeline = TASK.pipeline(name, 7, changes)
    again = eval(
        source_code.code(pipeline),
        {**vars(tasks.flights), "ColumnTransformer": ColumnTransformer, "nan": np.nan},
    )
    assert repr(params(again)) == repr(params(pipeline))


def params(pipeline: Any) -> dict[str, Any]:
    """Return the values that are not estimators themselves."""
    found = pipeline.get_params().items()
    return {k: v for k, v in found if not isinstance(v, BaseEstimator | list)}
