"""Fixtures of the contract tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.contract import standins
from tests.contract.recorder import RECORDER, Recorder
from tests.contract.verify import faults
from tests.gpu.conftest import synchronize


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    """A machine whose GPU, cuDF, CuPy and cuML are stand-ins; returns what they are asked."""
    standins.install(monkeypatch)
    return RECORDER


@pytest.fixture
def device(request: pytest.FixtureRequest) -> Iterator[Recorder | None]:
    """The same, where RAPIDS must have nothing against any call; or a GPU, which records nothing.

    The GPU comes in by `tests.contract.cases.EVERYWHERE`.
    """
    if getattr(request, "param", "stand-in") == "gpu":
        yield None
        synchronize(request)
    else:
        yield request.getfixturevalue("recorder")
        assert faults(RECORDER.every) == []
