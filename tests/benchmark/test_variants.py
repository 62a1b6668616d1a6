from __future__ import annotations

import pytest

from pipeline.benchmark import variants as module
from pipeline.benchmark.variants import variants
from pipeline.system import devices


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    found: set[str] = set()
    monkeypatch.setattr(module, "available", found.__contains__)
    monkeypatch.setattr(devices, "obstacle", lambda: "no driver")
    return found


def reasons(device: str = "auto") -> dict[str, str]:
    return {v.name: v.why for v in variants(device) if v.status == "skipped"}


def test_what_cannot_run_is_skipped_with_the_reason(installed: set[str]) -> None:
    assert reasons() == {
        "cuda": "no driver",
        "intelex": "scikit-learn-intelex is not installed",
        "accel": "no driver",
    }


def test_the_strongest_cpu_line_that_is_there_takes_part(installed: set[str]) -> None:
    installed.add("sklearnex")
    assert "intelex" not in reasons()
    assert "intelex" not in reasons("cpu")


def test_gpu_rows_are_skipped_where_the_cpu_was_asked_for(installed: set[str]) -> None:
    assert reasons("cpu")["accel"] == reasons("cpu")["cuda"] == "device='cpu' was asked for"


def test_cuml_accel_takes_part_where_there_is_a_gpu_and_the_package(
    installed: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "obstacle", lambda: "")
    monkeypatch.setattr(devices, "choose", lambda device: None)
    assert reasons()["accel"] == "cuml is not installed (`make setup`)"
    installed.add("cuml")
    assert "accel" not in reasons()
    assert {v.name: v.device for v in variants("auto")}["accel"] == "cuda"
