"""Every test of this folder is marked `contract_live`, and skipped where RAPIDS is missing."""

from __future__ import annotations

import warnings

import pytest

from pipeline.optional import available, load
from tests.contract.snapshot import PACKAGES

MISSING = [package for package in PACKAGES if not available(package)]


def pytest_itemcollected(item: pytest.Item) -> None:
    item.add_marker("contract_live")
    item.add_marker(pytest.mark.skipif(bool(MISSING), reason=f"not installed: {MISSING}"))


@pytest.fixture(scope="session", autouse=True)
def _packages() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for package in [] if MISSING else PACKAGES:
            load(package)
