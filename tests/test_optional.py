from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.errors import ConfigError
from pipeline.optional import available, load, why_not_here

ROOT = Path(__file__).parents[1]


def test_available_does_not_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "never_imported_here.py").write_text("raise RuntimeError('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    assert available("never_imported_here")
    assert "never_imported_here" not in sys.modules
    assert not available("nor_is_this_there")


def test_a_package_that_is_not_installed_is_named_with_a_suggestion() -> None:
    for path in ("no_such_package", "no_such_package.sub.Name"):
        with pytest.raises(ConfigError, match="no_such_package is not installed; run `make setup`"):
            load(path)


@pytest.mark.parametrize(
    ("words", "way"),
    [
        (["-m", "pipeline", "list"], "error: {} has no package click; run `make setup`, "
         "then use `.venv/bin/python`"),
        (["-c", "import pipeline; pipeline.Accelerated"], "ModuleNotFoundError: {} has no package "
         "{}; run `make setup`, then use `.venv/bin/python`"),
    ],
    ids=["command", "script"],
)  # fmt: skip
def test_a_python_without_our_packages_names_the_one_that_has_them(
    words: list[str], way: str
) -> None:
    bare = [sys.executable, "-S", *words]  # no site-packages
    done = subprocess.run(bare, cwd=ROOT, env={}, capture_output=True, text=True, check=False)
    way = re.escape(way.replace("{}", sys.executable, 1))
    pattern = way.replace(re.escape("{}"), r"\S+")
    assert re.fullmatch(pattern, done.stderr.splitlines()[-1])
    assert done.returncode == (2 if words[0] == "-m" else 1)
    assert ("Traceback" in done.stderr) == (words[0] == "-c")


def test_a_module_of_our_own_that_is_missing_is_an_internal_error() -> None:
    with pytest.raises(ModuleNotFoundError, match="lost"):
        why_not_here(ModuleNotFoundError("lost", name="pipeline.lost"))


def test_a_broken_package_shows_its_own_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_package.py").write_text("import what_it_needs_is_gone")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="what_it_needs_is_gone") as caught:
        load("broken_package")
    assert not isinstance(caught.value, ConfigError)
