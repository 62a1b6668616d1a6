"""Loops over all cores; NumPy lets go of the interpreter's lock while it works."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import TypeVar

import numpy as np

T = TypeVar("T")
R = TypeVar("R")

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
