from __future__ import annotations

import threading
import time

import pytest

from pipeline.preprocessing.parallel import each
from pipeline.residency import ledger, moved, record


def test_results_come_in_order_whatever_thread_is_first() -> None:
    def slow_start(item: int) -> int:
        time.sleep(0.02 if item == 0 else 0)
        return item

    assert list(each(slow_start, range(4))) == [0, 1, 2, 3]


def test_one_item_stays_in_the_calling_thread() -> None:
    assert list(each(lambda item: threading.get_ident(), [0])) == [threading.get_ident()]


def test_threads_report_to_the_ledger_of_the_call() -> None:
    with ledger() as book, record("step", "fit", "cpu"):
        list(each(lambda item: moved(to_host=item), range(5)))
    assert book.to_host_bytes == 10


def test_an_error_in_a_thread_reaches_the_caller() -> None:
    def fail(item: int) -> None:
        if item == 2:
            raise KeyError("block 2")

    with pytest.raises(KeyError, match="block 2"):
        list(each(fail, range(4)))
