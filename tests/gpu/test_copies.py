"""The bytes that our log books, against those that the driver copied."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline import Accelerated
from pipeline.data import parquet
from pipeline.task import task
from tests.gpu.copies import copies
from tests.gpu.test_parity import data, program

ROOT = Path(__file__).parents[2]
ROWS = 200_000
"""So many that a copy of one byte a row stands out from single values that are read."""


@pytest.fixture(autouse=True)
def _cupti() -> None:
    pytest.importorskip("cupti", reason="cupti-python is not installed")


def test_a_copy_that_is_made_is_counted_each_time() -> None:
    cupy: Any = pytest.importorskip("cupy")
    there = cupy.asarray(np.arange(ROWS, dtype="float32"))
    for _ in range(2):
        with copies() as counted:
            there.get()
        assert counted["DTOH"] == there.nbytes
        assert counted["HTOD"] == 0


@pytest.mark.parametrize("name", ["logistic", "forest", "boosting"])
def test_no_rows_come_to_the_host_unbooked(name: str) -> None:
    X, y = data(ROWS)
    model = Accelerated(program(name), device="cuda", host_bytes=0)
    with copies() as learning:
        model.fit(X, y)
    booked = model.execution_log_.to_host_bytes
    assert booked <= learning["DTOH"] < booked + ROWS
    with copies() as answering:
        model.predict(X)
    booked = model.execution_log_.to_host_bytes - booked
    assert booked <= answering["DTOH"] < booked + ROWS


@pytest.mark.parametrize("name", ["logistic", "boosting"])
def test_the_table_goes_to_the_device_once(name: str) -> None:
    X, y = data(ROWS)
    with copies() as counted:
        model = Accelerated(program(name), device="cuda").fit(X, y)
    booked = sum(entry.to_device_bytes for entry in model.execution_log_.entries)
    assert counted["HTOD"] < 2 * booked


@pytest.mark.parametrize("name", ["logistic", "forest", "boosting"])
def test_no_rows_of_the_flights_come_to_the_host_unbooked(name: str) -> None:
    flights = task.load("flights")
    path, split = flights.data(ROOT / "data"), flights.split(None)[1]
    X, y = parquet.read_parquet(path, flights.features, flights.target, split.train, "cuda")
    model = Accelerated(flights.pipeline(name, 0), device="cuda", host_bytes=0)
    with copies() as counted:
        model.fit(X, y)
    assert 0 <= counted["DTOH"] - model.execution_log_.to_host_bytes < len(X)
