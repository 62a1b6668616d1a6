"""XGBoost's tracker, through which the workers of a training meet, in a process of its own.

Where a worker dies between its call and that of the last worker, the tracker writes to a closed
socket in a thread that catches nothing, and its process is aborted. `xgboost.dask` runs it in the
scheduler, which would take all workers with it. A process that does nothing else takes nobody.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from pipeline.errors import WorkerLost
from pipeline.optional import load

if TYPE_CHECKING:
    from distributed import Client

PATIENCE = 4.0
"""Seconds that a worker has to stop its tracker."""

_running: dict[int, Process] = {}
"""Port -> process, of the trackers that this worker started and has not stopped."""


@asynccontextmanager
async def run_tracker(
    client: Client, worker: str, n_workers: int, timeout: int
) -> AsyncIterator[dict[str, str | int]]:
    """Run a tracker beside a worker; yield the arguments of XGBoost's communicator.

    Stopping it frees the workers that wait for the others.

    Parameters
    ----------
    client : distributed.Client
    worker : str
        Address of the worker. The tracker ends with it.
    n_workers : int
        How many will meet.
    timeout : int
        Seconds that they have.
    """
    host = load("distributed.comm.get_address_host")(worker)
    started = await client.run(start, host, n_workers, timeout, workers=[worker])
    address = started[worker]
    try:
        yield address
    finally:
        with suppress(OSError, RuntimeError, TimeoutError):  # Whoever is asked may have gone.
            await asyncio.wait_for(_stop_beside(client, worker, address), PATIENCE)


async def _stop_beside(client: Client, worker: str, address: dict[str, str | int]) -> None:
    known = await client.scheduler.identity(n_workers=-1)
    if worker in known["workers"]:
        await client.run(stop, address["dmlc_tracker_port"], workers=[worker])


async def start(host: str, n_workers: int, timeout: int) -> dict[str, str | int]:
    """Start a tracker in a process that ends with this one; return how to call it."""
    command = ["-m", __name__, host.strip("[]"), str(n_workers), str(timeout)]
    process = await asyncio.create_subprocess_exec(
        sys.executable, *command, stdin=PIPE, stdout=PIPE
    )
    assert process.stdout is not None
    line = await process.stdout.readline()
    if not line:
        raise WorkerLost(f"XGBoost's tracker did not start on {host}; see the worker's log")
    address: dict[str, str | int] = json.loads(line)
    _running[int(address["dmlc_tracker_port"])] = process
    return address


async def stop(port: int) -> None:
    """End the process of the tracker that listens on a port."""
    process = _running.pop(port)
    with suppress(ProcessLookupError):  # It has ended.
        process.kill()
    await process.wait()


def _serve(host: str, n_workers: int, timeout: int) -> None:
    """Be the tracker, until whoever started it ends or says so."""
    tracker = load("xgboost.tracker.RabitTracker")(n_workers, host, sortby="task", timeout=timeout)
    tracker.start()
    print(json.dumps(tracker.worker_args()), flush=True)
    os.dup2(2, 1)  # Nobody reads what workers let it print.
    sys.stdin.read()
    os._exit(0)  # To free the tracker is to wait for a worker that is frozen in its call.


if __name__ == "__main__":
    _serve(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
