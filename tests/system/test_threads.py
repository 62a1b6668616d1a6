from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from threadpoolctl import ThreadpoolController, threadpool_info, threadpool_limits

from pipeline.system.threads import (
    alone,
    each,
    limit_threads,
    one_openmp_thread,
    one_scipy_thread,
    scipy_blas,
)  # fmt: skip


def test_results_come_in_order_whatever_thread_is_first() -> None:
    def slow_start(item: int) -> int:
        time.sleep(0.02 if item == 0 else 0)
        return item

    assert list(each(slow_start, range(4))) == [0, 1, 2, 3]


def test_few_results_wait_to_be_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0, 1})
    made: list[int] = []
    results = each(made.append, range(100))
    next(results)
    time.sleep(0.05)
    assert len(made) <= 5
    assert len(list(results)) == 99


def test_a_limit_leaves_the_other_cores_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    meeting = threading.Barrier(3)

    def work(item: int) -> str:
        meeting.wait(60)
        return threading.current_thread().name

    with limit_threads(3):
        assert len(set(each(work, range(9)))) == 3
    with limit_threads(3), alone():
        names = set(each(lambda _: threading.current_thread().name, range(9)))
    assert names == {threading.current_thread().name}


@pytest.fixture
def sizes() -> Iterator[Callable[[], list[int]]]:
    """Yield what returns the threads of SciPy's own BLAS and of all others, from two of each on."""
    own, before = scipy_blas().lib_controllers, threadpool_info()
    others = [each for each in ThreadpoolController().lib_controllers if each.user_api == "blas"]
    others = [each for each in others if each.filepath not in {lib.filepath for lib in own}]
    if not own:
        pytest.skip("NumPy and SciPy use one BLAS")
    with threadpool_limits(2, "blas"):
        yield lambda: [lib.num_threads for lib in (*own, *others)]
    assert threadpool_info() == before


def test_one_openmp_thread_is_that_of_the_caller_and_ends_with_an_error() -> None:
    runtimes = ThreadpoolController().select(user_api="openmp").lib_controllers
    if not runtimes:
        pytest.skip("no library that is loaded uses OpenMP")

    def sizes() -> set[int]:
        return {each.num_threads for each in runtimes}

    @one_openmp_thread("sklearn")
    def fail() -> None:
        assert sizes() == {1}
        with ThreadPoolExecutor(1) as pool:
            pool.submit(threadpool_limits, 3, "openmp").result()
            assert pool.submit(sizes).result() == {3}
        assert sizes() == {1}
        raise ZeroDivisionError

    with threadpool_limits(2, "openmp"):
        with pytest.raises(ZeroDivisionError):
            fail()
        assert sizes() == {2}


def test_one_scipy_thread_leaves_numpy_all(sizes: Callable[[], list[int]]) -> None:
    assert set(sizes()) == {2}
    with one_scipy_thread:
        assert sizes() == [1, *[2] * (len(sizes()) - 1)]
    assert set(sizes()) == {2}
