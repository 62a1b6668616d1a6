"""What ran where, how long, and which bytes crossed between host and device.

Code that computes or copies reports to the log of the call it serves; the
log travels in a context variable, so parallel predictions do not mix.

A log may have a budget for the rows of tables that come back to the host.
Answers are what the caller asked for, and state is what scikit-learn's attributes
are made of, such as the categories of a column; neither counts, nor do targets and weights.

On a GPU each entry is an NVTX range too, which Nsight Systems shows, where the package ``nvtx`` is
installed: it comes with cuDF. Without a tool that looks, a range costs next to nothing.
"""

from __future__ import annotations

import importlib
import importlib.util
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, Literal, TypeVar

from pipeline.errors import BudgetExceeded

T = TypeVar("T")
What = Literal["rows", "answer", "state"]
"""What bytes are that move."""

SMALL = 64 * 1024
"""Bytes of one copy up to which it is no rows to a budget, whatever it is."""


DENSIFY = "densify"
"""The call by which sparse rows become dense ones; its event says why."""

ANSWER = "the result"
"""Why bytes come back that the caller asked for."""

BESIDE = "one value a row, which scikit-learn reads"
"""Why a target or weights come to the host."""


@dataclass
class Event:
    """One call of one step."""

    step: str
    """Name of the step in the estimator, or ``"input"`` / ``"output"``."""
    call: str
    """``"copy"``, ``"densify"``, ``"fit"``, ``"transform"``, ``"predict"``, …"""
    device: str
    seconds: float = 0.0
    """Wall time, with the device's queue drained."""
    to_device_bytes: int = 0
    to_host_bytes: int = 0
    why: str = ""
    """What was copied or made dense, or why."""
    worker: str = ""
    """The worker of a cluster that it ran on, of a search."""

    @property
    def place(self) -> str:
        """The step, behind the worker where there is one."""
        return f"{self.worker}: {self.step}" if self.worker else self.step

    @property
    def tells(self) -> bool:
        """Whether bytes moved, or rows became dense, so that it matters why."""
        return bool(self.to_device_bytes or self.to_host_bytes or self.call == DENSIFY)

    def __str__(self) -> str:
        """Return one line."""
        return (
            f"{self.place:24} {self.call:14} {self.device:5} {1e3 * self.seconds:10.1f} ms "
            f"{self.to_device_bytes:>12,} B to device {self.to_host_bytes:>12,} B to host"
            f"  {self.why if self.tells else ''}"
        ).rstrip()


@dataclass(repr=False)
class ExecutionLog:
    """The events of one `fit` or one prediction, in the order of the calls."""

    events: list[Event] = field(default_factory=list)
    host_bytes: int | None = None
    """The budget: bytes of rows that may come back to the host. By default any."""
    n_rows: int = 0
    """Rows of the table. A copy with less than a byte for each, or up to 64 KiB, holds none."""
    rows_bytes: int = field(default=0, init=False)
    last: ExecutionLog | None = field(default=None, init=False)
    """Of a fit: the prediction that ended last. It is put in the place of the one before as a
    whole, so that predictions in several threads do not mix."""

    @property
    def entries(self) -> list[Event]:
        """The events, and those of the last prediction after them."""
        last = self.last
        return [*self.events, *(last.events if last else ())]

    def seconds(self, *calls: str) -> float:
        """Return the summed wall time of the named calls."""
        return sum(entry.seconds for entry in self.entries if entry.call in calls)

    @property
    def to_host_bytes(self) -> int:
        """Bytes that came back from a device: rows, state and answers."""
        return sum(entry.to_host_bytes for entry in self.entries)

    def spend(self, entry: Event, n_bytes: int) -> None:
        """Count a copy to the host against the budget, before it is made."""
        if self.host_bytes is None or n_bytes <= max(self.n_rows - 1, SMALL):
            return
        self.rows_bytes += n_bytes
        if self.rows_bytes > self.host_bytes:
            why = f" ({entry.why})" if entry.why else ""
            raise BudgetExceeded(
                f"{entry.step}: {entry.call} would bring {n_bytes:,} bytes to the host{why}, "
                f"{self.rows_bytes:,} in all, and host_bytes={self.host_bytes:,} is the limit; "
                "run the step on the device, or raise host_bytes"
            )

    def __repr__(self) -> str:
        """One line per entry."""
        return "\n".join(str(entry) for entry in self.entries) or "nothing has run"


_within: ContextVar[str] = ContextVar("within", default="")
_log: ContextVar[ExecutionLog | None] = ContextVar("log", default=None)
_entry: ContextVar[Event | None] = ContextVar("entry", default=None)


@contextmanager
def execution_log(*, host_bytes: int | None = None, n_rows: int = 0) -> Iterator[ExecutionLog]:
    """Collect everything recorded inside the block; see `ExecutionLog` for the parameters."""
    log = ExecutionLog(host_bytes=host_bytes, n_rows=n_rows)
    token = _log.set(log)
    try:
        yield log
    finally:
        _log.reset(token)


@contextmanager
def record(step: str, call: str, device: str, why: str = "") -> Iterator[Event]:
    """Time the block as one entry; bytes reported inside are added to it.

    >>> with execution_log() as log, record("scaler", "fit", "cpu"):
    ...     record_transfer(to_host=8)
    >>> [(e.step, e.to_host_bytes) for e in log.entries]
    [('scaler', 8)]
    """
    entry = Event(f"{_within.get()}{step}", call, device, why=why)
    token = _entry.set(entry)
    start = time.perf_counter()
    try:
        with _range()(f"{step} {call}") if device == "cuda" else nullcontext():
            yield entry
    finally:
        entry.seconds = time.perf_counter() - start
        _entry.reset(token)
        log = _log.get()
        if log is not None:
            log.events.append(entry)


@contextmanager
def setting(variable: ContextVar[T], value: T) -> Iterator[None]:
    """Give a context variable a value within the block."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def within(path: str) -> AbstractContextManager[None]:
    """Record what happens inside the block as of steps that stand inside another one.

    >>> with execution_log() as log, within("bagging"), record("estimator", "fit", "cpu"):
    ...     pass
    >>> [entry.step for entry in log.entries]
    ['bagging.estimator']
    """
    return setting(_within, f"{_within.get()}{path}.")


def record_transfer(*, to_device: int = 0, to_host: int = 0, what: What = "rows") -> None:
    """Add bytes that are about to be copied to the event that is being recorded, if there is one.

    A budget leaves out an answer, which the caller asked for, and state, which was learnt and does
    not grow with the rows. `BudgetExceeded` says that other bytes would break it.
    """
    entry, log = _entry.get(), _log.get()
    if entry is None:
        return
    if what == "answer":
        entry.why = ANSWER
    if log is not None and entry.why not in (ANSWER, BESIDE) and what != "state":
        log.spend(entry, to_host)
    entry.to_device_bytes += to_device
    entry.to_host_bytes += to_host


@cache
def _range() -> Callable[[str], AbstractContextManager[Any]]:
    if importlib.util.find_spec("nvtx") is None:
        return nullcontext
    return partial(importlib.import_module("nvtx").annotate, domain="pipeline")
