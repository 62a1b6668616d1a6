"""What a lost worker costs: its partitions are made again, its training is an error in time."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import repeat
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier

import pipeline
from pipeline import Accelerated
from pipeline.distributed import retry
from pipeline.distributed.cluster import ClusterOptions
from pipeline.errors import WorkerLost
from tests.clusters import in_process

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")
# Settings that are laid over those of `distributed` before these are there take them along.
pytest.importorskip("distributed")


@pytest.mark.parametrize("comes_back", [True, False])
def test_a_replacement_is_waited_for_within_the_timeout(
    comes_back: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry, "POLL", 0.01)
    looks = iter([{}, {}, {"1": {}}] if comes_back else repeat({}))
    cluster: Any = SimpleNamespace(workers=lambda: next(looks), options=ClusterOptions(timeout=0.2))
    if comes_back:
        assert retry.await_workers(cluster, 1) == {"1": {}}
    else:
        with pytest.raises(
            WorkerLost, match=r"none was restarted within 0.2 s.*raise the cluster's t"
        ):
            retry.await_workers(cluster, 1)


def refuse(X: pd.DataFrame) -> pd.DataFrame:
    raise ValueError("bad rows")


def test_an_error_of_the_work_is_that_error_at_once() -> None:
    start = time.monotonic()
    X = dd.from_pandas(table(), npartitions=2).map_partitions(refuse, meta=table()[:0])
    with in_process(1), pytest.raises(ValueError, match="bad rows"):
        Accelerated(StandardScaler(), device="cpu").fit(X)
    assert time.monotonic() - start < 30


ROWS = 4000
IMPORTED = ["pipeline.model.accelerated"]
"""A worker says nothing while it imports: it does so before it is asked for anything."""


def table() -> pd.DataFrame:
    return pd.DataFrame(np.random.default_rng(0).normal(size=(ROWS, 3)), columns=list("abc"))


def pause(X: pd.DataFrame, seconds: float) -> pd.DataFrame:
    time.sleep(seconds)
    return X


def partitions(seconds: float) -> Any:
    """Return partitions that take their time to be made."""
    X = dd.from_pandas(table(), npartitions=6)
    return X.map_partitions(pause, seconds, meta=X._meta)


def target() -> np.ndarray:
    X = table()
    return (X["a"] + X["b"] ** 2 > 1).to_numpy().astype("int64")


def spec(trees: int) -> Any:
    return make_pipeline(StandardScaler(), XGBClassifier(n_estimators=trees, max_depth=3))


@contextmanager
def two_workers(timeout: float) -> Iterator[Any]:
    with (
        dask.config.set({"distributed.worker.preload": IMPORTED}),
        pipeline.cluster("local", workers=2, timeout=timeout) as cluster,
    ):
        yield cluster


@contextmanager
def hurt(cluster: Any, number: int, when: Callable[[], bool]) -> Iterator[set[int]]:
    """Send a worker a signal once something is true; the set is of the other workers' ids."""
    victim, *others = sorted(cluster.client.run(os.getpid).values())
    done, struck = threading.Event(), threading.Event()

    def strike() -> None:
        while not done.wait(0.01):
            if when():
                struck.set()
                os.kill(victim, number)
                return

    thread = threading.Thread(target=strike)
    thread.start()
    try:
        yield set(others)
        assert struck.is_set(), "no worker was hurt"
    finally:
        done.set()
        thread.join()
        with suppress(ProcessLookupError):  # Its nanny starts another.
            os.kill(victim, signal.SIGKILL)


def running(cluster: Any, word: str, seconds: float = 0.0) -> Callable[[], bool]:
    """Return whether a task whose name begins so has been processed for some seconds."""
    scheduler, since = cluster.client.cluster.scheduler, [float("inf")]

    def seen() -> bool:
        states = [state.processing for state in list(scheduler.workers.values())]
        if any(str(task.key).startswith(word) for held in states for task in list(held)):
            since[0] = min(since[0], time.monotonic())
        return time.monotonic() - since[0] >= seconds

    return seen


LOADING, PREDICTING = ("call_on_partition", 0.2, 0), ("_call_unless_empty", 0, 0.2)
"""What a task is called, and what a partition takes to be made for `fit` and to predict of."""


@pytest.mark.alone
@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "number"),
    [(LOADING, signal.SIGKILL), (PREDICTING, signal.SIGKILL), (LOADING, signal.SIGSTOP)],
    ids=["killed as it loads", "killed as it predicts", "frozen as it loads"],
)
def test_partitions_of_a_lost_worker_are_made_by_another(
    what: tuple[str, float, float], number: int
) -> None:
    word, fitting, predicting = what
    with two_workers(60 if number == signal.SIGKILL else 6) as cluster:
        model = Accelerated(spec(20), device="cpu")
        with hurt(cluster, number, running(cluster, word)) as others:
            if what == LOADING:
                found = Accelerated(StandardScaler(), device="cpu").fit(partitions(fitting))
                assert found.to_sklearn().n_samples_seen_ == ROWS
            else:
                model.fit(partitions(0), target())
                answers = model.predict_proba(partitions(predicting)).argmax(axis=1)
                assert (answers == target()).mean() > 0.97
        if number == signal.SIGKILL:
            assert others <= set(cluster.client.run(os.getpid).values())


@pytest.mark.alone
@pytest.mark.slow
# XGBoost's tracker ends with an error in a thread of the scheduler, which is in this process.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    ("number", "seconds"),
    [(signal.SIGKILL, 0.0), (signal.SIGKILL, 0.5), (signal.SIGSTOP, 0.5)],
    ids=["killed as it meets the others", "killed as it trains", "frozen as it trains"],
)
def test_a_worker_lost_while_xgboost_trains_is_an_error_in_time(
    number: int, seconds: float
) -> None:
    with two_workers(15) as cluster:
        start = time.monotonic()
        with (
            hurt(cluster, number, running(cluster, "fn-", seconds)),
            pytest.raises(WorkerLost, match="was lost; see the workers' logs"),
        ):
            Accelerated(spec(5000), device="cpu").fit(partitions(0), target())
        assert time.monotonic() - start < 120
        cluster.client.wait_for_workers(2, timeout=60)
        again = Accelerated(spec(20), device="cpu").fit(partitions(0), target())
        assert (again.predict(partitions(0)) == target()).mean() > 0.97
    for thread in threading.enumerate():
        if thread.name.endswith("(wait_for)"):  # Not an error of the tests that follow.
            thread.join(60)
    gc.collect()


def die(X: pd.DataFrame) -> pd.DataFrame:
    os.kill(os.getpid(), signal.SIGKILL)
    return X


@pytest.mark.alone
@pytest.mark.slow
def test_a_task_that_kills_every_worker_is_an_error() -> None:
    with pipeline.cluster("local", workers=1, timeout=60, retries=1):
        X = dd.from_pandas(table(), npartitions=1).map_partitions(die, meta=table()[:0])
        with pytest.raises(
            WorkerLost, match="lost its worker 2 times; see the workers' logs: it ran out of memory"
        ):
            Accelerated(StandardScaler(), device="cpu").fit(X)
