"""The bytes that our log books, against those that the driver copied."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from xgboost import XGBClassifier

from pipeline import Accelerated
from pipeline.files import parquet
from pipeline.optional import load
from pipeline.task import task
from tests.contract.cases import preprocessing, table, target

ROWS = 1_000_000
"""So many that a copy of one byte a row stands out from single values and nodes that are read."""
LAST = {
    "logistic": LogisticRegression(),
    # cuML builds its trees on the host, of at most 350 bytes a node from the device: here 0.05 MB.
    "forest": RandomForestClassifier(10, max_depth=4, random_state=0),
    "boosting": XGBClassifier(n_estimators=20, max_depth=3, random_state=0),
}
_OPEN: list[Counter[str]] = []
"""Of the blocks that count now; a copy counts in each."""


@contextmanager
def copies() -> Iterator[Counter[str]]:
    """Count the bytes that the driver copies in the block, by kind, as ``"HTOD"`` and ``"DTOH"``.

    By CUPTI's activity records. The counts are complete when the block has ended.
    """
    cupti, counted = _cupti(), Counter[str]()
    _finish(cupti)
    cupti.activity_enable(cupti.ActivityKind.MEMCPY)
    _OPEN.append(counted)
    try:
        yield counted
    finally:
        _finish(cupti)
        _OPEN.clear()
        cupti.activity_disable(cupti.ActivityKind.MEMCPY)


@cache
def _cupti() -> Any:
    """Return CUPTI, told once a process where its records go."""
    cupti: Any = import_module("cupti.cupti")

    def completed(activities: list[Any]) -> None:
        for each in activities:
            if each.kind == cupti.ActivityKind.MEMCPY:
                for counted in _OPEN:
                    counted[cupti.ActivityMemcpyKind(each.copy_kind).name] += each.bytes

    cupti.activity_register_callbacks(lambda: (8 * 2**20, 0), completed)
    return cupti


def _finish(cupti: Any) -> None:
    """Wait for the device, and for the records of what it has done, full buffers or not."""
    load("cupy").cuda.Device().synchronize()
    cupti.activity_flush_all(1)


@pytest.mark.parametrize("name", LAST)
def test_the_table_goes_up_once_and_no_rows_come_back_unbooked(name: str) -> None:
    pytest.importorskip("cupti", reason="cupti-python is not installed")
    X = table(ROWS)
    model = Accelerated(make_pipeline(preprocessing(), LAST[name]), device="cuda", host_bytes=0)
    with copies() as learning:
        model.fit(X, target(X))
    booked = model.execution_log_.to_host_bytes
    assert booked <= learning["DTOH"] < booked + ROWS
    assert learning["HTOD"] < 2 * sum(e.to_device_bytes for e in model.execution_log_.entries)
    with copies() as answering:
        model.predict(X)
    booked = model.execution_log_.to_host_bytes - booked
    assert booked <= answering["DTOH"] < booked + ROWS


@pytest.mark.parametrize("name", ["logistic", "boosting"])
def test_of_the_flights_no_rows_come_back_but_answers(name: str) -> None:
    """Of trees come back their nodes as well, so there are few; the forest's are too large."""
    pytest.importorskip("cupti", reason="cupti-python is not installed")
    flights = task.load("flights")
    split = flights.split(None)[1]
    if not (path := Path("data/flights/flights.parquet")).exists():
        pytest.skip("no data (`make data`)")
    (X, y), (Z, _) = (
        parquet.read_parquet(path, flights.features, flights.target, rows, "cuda")
        for rows in (split.train, split.test)
    )
    program = flights.pipeline(name, 0)
    if name == "boosting":
        program.set_params(xgbclassifier__n_estimators=3)
    model = Accelerated(program, device="cuda", host_bytes=0)
    with copies() as copied:
        model.fit(X, y).predict_proba(Z)
    booked = model.execution_log_.to_host_bytes
    assert booked <= copied["DTOH"] < booked + len(y)
