from __future__ import annotations

import pytest

from pipeline.benchmark.run import variants as module
from pipeline.benchmark.run.variants import variants
from pipeline.system import devices


def test_what_cannot_run_is_skipped_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def reasons(device: str = "auto") -> dict[str, str]:
        return {v.name: v.why for v in variants(device) if v.status == "skipped"}

    installed: set[str] = set()
    monkeypatch.setattr(module, "available", installed.__contains__)
    monkeypatch.setattr(devices, "obstacle", lambda: "no driver")
    none, asked = "no driver", "device='cpu' was requested"
    lacks = "scikit-learn-intelex is not installed"
    assert reasons() == {"cuda": none, "intelex": lacks, "accel": none}
    assert reasons("cpu") == {"cuda": asked, "intelex": lacks, "accel": asked}
    installed.add("sklearnex")
    assert "intelex" not in reasons() | reasons("cpu")
    monkeypatch.setattr(devices, "obstacle", lambda: "")
    monkeypatch.setattr(devices, "choose", lambda device: None)
    assert reasons() == {"accel": "cuml is not installed (run `make setup`)"}
    installed.add("cuml")
    assert reasons() == {}
