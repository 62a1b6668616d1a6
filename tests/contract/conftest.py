"""Fixtures of the contract tests."""

from __future__ import annotations

import pytest

from tests.contract import standins
from tests.contract.recorder import RECORDER, Recorder


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    """A machine whose GPU, cuDF, CuPy and cuML are stand-ins; returns what they are asked."""
    standins.install(monkeypatch)
    return RECORDER
