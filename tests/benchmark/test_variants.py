from __future__ import annotations

import pytest

from pipeline.benchmark.run import variants as module
from pipeline.benchmark.run.variants import variants
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
    none, asked = "no driver", "device='cpu' was asked for"
    lacks = "scikit-learn-intelex is not installed"
    assert reasons() == {"cuda": none, "intelex": lacks, "accel": none}
    assert reasons("cpu") == {"cuda": asked, "intelex": lacks, "accel": asked}
    installed.add("sklearnex")
    assert "intelex" not in reasons() | reasons("cpu")


def test_cuml_accel_takes_part_where_there_is_a_gpu_and_the_package(
    installed: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "obstacle", lambda: "")
    monkeypatch.setattr(devices, "choose", lambda device: None)
    assert reasons()["accel"] == "cuml is not installed (`make setup`)"
    installed.add("cuml")
    assert "accel" not in reasons()
    assert {v.name: v.device for v in variants("auto")}["accel"] == "cuda"
