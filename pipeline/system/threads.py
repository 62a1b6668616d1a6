"""Loops over all cores; NumPy lets go of the interpreter's lock while it works."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from queue import SimpleQueue
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")
R = TypeVar("R")
K = TypeVar("K")
A = TypeVar("A")

# The C library hands large pieces back to the system as soon as they are free, and the next
# block has to be given pages anew. Once a piece was freed, it keeps those up to that size.
np.empty(31 * 2**20, dtype="uint8")


_alone: ContextVar[bool] = ContextVar("alone", default=False)


@contextmanager
def alone() -> Iterator[None]:
    """Leave the other cores to the other partitions; their threads would each hold blocks."""
    token = _alone.set(True)
    try:
        yield
    finally:
        _alone.reset(token)


_pieces: ContextVar[int] = ContextVar("pieces", default=1)


@contextmanager
def halved() -> Iterator[None]:
    """Take the rows of a table on a GPU in twice as many blocks."""
    token = _pieces.set(2 * _pieces.get())
    try:
        yield
    finally:
        _pieces.reset(token)


def pieces() -> int:
    """Return the number of blocks that a table on a GPU is cut into.

    >>> pieces()
    1
    """
    return _pieces.get()


def each(function: Callable[[T], R], items: Sequence[T]) -> Iterator[R]:
    """Call a function for each item, on all cores, and yield the results in order.

    A result is let go once it was taken, and context variables reach the threads. Inside of
    `alone`, this thread does it all.

    >>> list(each(abs, [-1, 2]))
    [1, 2]
    """
    if len(items) < 2 or _alone.get():
        yield from map(function, items)
        return
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        futures = deque(pool.submit(copy_context().run, function, item) for item in items)
        while futures:
            yield futures.popleft().result()


def in_step(
    searches: Mapping[K, Callable[[Callable[[T], A]], R]],
    evaluate: Callable[[dict[K, T]], Mapping[K, A]],
) -> dict[K, R]:
    """Run searches side by side, and evaluate what all of them ask for together.

    Each takes a function that it asks for one value after the other. Where there are several, each
    has a thread of its own, which context variables reach; whenever all that have not ended wait,
    this thread calls `evaluate` once.

    >>> one, two = lambda ask: ask(1) + ask(2), lambda ask: ask(5)
    >>> in_step({"a": one, "b": two}, lambda points: {key: -p for key, p in points.items()})
    {'a': -3, 'b': -5}
    """
    if len(searches) == 1:
        ((key, search),) = searches.items()
        return {key: search(lambda point: evaluate({key: point})[key])}
    asked: SimpleQueue[tuple[K, list[T]]] = SimpleQueue()
    answers: dict[K, SimpleQueue[list[A]]] = {key: SimpleQueue() for key in searches}

    def run(key: K) -> R:
        def ask(point: T) -> A:
            asked.put((key, [point]))
            for answer in answers[key].get():
                return answer
            raise CancelledError

        try:
            return searches[key](ask)
        finally:
            asked.put((key, []))

    with ThreadPoolExecutor(max(1, len(searches))) as pool:
        try:
            found = {key: pool.submit(copy_context().run, run, key) for key in searches}
            _answer(asked, answers, evaluate)
        finally:
            # Whoever still waits would wait for ever.
            for answer in answers.values():
                answer.put([])
    return {key: future.result() for key, future in found.items()}


def _answer(
    asked: SimpleQueue[tuple[Any, list[T]]],
    answers: Mapping[K, SimpleQueue[list[A]]],
    evaluate: Callable[[dict[K, T]], Mapping[K, A]],
) -> None:
    """Answer all searches, round by round, until each has ended."""
    waiting: Iterable[Any] = answers
    while waiting:
        points = {key: point for key, asks in [asked.get() for _ in waiting] for point in asks}
        for key, value in (evaluate(points) if points else {}).items():
            answers[key].put([value])
        waiting = points
