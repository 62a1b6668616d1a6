from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "find-python"
OLD = """case "$2" in *exit*) exit 1 ;; esac
echo 'Python 3.9.18'"""


def find(*pythons: str, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "PATH": f"{path or ''}:/usr/bin:/bin"}
    return subprocess.run(
        [SCRIPT, *pythons], env=environ, capture_output=True, text=True, check=False
    )


def command(folder: Path, name: str, text: str) -> str:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)
    return str(folder / name)


@pytest.fixture
def old_python(tmp_path) -> str:
    return command(tmp_path, "python3", OLD)


def test_the_first_python_that_fits_is_printed(old_python) -> None:
    done = find("no-such-python", old_python, sys.executable)
    assert (done.returncode, done.stdout) == (0, f"{sys.executable}\n")


def test_a_newer_python_can_be_asked_for() -> None:
    major, minor = sys.version_info[:2]
    assert find("--from", f"{major}.{minor}", sys.executable).returncode == 0
    done = find("--from", f"{major}.{minor + 1}", sys.executable)
    assert done.returncode == 2
    assert f"needs Python {major}.{minor + 1} to 3.14" in done.stderr


def test_what_does_not_run_because_pyenv_has_not_selected_it_is_taken_from_pyenv(
    tmp_path, old_python
) -> None:
    shims, versions = tmp_path / "shims", tmp_path / "versions"
    command(shims, "python3.12", "echo 'pyenv: python3.12: command not found' >&2; exit 127")
    real = command(versions, "python3.12", f'exec "{sys.executable}" "$@"')
    command(shims, "pyenv", f'[ "$*" = "whence --path python3.12" ] && echo "{real}"')
    assert find(old_python, "python3.12", path=shims).stdout == f"{real}\n"
    assert find(old_python, "python3.12", sys.executable, path=shims).stdout == (
        f"{sys.executable}\n"  # what runs as it is comes first
    )


def test_without_one_it_ends_with_2_and_says_what_was_found_and_what_to_install(old_python) -> None:
    done = find("no-such-python", old_python)
    assert (done.returncode, done.stdout) == (2, "")
    assert "needs Python 3.11 to 3.14" in done.stderr
    assert "no-such-python: does not run" in done.stderr
    assert "Python 3.9.18" in done.stderr
    assert "apt install" in done.stderr
