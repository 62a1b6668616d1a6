"""Every test of this folder is marked `gpu`, and skipped where there is none."""

from __future__ import annotations

import pytest

from pipeline.system.devices import obstacle

NO_GPU = obstacle()


def pytest_itemcollected(item: pytest.Item) -> None:
    item.add_marker("gpu")
    item.add_marker(pytest.mark.skipif(bool(NO_GPU), reason=NO_GPU))


@pytest.fixture
def device() -> None:
    """The GPU, in the place of the stand-ins that tests of both ask for."""
