"""Work handed out to the workers of a cluster piece by piece, and taken back in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from pipeline.distributed.cluster import Cluster, active
from pipeline.distributed.retry import await_workers, retry
from pipeline.errors import PipelineError
from pipeline.optional import load

if TYPE_CHECKING:
    from distributed import Future

R = TypeVar("R")

AHEAD: Final = 2
"""Pieces that are under way for each thread: one that is worked on, and one that waits."""


def map_in_order(
    function: Callable[..., R], shared: Any, pieces: Iterable[Sequence[Any]]
) -> Iterator[R]:
    """Yield what the workers of the active cluster make of each piece, in the order of the pieces.

    Pieces are asked for as results are taken, `AHEAD` of them for each thread. What a lost
    worker had is made by another one; where that fails too, as often as the cluster's `retries`
    says.

    Parameters
    ----------
    function : callable
        Called as ``function(shared, *piece)``; doing it again has no effect.
    shared : object
        Sent to each worker, and not with each piece.
    pieces : iterable of sequences

    Raises
    ------
    WorkerLost
        Every attempt at a piece lost a worker, or none is left.
    """
    cluster = active()
    assert cluster is not None
    most = AHEAD * sum(worker["nthreads"] for worker in cluster.workers().values())
    crew = _Crew(cluster, function, shared)
    held: deque[_Task[R]] = deque()
    try:
        for piece in pieces:
            held.append(_Task(crew, piece))
            if len(held) >= most:
                yield held.popleft().result()
        while held:
            yield held.popleft().result()
    finally:
        for task in held:
            task.future.release()


class _Crew:
    """The workers, and what all of them were sent."""

    def __init__(self, cluster: Cluster, function: Callable[..., Any], shared: Any) -> None:
        self.cluster, self.function = cluster, function
        # The result of a task, unlike scattered data, is made again when its worker is lost.
        self.shared = self._submit(_same, shared)

    def send(self, piece: Sequence[Any]) -> Future:
        """Return the future of a piece."""
        return self._submit(self.function, self.shared, *piece)

    def _submit(self, function: Callable[..., Any], *args: Any) -> Future:
        # A piece is inside its task on purpose: so the scheduler can give it to another worker.
        quiet = {"distributed.admin.large-graph-warning-threshold": "1 TB"}
        with load("dask.config").set(quiet):
            return self.cluster.client.submit(function, *args, pure=False)


class _Task(Generic[R]):
    """A piece, and the future of what is made of it."""

    def __init__(self, crew: _Crew, piece: Sequence[Any]) -> None:
        self.crew, self.piece = crew, piece
        self.future = crew.send(piece)

    def result(self) -> R:
        """Wait for the result, sending the piece anew where it was lost."""
        return retry(self._attempt)

    def _attempt(self) -> R:
        if _was_lost(self.future):
            self.future = self.crew.send(self.piece)
        cluster = self.crew.cluster
        while True:
            try:
                found: R = self.future.result(timeout=cluster.options.timeout)
            except TimeoutError:
                if self.future.status == "error":  # The work itself raised it.
                    raise
                await_workers(cluster, 1)
            else:
                return found


def _same(shared: Any) -> Any:
    return shared


def _was_lost(future: Future) -> bool:
    """Return whether nothing will come of a future, for no fault of the work."""
    if future.status in ("cancelled", "lost"):
        return True
    return future.status == "error" and not isinstance(future.exception(), PipelineError)
