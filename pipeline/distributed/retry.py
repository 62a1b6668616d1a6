"""Work on a cluster that loses workers: a clear error in time instead of waiting forever.

Dask itself repeats the tasks of a lost worker, `ClusterOptions.retries` times.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable, Sequence, Set
from contextlib import suppress
from functools import partial
from traceback import clear_frames
from typing import Any, TypeVar

from pipeline.distributed.cluster import Cluster
from pipeline.errors import PipelineError, WorkerLost
from pipeline.optional import load

T = TypeVar("T")

POLL = 0.5
"""Seconds between two looks at the workers."""

SETTLE = 5.0
"""Seconds in which the scheduler hears of a worker whose loss others have felt already."""

CLEAN_UP = 15.0
"""Seconds that work has to put things in order once it was broken off."""

_CHECK = (
    "see the workers' logs: it ran out of memory (raise memory_limit, or use smaller partitions), "
    "was killed, or its machine failed"
)
OF_CLUSTERS = ("asyncio", "concurrent", "dask", "distributed", "tornado", "xgboost")
"""Packages whose errors may be what the loss of a worker looks like from elsewhere."""


class _Lost(Exception):
    """Some workers went away while others waited for them."""


def gather(cluster: Cluster, futures: Sequence[Any]) -> Sequence[Any]:
    """Return the results of tasks that were begun; what a lost worker had is made by another one.

    `ClusterUnavailable` says that the scheduler does not answer within `ClusterOptions.timeout`,
    and `WorkerLost` that every attempt at a task lost a worker.
    """
    work = partial(cluster.client.gather, futures, asynchronous=True)
    return watch(cluster, work, frozenset())


def watch(cluster: Cluster, work: Callable[[], Awaitable[T]], needed: Set[str]) -> T:
    """Return the result of work, in the client's event loop, while the `needed` workers are there.

    `WorkerLost` says that one of these has gone, or each that tried a task, or all of them; see
    `gather` for `ClusterUnavailable`.
    """
    before, known = cluster.workers(), set(cluster.client.futures)
    try:
        return _guard(cluster, work, needed)
    except PipelineError:
        raise
    except Exception as error:
        if type(error).__name__ == "KilledWorker":
            times = getattr(error, "allowed_failures", 0) + 1
            said = f"a task lost its worker {times} times; {_CHECK}"
        elif needed and (lost := _find_lost(cluster, needed, error)):
            # What the work holds on workers, and has begun since, would be made again, and wait for
            # those that are gone.
            clear_frames(error.__traceback__)
            gc.collect()
            future = partial(load("distributed.Future"), client=cluster.client)
            begun = set(cluster.client.futures) - known
            cluster.client.cancel([*map(future, begun)], force=True)
            _free(cluster, needed, len(before))
            said = f"worker {', '.join(sorted(lost))} was lost; {_CHECK}"
        else:
            raise
        raise WorkerLost(said) from error


def _free(cluster: Cluster, needed: Set[str], n_workers: int) -> None:
    """Restart workers whose threads wait for one that was lost, which they may do for ever.

    Not before it is replaced: tasks that find no worker at all are never begun.
    """
    held = [*needed & set(await_workers(cluster, n_workers))]
    with suppress(ValueError, OSError, RuntimeError):  # It has no nanny, or has gone as well.
        if held:
            cluster.client.restart_workers(
                held, timeout=cluster.options.timeout, raise_for_error=False
            )


def _find_lost(cluster: Cluster, before: Set[str], error: Exception) -> set[str]:
    """Return the workers that went away; the scheduler may hear of it later than others."""
    foreign = type(error).__module__.partition(".")[0] in OF_CLUSTERS
    end = time.monotonic() + (SETTLE if foreign or isinstance(error, OSError | _Lost) else 0)
    while not (lost := set(before) - set(cluster.workers())) and time.monotonic() < end:
        time.sleep(POLL)
    return lost


def _guard(cluster: Cluster, work: Callable[[], Awaitable[T]], needed: Set[str]) -> T:
    """Return the result of work while the scheduler responds and some workers are there."""

    async def look() -> None:
        seen = time.monotonic()
        while True:
            await asyncio.sleep(POLL)
            asking = cluster.client.scheduler.identity(n_workers=-1)
            try:  # One that is frozen takes the question and says nothing.
                identity = await asyncio.wait_for(asking, cluster.options.timeout)
            except TimeoutError:
                why = f"no response within {cluster.options.timeout:g} s"
                raise cluster.lost(why) from None
            if lost := needed - set(identity["workers"]):
                raise _Lost(", ".join(sorted(lost)))
            if identity["workers"]:
                seen = time.monotonic()
            elif time.monotonic() - seen > cluster.options.timeout:
                raise _none_left(cluster)

    async def both() -> Any:
        tasks = [asyncio.ensure_future(work()), asyncio.ensure_future(look())]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            return (tasks[0] if tasks[0] in done else tasks[1]).result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks, timeout=CLEAN_UP)

    result: T = cluster.client.sync(both)
    return result


def await_workers(cluster: Cluster, n_workers: int) -> dict[str, dict[str, Any]]:
    """Wait until nannies have replaced workers that were lost; return those that are there in time.

    `WorkerLost` says that none is there within `ClusterOptions.timeout`.
    """
    end = time.monotonic() + cluster.options.timeout
    while len(workers := cluster.workers()) < n_workers:
        if time.monotonic() >= end:
            break
        time.sleep(POLL)
    if not workers:
        raise _none_left(cluster)
    return workers


def _none_left(cluster: Cluster) -> WorkerLost:
    return WorkerLost(
        f"all workers were lost, and none was restarted within {cluster.options.timeout:g} s; "
        "see their logs, or raise the cluster's timeout"
    )
