"""Workers that are killed or frozen while they load, learn and predict."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier

import pipeline
from pipeline import Accelerated, faults
from pipeline.errors import WorkerLost

pytest.importorskip("distributed")
dd = pytest.importorskip("dask.dataframe")
TIMEOUT = 10.0
ROWS = 4000
FINAL = "the last call"


def table() -> pd.DataFrame:
    return pd.DataFrame(np.random.default_rng(0).normal(size=(ROWS, 3)), columns=list("abc"))


def slow(X: pd.DataFrame, seconds: float) -> pd.DataFrame:
    time.sleep(seconds)
    return X


def partitions(seconds: float) -> Any:
    """Return partitions that take their time to be made."""
    X = dd.from_pandas(table(), npartitions=6)
    return X.map_partitions(slow, seconds, meta=X._meta)


def target() -> np.ndarray:
    X = table()
    return (X["a"] + X["b"] ** 2 > 1).to_numpy().astype("int64")


def spec(trees: int = 20) -> Any:
    return make_pipeline(StandardScaler(), XGBClassifier(n_estimators=trees, max_depth=3))


@pytest.fixture(scope="module")
def expected() -> Iterator[np.ndarray]:
    with pipeline.cluster("local", workers=2):
        model = Accelerated(spec(), device="cpu").fit(partitions(0), target())
        return model.predict_proba(table())


def imported() -> int:
    import xgboost.dask  # noqa: F401

    import pipeline.estimator  # noqa: F401

    return os.getpid()


@contextmanager
def hurt(cluster: Any, number: int, when: Callable[[], bool]) -> Iterator[list[float]]:
    """Send a worker a signal once something is true; the list says when that was."""
    # A worker says nothing while it imports, and must not be taken for frozen then.
    pids = cluster.client.run(imported)
    victim, done, told = sorted(pids.values())[0], threading.Event(), []

    def strike() -> None:
        while not done.is_set():
            if when():
                told.append(time.monotonic())
                os.kill(victim, number)
                return
            time.sleep(0.01)

    thread = threading.Thread(target=strike)
    thread.start()
    try:
        yield told
    finally:
        done.set()
        thread.join()


def running(cluster: Any, word: str) -> Callable[[], bool]:
    """Return whether a task whose name has a word in it is being processed."""
    scheduler = cluster.client.cluster.scheduler

    def seen() -> bool:
        states = [state.processing for state in list(scheduler.workers.values())]
        return any(word in str(task.key) for held in states for task in list(held))

    return seen


STAGES = {
    "load and preprocess": ("table_statistic", 0.4, 20),
    "predict": ("answer", 0.0, 20),
}


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "frozen"])
@pytest.mark.parametrize("stage", STAGES)
def test_the_run_ends_with_the_same_quality(stage: str, number: int, expected: np.ndarray) -> None:
    word, seconds, trees = STAGES[stage]
    with pipeline.cluster("local", workers=2, timeout=TIMEOUT) as cluster:
        model = Accelerated(spec(trees), device="cpu")
        with hurt(cluster, number, running(cluster, word)) as told:
            start = time.monotonic()
            model.fit(partitions(seconds), target())
            found = model.predict_proba(partitions(0.2 if stage == "predict" else 0))
        assert told, "no worker was hurt"
        assert time.monotonic() - start < 60
    if trees == 20:
        np.testing.assert_allclose(found, expected, atol=1e-3)
    assert (found.argmax(axis=1) == target()).mean() > 0.97


def die(X: pd.DataFrame) -> pd.DataFrame:
    os.kill(os.getpid(), signal.SIGKILL)
    return X


def test_a_task_that_kills_every_worker_is_an_error() -> None:
    start = time.monotonic()
    with pipeline.cluster("local", workers=1, timeout=TIMEOUT, retries=0):
        X = dd.from_pandas(table(), npartitions=1).map_partitions(die, meta=table()[:0])
        with pytest.raises(WorkerLost, match=r"was lost, after 1 attempt\(s\)"):
            Accelerated(StandardScaler(), device="cpu").fit(X)
    assert time.monotonic() - start < 60


def test_an_error_of_the_data_is_not_tried_again() -> None:
    calls: list[int] = []

    def work() -> None:
        calls.append(1)
        raise ValueError("bad rows")

    with pipeline.cluster("local", workers=1), pytest.raises(ValueError, match="bad rows"):
        faults.retried(work)
    assert len(calls) == 1


def test_a_worker_that_was_full_is_reported_as_such() -> None:
    full = {"memory_limit": 1000, "metrics": {"memory": 950}}
    half = {"memory_limit": 1000, "metrics": {"memory": 500}}
    assert "at 95% of its memory limit of 1,000 bytes" in faults._said({"w"}, {"w": full}, 3)
    assert "memory limit" not in faults._said({"w"}, {"w": half}, 3)
