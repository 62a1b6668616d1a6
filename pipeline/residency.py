"""What ran where, how long, and which bytes crossed between host and device.

Code that computes or copies reports to the ledger of the call it serves; the
ledger travels in a context variable, so parallel predictions do not mix.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field


@dataclass
class Entry:
    """One call of one step.

    Parameters
    ----------
    step : str
        Name of the step in the spec, or ``"input"`` / ``"output"``.
    call : str
        ``"copy"``, ``"fit"``, ``"transform"``, ``"predict"``, …
    device : str
        ``"cpu"`` or ``"cuda"``.
    seconds : float
        Wall time, with the device's queue drained.
    to_device_bytes, to_host_bytes : int
        Bytes copied between host and device for this call.
    """

    step: str
    call: str
    device: str
    seconds: float = 0.0
    to_device_bytes: int = 0
    to_host_bytes: int = 0


@dataclass
class Ledger:
    """The entries of one `fit` or one prediction, in the order of the calls."""

    entries: list[Entry] = field(default_factory=list)

    def seconds(self, *calls: str) -> float:
        """Return the summed wall time of the named calls."""
        return sum(entry.seconds for entry in self.entries if entry.call in calls)

    @property
    def host_bytes(self) -> int:
        """Bytes that came back from a device."""
        return sum(entry.to_host_bytes for entry in self.entries)

    def __str__(self) -> str:
        """One line per entry."""
        return "\n".join(
            f"{e.step:24} {e.call:14} {e.device:5} {1e3 * e.seconds:10.1f} ms "
            f"{e.to_device_bytes:>12,} B to device {e.to_host_bytes:>12,} B to host"
            for e in self.entries
        )


_ledger: ContextVar[Ledger | None] = ContextVar("ledger", default=None)
_entry: ContextVar[Entry | None] = ContextVar("entry", default=None)


@contextmanager
def ledger() -> Iterator[Ledger]:
    """Collect everything recorded inside the block."""
    book = Ledger()
    token = _ledger.set(book)
    try:
        yield book
    finally:
        _ledger.reset(token)


@contextmanager
def record(step: str, call: str, device: str) -> Iterator[Entry]:
    """Time the block as one entry; bytes reported inside are booked on it.

    >>> with ledger() as book, record("scaler", "fit", "cpu"):
    ...     moved(to_host=8)
    >>> [(e.step, e.to_host_bytes) for e in book.entries]
    [('scaler', 8)]
    """
    entry = Entry(step, call, device)
    token = _entry.set(entry)
    start = time.perf_counter()
    try:
        yield entry
    finally:
        entry.seconds = time.perf_counter() - start
        _entry.reset(token)
        book = _ledger.get()
        if book is not None:
            book.entries.append(entry)


def moved(*, to_device: int = 0, to_host: int = 0) -> None:
    """Book bytes on the entry that is being recorded, if there is one."""
    entry = _entry.get()
    if entry is not None:
        entry.to_device_bytes += to_device
        entry.to_host_bytes += to_host
