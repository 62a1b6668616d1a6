"""Which tests `make check` runs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tools import changed_tests

MODULE, ITS_TESTS = "pipeline/data/frames.py", "tests/data/test_frames.py"


@pytest.mark.parametrize(
    ("file", "tests"),
    [
        (MODULE, [ITS_TESTS]),
        ("tools/layout.py", []),
        ("tools/changed_tests.py", ["tests/tools/test_changed_tests.py"]),
        ("tasks/flights.py", ["tests/benchmark/test_tasks.py"]),
        (ITS_TESTS, [ITS_TESTS]),
        ("tests/strategies.py", []),
        ("Makefile", ["tests/test_make.py"]),
        (".ci/run", ["tests/test_make.py"]),
        ("docs/errors.md", []),
    ],
)
def test_a_file_has_its_tests(file: str, tests: list[str]) -> None:
    assert sorted(map(str, changed_tests.tests_of(Path(file)))) == tests


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a repository with a module and its tests, on a branch that leaves `main`."""
    monkeypatch.chdir(tmp_path)
    for variable in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"):
        monkeypatch.delenv(variable, raising=False)
    for name in (MODULE, ITS_TESTS):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).touch()
    git("init", "--quiet", "--initial-branch", "main")
    commit()
    git("switch", "--quiet", "--create", "mine")
    return tmp_path


def git(*arguments: str) -> None:
    subprocess.run(["git", *arguments], check=True)


def commit() -> None:
    git("add", ".")
    git("-c", "user.name=x", "-c", "user.email=x@x", "commit", "--quiet", "--message", "x")


def printed(capsys: pytest.CaptureFixture[str]) -> list[str]:
    changed_tests.main()
    return capsys.readouterr().out.split()


@pytest.mark.parametrize("committed", [False, True])
def test_what_changed_on_the_branch_is_tested(
    repository: Path, capsys: pytest.CaptureFixture[str], committed: bool
) -> None:
    assert printed(capsys) == ["tests/test_layers.py"]
    (repository / MODULE).write_text("x = 1")
    if committed:
        commit()
    assert printed(capsys) == [ITS_TESTS, "tests/test_layers.py"]


def test_new_files_are_tested_and_removed_ones_not(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository / ITS_TESTS).unlink()
    (repository / "tests/data/test_new.py").touch()
    assert printed(capsys) == ["tests/data/test_new.py", "tests/test_layers.py"]
