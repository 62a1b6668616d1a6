"""Loops over all cores; NumPy releases the interpreter's lock while it works.

Importing this changes no setting. The command line and the workers of a comparison call
`keep_freed_memory` as they start; scripts can call it themselves.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar, copy_context
from functools import cache
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

from pipeline.system.libc import c_function
from pipeline.trace import setting

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

T = TypeVar("T")
R = TypeVar("R")


def keep_freed_memory() -> None:
    """Let the C library keep freed pieces of up to 31 MiB for the next block of rows.

    By default it returns large pieces to the system as soon as they are free, and the next block
    needs new pages. Once a piece was freed, glibc keeps those up to its size; other C libraries
    do not, nor does it where a `MALLOC_…` variable is set, as in Dask's workers. The process holds
    somewhat more memory after that.
    """
    malloc, free = c_function("malloc"), c_function("free")
    if malloc and free:
        malloc.restype = ctypes.c_void_p
        free(ctypes.c_void_p(malloc(ctypes.c_size_t(31 * 2**20))))


def processors() -> int:
    """Return how many processors this process may use; all where the system has no affinity."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_most: ContextVar[float] = ContextVar("most", default=float("inf"))


def limit_threads(n_threads: int) -> AbstractContextManager[None]:
    """Leave the other cores to what else runs on this machine."""
    return setting(_most, min(n_threads, _most.get()))


def alone() -> AbstractContextManager[None]:
    """Leave the other cores to the other partitions; their threads would each hold blocks."""
    return limit_threads(1)


@cache
def scipy_blas() -> ThreadpoolController:
    """Return SciPy's own BLAS, where it has one that NumPy does not use, as in their wheels."""
    # The command line imports this module and must start quickly.
    import scipy.optimize
    from threadpoolctl import ThreadpoolController

    home = Path(scipy.__file__).resolve().parent
    own = (home, home.with_name("scipy.libs"))
    blas = ThreadpoolController().select(user_api="blas")
    paths = [each.filepath for each in blas.lib_controllers]
    within = [path for path in paths if any(map(Path(path).resolve().is_relative_to, own))]
    return blas.select(filepath=within)


class _OneThread(AbstractContextManager[None]):
    """Lets SciPy's own BLAS have one thread in this process while some thread is within."""

    def __init__(self) -> None:
        self.lock, self.within = Lock(), 0

    def __enter__(self) -> None:
        with self.lock:
            if not self.within:
                self.limit = scipy_blas().limit(limits=1)
            self.within += 1

    def __exit__(self, *raised: object) -> None:
        with self.lock:
            self.within -= 1
            if not self.within:
                self.limit.restore_original_limits()


one_scipy_thread = _OneThread()
"""Within it, SciPy's own BLAS has one thread, and NumPy's has all.

The wheels of NumPy and SciPy each bring an OpenBLAS, and its threads keep their cores for a while
when they have nothing to do. A solver that calls both by turns then waits for them: on two cores, a
`LogisticRegression` of 12,000 rows takes five times as long.
"""


@cache
def _openmp(library: str) -> ThreadpoolController:
    """Return the OpenMP runtimes of this process; a library that is loaded later may bring one."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="openmp")


@contextmanager
def one_openmp_thread(library: str) -> Iterator[None]:
    """Let the loops that OpenMP runs for the calling thread, and no other, have one thread.

    A loop ends when its last thread does. On a busy machine, that one first waits for a core.
    """
    runtimes = _openmp(library).lib_controllers
    before = [each.num_threads for each in runtimes]
    try:
        for each in runtimes:
            each.set_num_threads(1)
        yield
    finally:
        for each, n_threads in zip(runtimes, before, strict=True):
            each.set_num_threads(n_threads)


_pieces: ContextVar[int] = ContextVar("pieces", default=1)


def halved() -> AbstractContextManager[None]:
    """Take the rows of a table on a GPU in twice as many blocks."""
    return setting(_pieces, 2 * _pieces.get())


def pieces() -> int:
    """Return the number of blocks that a table on a GPU is cut into.

    >>> pieces()
    1
    """
    return _pieces.get()


def each(function: Callable[[T], R], items: Sequence[T]) -> Iterator[R]:
    """Call a function for each item, on all cores, and yield the results in order.

    Only a few results wait to be taken, and each is released when it was: a slow consumer slows the
    threads down. Context variables reach the threads. `limit_threads` bounds their number; inside
    `alone`, the calling thread does all the work.

    >>> list(each(abs, [-1, 2]))
    [1, 2]
    """
    n_threads = int(min(_most.get(), processors()))
    if len(items) < 2 or _most.get() <= 1:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(n_threads) as pool:
        futures = (pool.submit(copy_context().run, function, item) for item in items)
        started = deque(islice(futures, 2 * n_threads))
        while started:
            started.extend(islice(futures, 1))
            yield started.popleft().result()
