"""A cluster whose workers are threads of this process, which starts at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from distributed import Client


@contextmanager
def in_process(workers: int = 2) -> Iterator[Client]:
    """Yield the client of a cluster in this process, which is the active one inside."""
    distributed = pytest.importorskip("distributed")
    with distributed.Client(
        n_workers=workers,
        threads_per_worker=1,
        processes=False,
        dashboard_address="127.0.0.1:0",
        worker_dashboard_address="127.0.0.1:0",
    ) as client:
        yield client
