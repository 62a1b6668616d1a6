"""Work on a cluster that loses workers: done again a bounded number of times, never stuck."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence, Set
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from pipeline.distributed.cluster import Cluster, active
from pipeline.errors import ClusterUnavailable, PipelineError, WorkerLost
from pipeline.optional import load

if TYPE_CHECKING:
    from distributed import Worker

T = TypeVar("T")

POLL = 0.5
"""Seconds between two looks at the workers."""

SETTLE = 5.0
"""Seconds in which the scheduler hears of a worker whose loss others have felt already."""

CLEAN_UP = 15.0
"""Seconds that work has to put things in order once it was broken off."""

FULL = 0.9
"""Share of a worker's memory limit above which its loss is put down to memory."""

OF_CLUSTERS = ("asyncio", "concurrent", "dask", "distributed", "tornado", "xgboost")
"""Packages whose errors may be what the loss of a worker looks like from elsewhere."""

COLLECTIVE = "/collective/"
"""In what XGBoost says when it fails between workers: the folder of its source."""


class _Lost(Exception):
    """Some workers went away while others waited for them."""


def retry(work: Callable[[], T]) -> T:
    """Return the result of work on the active cluster, done again when a worker is lost.

    Parameters
    ----------
    work : callable
        Has no effect that doing it again would double.

    Raises
    ------
    WorkerLost
        A worker was lost in every attempt, or all were and none came back in time.
    """
    cluster = active()
    if cluster is None:
        return work()
    tries = cluster.options.retries + 1
    before = await_workers(cluster, 1)
    for attempt in range(tries):
        try:
            return work()
        except PipelineError:
            raise
        except Exception as error:
            lost = _lost(cluster, before, error)
            if not lost and not _broke_off(error):
                raise
            if attempt == tries - 1:
                raise WorkerLost(explain_loss(lost, before, tries)) from error
        before = await_workers(cluster, len(before))
    raise AssertionError("unreachable")


def await_workers(cluster: Cluster, n_workers: int) -> dict[str, dict[str, Any]]:
    """Wait until nannies have replaced workers that were lost.

    Returns those that are there in time.

    Raises
    ------
    WorkerLost
        None is there within `ClusterOptions.timeout`.
    """
    end = time.monotonic() + cluster.options.timeout
    while len(workers := cluster.workers()) < n_workers:
        if time.monotonic() >= end:
            break
        time.sleep(POLL)
    if not workers:
        raise WorkerLost(
            f"all workers were lost and none came back within {cluster.options.timeout:g} s; "
            "see their logs, or raise the cluster's timeout"
        )
    return workers


def _lost(cluster: Cluster, before: Mapping[str, Any], error: Exception) -> set[str]:
    """Return the workers that went away; the scheduler may hear of it later than others."""
    foreign = type(error).__module__.partition(".")[0] in OF_CLUSTERS
    end = time.monotonic() + (SETTLE if foreign or isinstance(error, OSError | _Lost) else 0)
    while not (lost := set(before) - set(cluster.workers())) and time.monotonic() < end:
        time.sleep(POLL)
    return lost


def _broke_off(error: Exception) -> bool:
    """Return whether XGBoost's workers could not talk, as when one was frozen for a moment."""
    return type(error).__name__ == "XGBoostError" and COLLECTIVE in str(error)


def explain_loss(lost: set[str], before: Mapping[str, Any], tries: int) -> str:
    """Return why workers were lost.

    Parameters
    ----------
    lost : set of str
        Their addresses.
    before : mapping
        What the scheduler knew of them, as `Cluster.workers` returns it.
    tries : int
        How often work was tried.
    """
    if not lost:
        return f"the workers' connections broke off, after {tries} attempt(s); see their logs"
    full = [before[worker] for worker in lost if _share(before[worker]) > FULL]
    memory = (
        f"; it was at {_share(full[0]):.0%} of its memory limit of "
        f"{full[0]['memory_limit']:,} bytes: give workers more, or make smaller partitions"
        if full
        else "; its log says why: out of memory (memory_limit=), killed, or a broken machine"
    )
    return f"worker {', '.join(sorted(lost))} was lost, after {tries} attempt(s){memory}"


def _share(worker: Mapping[str, Any]) -> float:
    limit = worker["memory_limit"]
    return float(worker["metrics"].get("memory", 0) / limit) if limit else 0.0


