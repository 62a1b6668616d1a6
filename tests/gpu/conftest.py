"""Every test of this folder is marked `gpu`, and skipped where there is none."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pipeline.optional import load
from pipeline.system.devices import obstacle

NO_GPU = obstacle()


def pytest_itemcollected(item: pytest.Item) -> None:
    item.add_marker("gpu")
    item.add_marker(pytest.mark.skipif(bool(NO_GPU), reason=NO_GPU))


@pytest.fixture(autouse=True)
def _synchronized(request: pytest.FixtureRequest) -> Iterator[None]:
    """Wait for the GPU after each test, so that an error that comes late names its own test."""
    yield
    synchronize(request)


def synchronize(request: pytest.FixtureRequest) -> None:
    """Wait for the GPU; a process whose GPU has failed ends, for it cannot use it again."""
    try:
        load("cupy").cuda.Device().synchronize()
    except RuntimeError as error:
        request.session.shouldstop = f"the GPU failed in {request.node.nodeid}: {error}"
        raise
