"""Work on clusters that lose workers: on a clock of the test's own, and by killing processes."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier
from xgboost.core import XGBoostError

import pipeline
from pipeline import Accelerated
from pipeline.distributed import retry
from pipeline.distributed.cluster import ClusterOptions
from pipeline.errors import DataError, WorkerLost

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")
pytest.importorskip("distributed")

HALF = {"memory_limit": 1000, "metrics": {"memory": 500}}
FULL = {"memory_limit": 1000, "metrics": {"memory": 950}}


class Clock:
    """Time that passes when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class Losing:
    """A cluster that loses worker 0 to work, and has worker 1 in its place some time later."""

    def __init__(self, clock: Clock, timeout: float, after: float, others: Mapping = {}) -> None:
        self.clock, self.others = clock, dict(others)
        self.options = ClusterOptions(timeout=timeout)
        self.after, self.lost_at, self.calls = after, float("inf"), 0

    def workers(self) -> dict[str, Any]:
        if self.clock.now < self.lost_at:
            return {"0": HALF, **self.others}
        replaced = self.clock.now >= self.lost_at + self.after
        return {**({"1": HALF} if replaced else {}), **self.others}

    def work(self) -> int:
        self.calls += 1
        if self.calls == 1:
            self.lost_at = self.clock.now
            raise OSError("connection reset")
        return len(self.workers())


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(retry, "time", made)
    return made


def run(monkeypatch: pytest.MonkeyPatch, cluster: Losing, work: Callable[[], int]) -> int:
    monkeypatch.setattr(retry, "active", lambda: cluster)
    return retry.retry(work)


@pytest.mark.parametrize(
    ("after", "others", "there", "waited"),
    [
        (45, {}, 1, 45),
        (45, {"2": HALF}, 2, 45),
        (1e9, {"2": HALF}, 1, 50),  # Those that are left do the work.
    ],
)
def test_a_replacement_that_starts_slowly_is_waited_for_within_the_timeout(
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
    after: float,
    others: dict,
    there: int,
    waited: float,
) -> None:
    cluster = Losing(clock, timeout=50, after=after, others=others)
    assert run(monkeypatch, cluster, cluster.work) == there
    assert clock.now == pytest.approx(waited, abs=1)


