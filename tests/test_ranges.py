from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from pipeline import trace


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
    trace._nvtx.cache_clear()
    yield names
    trace._nvtx.cache_clear()


def test_steps_on_a_gpu_have_ranges_with_their_names(seen: list[str]) -> None:
    with trace.record("pipeline.standardscaler", "fit", "cuda"):
        assert seen == ["pipeline: pipeline.standardscaler fit"]
    assert seen[1:] == ["end"]


def test_steps_on_the_cpu_have_none(seen: list[str]) -> None:
    with trace.record("standardscaler", "fit", "cpu"):
        pass
    assert seen == []


def test_an_error_ends_the_range(seen: list[str]) -> None:
    with pytest.raises(ZeroDivisionError), trace.record("a", "fit", "cuda"):
        raise ZeroDivisionError
    assert seen[0] == "pipeline: a fit"


def test_without_the_package_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace, "_nvtx", lambda: None)
    with trace.record("a", "fit", "cuda") as entry:
        pass
    assert entry.seconds >= 0
