"""Work that is sent to the workers of a cluster piece by piece, with results in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pipeline.distributed.cluster import active
from pipeline.distributed.retry import gather
from pipeline.optional import load

if TYPE_CHECKING:
    from distributed import Client, Future

R = TypeVar("R")

AHEAD: Final = 2
"""Pieces that are under way for each thread: one that is worked on, and one that waits."""


def map_in_order(
    function: Callable[..., R], shared: Any, pieces: Iterable[Sequence[Any]]
) -> Iterator[R]:
    """Yield the results of the active cluster's workers for each piece, in the order of the pieces.

    The workers call ``function(shared, *piece)``, and get `shared` only once. Pieces are asked for
    as results are taken, `AHEAD` of them for each thread. What a lost worker had is made by another
    one; `WorkerLost` says that every attempt lost one, or that none is left.
    """
    cluster = active()
    assert cluster is not None
    most = AHEAD * sum(worker["nthreads"] for worker in cluster.workers().values())
    send = partial(submit_task, cluster.client, function, hold_on_workers(cluster.client, shared))
    held: deque[Future] = deque()
    try:
        for piece in pieces:
            held.append(send(*piece))
            if len(held) >= most:
                yield from gather(cluster, [held.popleft()])
        while held:
            yield from gather(cluster, [held.popleft()])
    finally:
        for future in held:
            future.release()


def submit_task(client: Client, function: Callable[..., Any], *args: Any, **options: Any) -> Future:
    """Begin a call on a worker; what is not a future is sent with it, however large it is."""
    # A piece is inside its task on purpose: so the scheduler can give it to another worker.
    with load("dask.config").set({"distributed.admin.large-graph-warning-threshold": "1 TB"}):
        future: Future = client.submit(function, *args, pure=False, **options)
        return future


def hold_on_workers(client: Client, value: Any, **options: Any) -> Future:
    """Send a value to the workers, which pass it on to each other, or to those of the `options`.

    The result of a task, unlike scattered data, is made again when its worker is lost.
    """
    return submit_task(client, lambda held: held, value, **options)
