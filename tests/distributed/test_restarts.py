"""Restarts that nobody waits for."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from pipeline.distributed import retry
from pipeline.distributed.cluster import Cluster, ClusterOptions
from pipeline.distributed.restarts import begin_restart, restarting


class Scheduler:
    """Restarts workers when it is told to, and loses one of them until then."""

    def __init__(self) -> None:
        self.there = {"a": {"name": 0}, "b": {"name": 1}}
        self.asked, self.goes_on = threading.Event(), asyncio.Event()
        self.breaks: type[Exception] | None = None

    async def identity(self, n_workers: int) -> dict[str, Any]:
        return {"workers": self.there}

    async def restart_workers(self, workers: list[str], **how: Any) -> None:
        assert not how["wait_for_workers"]
        self.there = {each: known for each, known in self.there.items() if each not in workers}
        self.asked.set()
        await self.goes_on.wait()
        if self.breaks is not None:
            raise self.breaks
        self.there = {**self.there, "c": {"name": 0}}


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    yield loop
    if not loop.is_closed():
        loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


class Client:
    """What a restart needs of one."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.scheduler, self.loop = Scheduler(), SimpleNamespace(asyncio_loop=loop)

    def sync(self, ask: Any, callback_timeout: float, **how: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(ask(**how), self.loop.asyncio_loop).result()

    def go_on(self) -> None:
        self.loop.asyncio_loop.call_soon_threadsafe(self.scheduler.goes_on.set)


def on(loop: asyncio.AbstractEventLoop) -> Cluster:
    return Cluster(Client(loop), ClusterOptions(timeout=60))


def ended(cluster: Cluster) -> bool:
    """Wait until nothing is restarted."""
    never = threading.Event()
    return any(not restarting(cluster) or never.wait(0.05) for _ in range(1200))


def test_a_restart_is_under_way_until_the_new_worker_is_there(loop: Any) -> None:
    cluster, other = on(loop), on(loop)
    begin_restart(cluster, {"a"})
    assert cluster.client.scheduler.asked.wait(60)
    assert restarting(cluster) == {"a"}
    assert restarting(other) == set()
    cluster.client.go_on()
    assert ended(cluster)
    assert set(cluster.client.scheduler.there) == {"b", "c"}


@pytest.mark.parametrize("error", [OSError, RuntimeError, AttributeError])
def test_one_that_breaks_off_is_over(
    error: type[Exception], loop: Any, caplog: pytest.LogCaptureFixture
) -> None:
    cluster = on(loop)
    cluster.client.scheduler.breaks = error
    begin_restart(cluster, {"a"})
    cluster.client.go_on()
    assert ended(cluster)
    assert not caplog.records


def test_a_client_that_was_closed_restarts_nothing() -> None:
    loop = asyncio.new_event_loop()
    loop.close()
    cluster = on(loop)
    begin_restart(cluster, {"a"})
    assert restarting(cluster) == set()


def test_what_needs_all_workers_waits_for_the_new_ones(
    loop: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster, sleep = on(loop), threading.Event()

    def slept(seconds: float) -> None:
        cluster.client.go_on()
        sleep.wait(0.05)

    begin_restart(cluster, {"a"})
    monkeypatch.setattr(retry.time, "sleep", slept)
    assert set(retry.await_workers(cluster, 1)) == {"b", "c"}


def test_the_restarts_are_not_told_and_others_are(loop: Any) -> None:
    cluster, nanny = on(loop), logging.getLogger("distributed.nanny")
    restarted = logging.makeLogRecord({"msg": "Restarting worker (status=Status.running)"})
    alive = logging.makeLogRecord({"msg": "Worker process still alive after 4.0 seconds, killing"})
    begin_restart(cluster, {"a"})
    assert not nanny.filter(restarted)
    assert not nanny.filter(alive)
    cluster.client.go_on()
    assert ended(cluster)
    assert nanny.filter(restarted)
