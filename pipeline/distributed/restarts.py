"""Workers that are restarted while other work goes on."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Collection
from contextlib import suppress
from functools import partial
from typing import Any

from pipeline.distributed.cluster import Cluster

_POLL = 0.5
"""Seconds between two looks at the workers."""

_under_way: list[tuple[Any, set[str]]] = []
"""A client, and the addresses of the workers that it is restarting."""


def begin_restart(cluster: Cluster, workers: Collection[str]) -> None:
    """Restart workers that have a nanny, and do not wait for it; it ends with the client.

    Parameters
    ----------
    cluster : Cluster
    workers : collection of str
        Their addresses.
    """
    logging.getLogger("distributed.nanny").addFilter(_is_news)
    restart = _restart(cluster.client, [*workers], cluster.options.timeout)
    try:
        begun = asyncio.run_coroutine_threadsafe(restart, cluster.client.loop.asyncio_loop)
    except RuntimeError:  # The client was closed.
        restart.close()
        return
    entry = cluster.client, set(workers)
    _under_way.append(entry)
    begun.add_done_callback(lambda done: _under_way.remove(entry))


async def _restart(client: Any, workers: list[str], timeout: float) -> None:
    """Return when there are as many workers as before, or the client or the scheduler is gone."""
    with suppress(OSError, RuntimeError, LookupError, AttributeError):
        look = partial(client.scheduler.identity, n_workers=-1)
        before = (await look())["workers"]
        # A scheduler that waits for the new workers itself logs an error when it is closed.
        await client.scheduler.restart_workers(
            workers=workers, timeout=timeout, wait_for_workers=False, on_error="return",
            stimulus_id=f"left-{time.monotonic()}",
        )  # fmt: skip
        end = time.monotonic() + timeout
        while len((await look())["workers"]) < len(before) and time.monotonic() < end:
            await asyncio.sleep(_POLL)


def restarting(cluster: Cluster) -> set[str]:
    """Return the addresses of workers that are being restarted, which take no task."""
    return {
        worker for client, workers in [*_under_way] if client is cluster.client
        for worker in workers
    }  # fmt: skip


def _is_news(said: logging.LogRecord) -> bool:
    """Return whether a nanny says something else than that it does what it was asked to."""
    text = said.getMessage()
    asked = _under_way and text.startswith("Restarting worker")
    return not (asked or text.startswith("Worker process still alive"))