def test_no_worker_within_the_timeout_is_an_error(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Losing(clock, timeout=50, after=60)
    with pytest.raises(WorkerLost, match=r"none came back within 50 s.*raise the cluster's time"):
        run(monkeypatch, cluster, cluster.work)
    assert clock.now == pytest.approx(50, abs=1)


def test_workers_that_are_being_replaced_are_waited_for_before_the_first_attempt(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Losing(clock, timeout=50, after=20)
    cluster.lost_at, cluster.calls = 0.0, 1
    assert run(monkeypatch, cluster, cluster.work) == 1
    assert clock.now == pytest.approx(20, abs=1)


BROKEN = XGBoostError("/workspace/src/collective/result.cc:83: recv Interrupted system call")


@pytest.mark.parametrize(
    ("error", "failures", "calls", "raised"),
    [
        (BROKEN, 2, 3, None),
        (BROKEN, 99, 3, (WorkerLost, r"connections broke off, after 3 attempt")),
        (XGBoostError("Parameter n_estimators"), 1, 1, (XGBoostError, "n_estimators")),
        (ValueError("bad rows"), 1, 1, (ValueError, "bad rows")),
        (DataError("bad rows"), 1, 1, (DataError, "bad rows")),
    ],
)
def test_only_a_talk_of_workers_that_broke_off_is_tried_again(
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    failures: int,
    calls: int,
    raised: tuple[type[Exception], str] | None,
) -> None:
    called = []

    def work() -> int:
        called.append(1)
        if len(called) <= failures:
            raise error
        return len(called)

    expected = pytest.raises(raised[0], match=raised[1]) if raised else nullcontext()
    with expected:
        assert run(monkeypatch, Losing(clock, 50, 1), work) == calls
    assert len(called) == calls


def test_a_worker_that_was_full_is_reported_as_such() -> None:
    said = retry.explain_loss({"w"}, {"w": FULL}, 3)
    assert "at 95% of its memory limit of 1,000 bytes" in said
    assert "memory limit" not in retry.explain_loss({"w"}, {"w": HALF}, 3)


class Holding:
    """A cluster that is whole again after some time, with a thread that ends some time later."""

    def __init__(self, clock: Clock, replaced: float, free: float, timeout: float = 60) -> None:
        self.clock, self.replaced, self.free = clock, replaced, free
        self.options, self.client = ClusterOptions(timeout=timeout), self
        self.restarted: list[float] = []

    def workers(self) -> dict[str, Any]:
        return {"0": HALF, "1": HALF} if self.clock.now >= self.replaced else {"0": HALF}

    def sync(self, *_: Any) -> list[str]:
        return ["0"] if self.clock.now < self.free else []

    def restart_workers(self, *_: Any, **__: Any) -> None:
        self.restarted.append(self.clock.now)


@pytest.mark.parametrize(
    ("replaced", "free", "restarted"),
    [
        (0, 3, []),  # It ends soon.
        (20, 18, []),  # It ends before another worker has so much as started: the machine is busy.
        (20, 30, []),  # It ends a while after that.
        (20, 1e9, [35]),
        (1e9, 1e9, [60]),  # No nanny brings a worker back: the timeout counts.
    ],
)
def test_a_worker_that_is_slow_to_let_go_is_not_restarted_while_others_are_slow_too(
    clock: Clock, replaced: float, free: float, restarted: list[float]
) -> None:
    cluster: Any = Holding(clock, replaced, free)
    retry._free(cluster, 2)
    assert cluster.restarted == pytest.approx(restarted, abs=1)


ROWS = 4000
IMPORTED = ["pipeline.estimator.accelerated"]
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


@pytest.fixture(scope="module")
def patient() -> Iterator[Any]:
    """Return a cluster whose replacements may take their time, as on a busy machine."""
    with two_workers(60) as cluster:
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


LOADING, PREDICTING = ("call_on_partition", 0.0, 20), ("call_partition", 0.0, 20)
MEETING, TRAINING = ("_train_share", 0.0, 1500), ("_train_share", 0.5, 1500)
"""What a task is called, for how long it has run, and how many trees are trained."""


def learn_while_hurt(cluster: Any, what: tuple[str, float, int], number: int) -> set[int]:
    """Check what a hurt cluster learns and answers; return the ids of the other workers."""
    word, seconds, trees = what
    cluster.client.wait_for_workers(2, timeout=60)
    model = Accelerated(spec(trees), device="cpu")
    with hurt(cluster, number, running(cluster, word, seconds)) as others:
        model.fit(partitions(0.2 if what == LOADING else 0), target())
        found = model.predict_proba(partitions(0.2 if what == PREDICTING else 0))
    assert (found.argmax(axis=1) == target()).mean() > 0.97
    return others


@pytest.mark.alone
@pytest.mark.slow
@pytest.mark.parametrize(
    "what",
    [LOADING, MEETING, TRAINING, PREDICTING],
    ids=["loads", "meets the others", "trains", "predicts"],
)
def test_a_worker_that_is_killed_takes_no_other_with_it(
    what: tuple[str, float, int], patient: Any, caplog: pytest.LogCaptureFixture
) -> None:
    others = learn_while_hurt(patient, what, signal.SIGKILL)
    assert others <= set(patient.client.run(os.getpid).values())
    assert "register-client" not in caplog.text, "the scheduler has dropped the client"


@pytest.mark.alone
@pytest.mark.slow
@pytest.mark.parametrize("what", [LOADING, TRAINING], ids=["loads", "trains"])
def test_a_worker_that_freezes_is_replaced(what: tuple[str, float, int]) -> None:
    with two_workers(6) as cluster:
        learn_while_hurt(cluster, what, signal.SIGSTOP)


def die(X: pd.DataFrame) -> pd.DataFrame:
    os.kill(os.getpid(), signal.SIGKILL)
    return X


@pytest.mark.alone
@pytest.mark.slow
def test_a_task_that_kills_every_worker_is_an_error() -> None:
    settings = {"distributed.scheduler.allowed-failures": 0}
    with dask.config.set(settings), pipeline.cluster("local", workers=1, timeout=60, retries=0):
        X = dd.from_pandas(table(), npartitions=1).map_partitions(die, meta=table()[:0])
        with pytest.raises(WorkerLost, match=r"was lost, after 1 attempt\(s\)"):
            Accelerated(StandardScaler(), device="cpu").fit(X)
