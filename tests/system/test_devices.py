from __future__ import annotations

import pytest

from pipeline.errors import ConfigError, DeviceUnavailable
from pipeline.system import devices, gpu
from pipeline.system.devices import Choice, choose, obstacle


class Probe:
    """What the driver would tell."""

    def __init__(self, *names: str) -> None:
        self.devices = names


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "probe", Probe)
    monkeypatch.setattr(gpu, "why_unusable", lambda probe, environ: "no NVIDIA driver")


@pytest.fixture
def two_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "probe", lambda: Probe("GPU one", "GPU two"))
    monkeypatch.setattr(gpu, "why_unusable", lambda probe, environ: "")
    monkeypatch.setattr(devices, "available", lambda package: True)


@pytest.mark.parametrize("device", ["gpu", "CUDA", "cuda:0", "Nvidia"])
def test_unknown_devices_are_errors_that_name_the_close_one(device: str) -> None:
    with pytest.raises(ConfigError, match=f"{device}'; did you mean 'cuda'. Choose from: auto, "):
        choose(device)


@pytest.mark.usefixtures("no_gpu")
def test_without_a_gpu_auto_is_the_cpu_and_cuda_an_error_that_says_why() -> None:
    assert choose("auto") == Choice("cpu", "no usable GPU: no NVIDIA driver")
    with pytest.raises(DeviceUnavailable, match='no NVIDIA driver; use device="auto"') as caught:
        choose("cuda")
    assert caught.value.exit_code == 69


@pytest.mark.usefixtures("two_gpus")
@pytest.mark.parametrize("device", ["auto", "cuda"])
def test_a_usable_gpu_is_taken_and_named(device: str) -> None:
    assert choose(device) == Choice("cuda", "GPU one; GPU two")


@pytest.mark.usefixtures("two_gpus")
def test_missing_packages_stand_in_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "available", lambda package: package == "cupy")
    assert obstacle() == "cudf, cuml not installed (run `make setup`)"
    assert choose("auto").name == "cpu"
