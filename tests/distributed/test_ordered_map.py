"""Pieces of work on a cluster: in order, a few at a time, done again when workers die."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

import pipeline
from pipeline.distributed import ordered_map
from pipeline.distributed.cluster import Cluster, ClusterOptions, _running, active
from pipeline.errors import DataError, WorkerLost
from tests.clusters import in_process

pytest.importorskip("distributed")
PIECES = 24


def squared(shared: Any, number: int) -> int:
    time.sleep(0.01 * (number % 3))
    return number**2


def refused(shared: Any, number: int) -> int:
    if number == 2:
        raise DataError("bad piece")
    return number


def pieces(asked: list[int]) -> Iterator[tuple[int]]:
    for number in range(PIECES):
        asked.append(number)
        yield (number,)


@pytest.fixture
def two() -> Iterator[Any]:
    with pipeline.cluster("local", workers=2) as cluster:
        yield cluster


@pytest.fixture
def threads() -> Iterator[Cluster]:
    """Return a cluster of two threads of this process."""
    with in_process(2):
        found = active()
        assert found is not None
        yield found


def test_results_come_in_order_and_few_pieces_are_under_way(threads: Cluster) -> None:
    asked: list[int] = []
    found = []
    for number, result in enumerate(ordered_map.map_in_order(squared, None, pieces(asked))):
        found.append(result)
        assert len(asked) <= number + ordered_map.AHEAD * 2
    assert found == [number**2 for number in range(PIECES)]


@pytest.mark.alone
@pytest.mark.slow
def test_when_all_workers_are_killed_their_pieces_are_made_again(two: Any) -> None:
    made = ordered_map.map_in_order(squared, {"shared": 1}, pieces([]))
    found = [next(made), next(made)]
    for pid in two.client.run(os.getpid).values():
        os.kill(pid, signal.SIGKILL)
    assert [*found, *made] == [number**2 for number in range(PIECES)]


def test_an_error_of_the_work_ends_it_and_what_was_made_before_is_kept(
    threads: Cluster,
) -> None:
    made = ordered_map.map_in_order(refused, None, pieces([]))
    assert [next(made), next(made)] == [0, 1]
    with pytest.raises(DataError, match="bad piece"):
        next(made)


@contextmanager
def within(cluster: Cluster) -> Iterator[None]:
    token = _running.set(cluster)
    try:
        yield
    finally:
        _running.reset(token)


def test_work_is_not_waited_for_once_no_worker_is_left(threads: Cluster) -> None:
    impatient = replace(threads, options=ClusterOptions(timeout=0.5))
    with within(impatient):
        made = ordered_map.map_in_order(squared, None, pieces([]))
        next(made)
        threads.client.cluster.scale(0)
        with pytest.raises(WorkerLost, match="none was restarted"):
            list(made)
