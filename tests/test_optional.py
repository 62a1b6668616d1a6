from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pipeline.errors import ConfigError
from pipeline.optional import available, load


def test_available_does_not_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "never_imported_here.py").write_text("raise RuntimeError('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    assert available("never_imported_here")
    assert "never_imported_here" not in sys.modules
    assert not available("nor_is_this_there")


@pytest.mark.parametrize("path", ["json", "os.path", "collections.abc", "json.decoder.JSONDecoder"])
def test_load_finds_modules_and_names(path: str) -> None:
    assert load(path) is not None


def test_a_package_that_is_not_installed_is_named_with_a_suggestion() -> None:
    for path in ("no_such_package", "no_such_package.sub.Name"):
        with pytest.raises(ConfigError, match="no_such_package is not installed; run `make setup`"):
            load(path)


def test_a_missing_name_in_a_package_that_is_there_is_not_called_missing_package() -> None:
    with pytest.raises(ConfigError, match=r"json\.no_such_name is not installed"):
        load("json.no_such_name")


def test_a_broken_package_shows_its_own_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_package.py").write_text("import what_it_needs_is_gone")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="what_it_needs_is_gone") as caught:
        load("broken_package")
    assert not isinstance(caught.value, ConfigError)
