"""XGBoost's tracker, which brings the workers of a training together, kept in one of them.

XGBoost starts it in the process of the scheduler. When a worker dies between its call to the
tracker and the last worker's, the tracker writes to a closed socket in a thread that catches
nothing, and the whole process is aborted. A worker that is aborted is replaced by its nanny; a
scheduler takes all workers and their rows with it, and with a local cluster the user's program.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from typing import Any

from pipeline.optional import load
from pipeline.typing import Array

PATIENCE = 4.0
"""Seconds that a worker has to stop its trackers."""

_started: dict[int, Any] = {}
"""Port -> tracker, of those in this process that have not been stopped."""


class Client:
    """A client whose trackers start in a worker; in all else the one that it stands for.

    Parameters
    ----------
    client : distributed.Client
    worker : str
        Address of the worker.
    timeout : int
        Seconds for the workers to meet.
    """

    def __init__(self, client: Any, worker: str, timeout: int) -> None:
        self._client, self._worker, self._timeout = client, worker, timeout
        self._ports: list[int] = []

    @property
    def __class__(self) -> Any:
        """XGBoost asks whether it is a `distributed.Client`."""
        return type(self._client)

    @__class__.setter
    def __class__(self, value: Array) -> None:
        raise TypeError("a client stays what it is")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def run_on_scheduler(self, function: Any, workers: int, *_: Any) -> dict[str, Any]:
        """Start a tracker for so many workers; return how they find it.

        This is the one thing for which XGBoost calls the method.
        """
        host = load("distributed.comm.get_address_host")(self._worker)
        args = (host, workers, self._timeout)
        made = await self._client.run(start, *args, workers=[self._worker])
        found: dict[str, Any] = made[self._worker]
        self._ports.append(found["dmlc_tracker_port"])
        return found

    async def stop_trackers(self) -> None:
        """Stop what was started, which frees the workers that wait in it."""
        with suppress(OSError, RuntimeError, TimeoutError):  # Whoever is asked may have gone.
            await asyncio.wait_for(self._stop(), PATIENCE)

    async def _stop(self) -> None:
        known = await self._client.scheduler.identity(n_workers=-1)
        if self._worker in known["workers"]:
            await self._client.run(stop, self._ports, workers=[self._worker])


def start(host: str, workers: int, timeout: int) -> dict[str, Any]:
    """Start a tracker in this process, and return the arguments of XGBoost's communicator.

    Parameters
    ----------
    host : str
        Address to listen on; the system chooses the port.
    workers : int
        How many will call.
    timeout : int
        Seconds that they have.
    """
    tracker = load("xgboost.tracker.RabitTracker")(
        workers, host.strip("[]"), sortby="task", timeout=timeout
    )
    tracker.start()
    found: dict[str, Any] = tracker.worker_args()
    _started[found["dmlc_tracker_port"]] = tracker
    Thread(target=_end, args=(tracker.wait_for,), daemon=True, name="xgboost-tracker").start()
    return found


def _end(call: Callable[[], None]) -> None:
    # What it says of workers that went away, they and the scheduler say better.
    with suppress(load("xgboost.core.XGBoostError")):
        call()


def stop(ports: list[int]) -> None:
    """Stop the trackers of this process that listen on these ports; they end when they can."""
    for port in ports:
        tracker = _started.pop(port, None)
        if tracker is not None:
            # It waits for a worker that is frozen in its call, and the caller must not.
            Thread(target=_end, args=(tracker.free,), daemon=True, name="xgboost-tracker").start()