def compute_on_cluster(cluster: Cluster, tasks: Sequence[Any]) -> Sequence[Any]:
    """Return the results of tasks; not if the scheduler dies or freezes.

    Raises
    ------
    ClusterUnavailable
        The scheduler does not answer within `ClusterOptions.timeout`.
    """
    futures = cluster.client.compute(list(tasks))
    gather = partial(cluster.client.gather, futures, asynchronous=True)
    results: Sequence[Any] = _guarded(cluster, gather, frozenset())
    return results


def watch(cluster: Cluster, work: Callable[[], Awaitable[T]], workers: Set[str] | None = None) -> T:
    """Return the result of work in which workers wait for each other; not if one goes away.

    After an error, nothing of the work goes on that would hold the next attempt up.

    Parameters
    ----------
    cluster : Cluster
    work : callable
        Called in the client's event loop.
    workers : set of str, optional
        Addresses of those that must not go away; by default of all.

    Raises
    ------
    ClusterUnavailable
        The scheduler does not answer within `ClusterOptions.timeout`.
    WorkerLost
        A worker that waits for one that was lost has no nanny, which would restart it.
    """
    needed = set(cluster.workers()) if workers is None else workers
    known = set(cluster.client.futures)
    try:
        return _guarded(cluster, work, needed)
    except ClusterUnavailable:
        raise
    except Exception:
        _cancel(cluster, known)
        _free(cluster, len(needed))
        raise


def _cancel(cluster: Cluster, known: Set[Any]) -> None:
    """Cancel what was submitted since; the latest first, on which nothing depends.

    Dask's scheduler, asked to cancel what tasks without a future depend on, drops the client.
    """
    future = load("distributed.Future")
    for key in reversed(list(cluster.client.futures)):
        if key not in known:
            cluster.client.cancel([future(key, cluster.client)])


def _guarded(cluster: Cluster, work: Callable[[], Awaitable[T]], needed: Set[str]) -> T:
    """Return the result of work while the scheduler answers and some workers are there."""

    async def watch() -> None:
        while True:
            await asyncio.sleep(POLL)
            asking = cluster.client.scheduler.identity(n_workers=-1)
            try:  # One that is frozen takes the question and says nothing.
                identity = await asyncio.wait_for(asking, cluster.options.timeout)
            except TimeoutError:
                why = f"no answer within {cluster.options.timeout:g} s"
                raise cluster.lost(why) from None
            if lost := needed - set(identity["workers"]):
                raise _Lost(", ".join(sorted(lost)))

    async def both() -> Any:
        tasks = [asyncio.ensure_future(work()), asyncio.ensure_future(watch())]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            return (tasks[0] if tasks[0] in done else tasks[1]).result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks, timeout=CLEAN_UP)

    result: T = cluster.client.sync(both)
    return result


def _free(cluster: Cluster, n_workers: int) -> None:
    """Restart the workers whose threads run what nobody wants any more, and do not end it soon.

    A training that waits for a worker that is gone may do so for ever, and can be neither
    cancelled nor interrupted; the next task of that worker would wait behind it. On a busy machine
    one that would end takes long too: it has a quarter of the timeout, from when lost workers are
    replaced.

    Raises
    ------
    WorkerLost
        Such a worker has no nanny, which would restart it.
    """
    patience = max(SETTLE, cluster.options.timeout / 4)
    end = time.monotonic() + cluster.options.timeout
    settled = time.monotonic() + patience
    time.sleep(POLL)  # Workers have yet to hear of what was cancelled.
    while (held := cluster.client.sync(_held, cluster)) and time.monotonic() < min(settled, end):
        if len(cluster.workers()) < n_workers:
            settled = time.monotonic() + patience
        time.sleep(POLL)
    if not held:
        return
    try:
        cluster.client.restart_workers(held, timeout=cluster.options.timeout, raise_for_error=False)
    except ValueError as error:
        raise WorkerLost(
            f"worker {', '.join(held)} still waits for one that was lost; start it with a nanny"
        ) from error


async def _held(cluster: Cluster) -> list[str]:
    known = (await cluster.client.scheduler.identity(n_workers=-1))["workers"]
    asking = cluster.client.run(_unwanted, workers=[*known], on_error="ignore")
    try:
        answers = await asyncio.wait_for(asking, SETTLE)
    except TimeoutError:  # One of them is frozen, which is noticed elsewhere.
        return []
    return [worker for worker, held in answers.items() if held]


def _unwanted(dask_worker: Worker) -> bool:
    """Return whether a thread of this worker runs a task that was cancelled."""
    tasks = dask_worker.state.tasks
    running = [tasks.get(key) for key in list(dask_worker.active_threads.values())]
    return any(task is None or task.state in ("cancelled", "released") for task in running)
