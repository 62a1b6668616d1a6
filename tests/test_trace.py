from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from contextvars import copy_context
from types import SimpleNamespace

import pytest

from pipeline import trace
from pipeline.errors import BudgetExceeded
from pipeline.trace import ANSWER, SMALL, ExecutionLog, execution_log, record, record_transfer


def test_entries_come_in_the_order_they_end_with_their_time() -> None:
    with execution_log() as book:
        with record("a", "fit", "cpu"):
            time.sleep(0.01)
        with record("b", "predict", "cpu"):
            pass
    assert [(e.step, e.call, e.device) for e in book.entries] == [
        ("a", "fit", "cpu"),
        ("b", "predict", "cpu"),
    ]
    assert book.entries[0].seconds >= 0.01
    assert book.entries[1].seconds > 0


def test_bytes_are_booked_on_the_innermost_entry() -> None:
    with execution_log() as book, record("outer", "fit", "cpu"):
        record_transfer(to_device=1)
        with record("inner", "copy", "cuda"):
            record_transfer(to_device=10, to_host=5)
        record_transfer(to_host=2)
    booked = {e.step: (e.to_device_bytes, e.to_host_bytes) for e in book.entries}
    assert booked == {"inner": (10, 5), "outer": (1, 2)}
    assert book.to_host_bytes == 7


def test_outside_of_a_log_nothing_is_kept() -> None:
    record_transfer(to_host=8)
    with record("a", "fit", "cpu") as entry:
        record_transfer(to_host=8)
    assert entry.to_host_bytes == 8
    with execution_log() as book:
        pass
    assert book.entries == []


def test_threads_do_not_share_a_log() -> None:
    books: dict[str, ExecutionLog] = {}
    together = threading.Barrier(4)

    def work(name: str) -> None:
        with execution_log() as book:
            for _ in range(20):
                together.wait()
                with record(name, "predict", "cpu"):
                    record_transfer(to_host=1)
        books[name] = book

    threads = [threading.Thread(target=work, args=(f"t{i}",)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name, book in books.items():
        assert {e.step for e in book.entries} == {name}
        assert book.to_host_bytes == 20


def test_a_helper_thread_reports_to_the_call_it_serves() -> None:
    with execution_log() as book, record("a", "fit", "cpu"):
        context = copy_context()
        thread = threading.Thread(target=lambda: context.run(record_transfer, to_host=3))
        thread.start()
        thread.join()
    assert book.to_host_bytes == 3


@pytest.mark.parametrize(
    ("n_rows", "n_bytes", "refused"),
    [
        (0, SMALL, False),
        (0, SMALL + 1, True),
        (10 * SMALL, 10 * SMALL - 1, False),
        (10 * SMALL, 10 * SMALL, True),
    ],
)
def test_a_budget_of_nothing_leaves_room_for_state(
    n_rows: int, n_bytes: int, refused: bool
) -> None:
    with execution_log(host_bytes=0, n_rows=n_rows) as book, record("pca", "copy", "cpu") as entry:
        with pytest.raises(BudgetExceeded) if refused else nullcontext():
            record_transfer(to_host=n_bytes)
        assert entry.to_host_bytes == (0 if refused else n_bytes)
    assert book.to_host_bytes == entry.to_host_bytes


def test_a_budget_is_spent_by_all_steps_together_and_names_the_last() -> None:
    with execution_log(host_bytes=250_000, n_rows=10), record("pca", "copy", "cpu", "no rule"):
        record_transfer(to_host=100_000)
        record_transfer(to_host=150_000)
        with pytest.raises(BudgetExceeded) as caught, record("tail", "copy", "cpu", "no twin"):
            record_transfer(to_host=70_000)
    assert str(caught.value) == (
        "tail: copy would bring 70,000 bytes to the host (no twin), 320,000 in all, and "
        "host_bytes=250,000 is the limit; run the step on the device, or raise host_bytes"
    )


def test_answers_and_copies_to_the_device_are_free() -> None:
    with execution_log(host_bytes=0):
        with record("output", "copy", "cpu", ANSWER):
            record_transfer(to_host=10**9)
        with record("xgbclassifier", "predict", "cuda") as entry:
            record_transfer(to_host=10**9, to_device=10**9, what="answer")
    assert entry.why == ANSWER


def test_what_was_learnt_counts_towards_the_bytes_and_not_the_budget() -> None:
    with execution_log(host_bytes=0, n_rows=10) as book, record("encoder", "fit", "cuda"):
        record_transfer(to_host=10 * SMALL, what="state")
        with pytest.raises(BudgetExceeded):
            record_transfer(to_host=10 * SMALL)
    assert (book.to_host_bytes, book.rows_bytes) == (10 * SMALL, 10 * SMALL)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Put a package that writes down its ranges in the place of nvtx."""
    names: list[str] = []

    @contextmanager
    def annotate(name: str, domain: str) -> Iterator[None]:
        names.append(f"{domain}: {name}")
        yield
        names.append("end")

    monkeypatch.setitem(
        sys.modules, "nvtx", SimpleNamespace(annotate=annotate, __spec__=SimpleNamespace())
    )
    trace._range.cache_clear()
    yield names
    trace._range.cache_clear()


def test_steps_on_a_gpu_have_ranges_with_their_names(seen: list[str]) -> None:
    with record("pipeline.standardscaler", "fit", "cuda"):
        assert seen == ["pipeline: pipeline.standardscaler fit"]
    assert seen[1:] == ["end"]
