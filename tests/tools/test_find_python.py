from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "find-python"
OLD = """#!/bin/sh
case "$2" in *exit*) exit 1 ;; esac
echo 'Python 3.9.18'
"""


def find(*pythons: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([SCRIPT, *pythons], capture_output=True, text=True, check=False)


@pytest.fixture
def old_python(tmp_path) -> str:
    python = tmp_path / "python3"
    python.write_text(OLD)
    python.chmod(0o755)
    return str(python)


def test_the_first_python_that_fits_is_printed(old_python) -> None:
    done = find("no-such-python", old_python, sys.executable)
    assert (done.returncode, done.stdout) == (0, f"{sys.executable}\n")


def test_without_one_it_ends_with_2_and_says_what_was_found_and_what_to_install(old_python) -> None:
    done = find("no-such-python", old_python)
    assert (done.returncode, done.stdout) == (2, "")
    assert "needs Python 3.11 to 3.14" in done.stderr
    assert "no-such-python: does not run" in done.stderr
    assert "Python 3.9.18" in done.stderr
    assert "apt install" in done.stderr
