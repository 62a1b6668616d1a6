"""XGBoost's tracker: where it runs, and what it takes with it when it is aborted or left alone."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import psutil
import pytest

from pipeline.backends.xgboost import tracker
from tests.clusters import in_process


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Return the client of a worker in this process, which an aborted tracker would end."""
    with in_process(1) as made:
        yield made


def run(client: Any, work: Any) -> Any:
    """Return what work does with the address of a tracker for two workers."""
    (worker,) = client.scheduler_info()["workers"]

    async def done() -> Any:
        async with tracker.run_tracker(client, worker, 2, 20) as address:
            return await asyncio.to_thread(work, address)

    return client.sync(done)


def process_of(address: dict[str, Any]) -> psutil.Process:
    """Return the child that listens on the port of a tracker."""
    port = int(address["dmlc_tracker_port"])
    children = psutil.Process().children(recursive=True)
    (found,) = [c for c in children if port in {a.laddr.port for a in c.net_connections()}]
    return found


def ends(process: psutil.Process) -> bool:
    try:
        process.wait(timeout=30)
    except psutil.TimeoutExpired:
        return False
    return True


@pytest.mark.slow
def test_it_listens_in_a_process_of_its_own_until_it_is_let_go(client: Any) -> None:
    process = run(client, process_of)
    assert process.pid != os.getpid()
    assert ends(process)
    assert tracker._running == {}


CALLS = """
import json, sys
from xgboost import collective
print("ready", flush=True)
sys.stdin.readline()
with collective.CommunicatorContext(dmlc_timeout=5, dmlc_retry=1, **json.loads(sys.argv[1])):
    pass
"""


def caller(address: dict[str, Any], task: str) -> subprocess.Popen[bytes]:
    """Return a process that calls a tracker when it is told to."""
    made = subprocess.Popen(
        [sys.executable, "-c", CALLS, json.dumps({**address, "DMLC_TASK_ID": task})],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert made.stdout is not None
    assert made.stdout.readline() == b"ready\n"
    return made


def lose_one(address: dict[str, Any]) -> int:
    """Kill one worker between its call and the other's; return how the other ends."""
    first, last = caller(address, "0"), caller(address, "1")
    with first, last:
        assert first.stdin is not None
        first.stdin.write(b"\n")
        first.stdin.flush()
        time.sleep(0.5)
        first.kill()
        first.wait()
        last.communicate(b"\n", timeout=60)
    return last.returncode


@pytest.mark.slow
def test_a_worker_that_dies_between_the_calls_takes_no_other_process_with_it(client: Any) -> None:
    assert run(client, lose_one) != 0, "it called a tracker that has lost the other"
    assert client.submit(pow, 2, 3, pure=False).result() == 8


STARTS = """
import asyncio, time
from pipeline.backends.xgboost import tracker
async def start():
    await tracker.start("127.0.0.1", 2, 20)
    print(*(process.pid for process in tracker._running.values()), flush=True)
    time.sleep(60)
asyncio.run(start())
"""


@pytest.mark.slow
def test_it_ends_with_the_worker_that_started_it() -> None:
    with subprocess.Popen([sys.executable, "-c", STARTS], stdout=subprocess.PIPE) as worker:
        assert worker.stdout is not None
        process = psutil.Process(int(worker.stdout.readline()))
        worker.send_signal(signal.SIGKILL)
    assert ends(process)
