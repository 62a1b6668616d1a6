"""Fixtures of the contract tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.contract import standins
from tests.contract.recorder import RECORDER, Recorder
from tests.contract.verify import faults


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    """A machine whose GPU, cuDF, CuPy and cuML are stand-ins; returns what they are asked."""
    standins.install(monkeypatch)
    return RECORDER


@pytest.fixture
def device(recorder: Recorder) -> Iterator[Recorder]:
    """The same, where RAPIDS must have nothing against any call of the test."""
    yield recorder
    assert faults(recorder.every) == []
