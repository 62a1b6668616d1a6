"""The driver is played by a command of the name `nvidia-smi`."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.system import gpu
from pipeline.system.gpu import probe

SCRIPT = Path(gpu.__file__)
H200 = "580.95.05, NVIDIA H200, 143771, 9.0"
Driver = Callable[..., None]


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Driver:
    """Put a command in the place of `nvidia-smi` that prints some rows, or fails."""
    monkeypatch.setattr(gpu, "unsupported", lambda *host: "")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    def install(*rows: str, code: int = 0) -> None:
        answer = "\n".join(rows)
        command = tmp_path / "nvidia-smi"
        asked = f"case $1 in --query-gpu=*) cat <<'END'\n{answer}\nEND\n;; esac"
        command.write_text(f"#!/bin/sh\n{asked}\nexit {code}\n")
        command.chmod(0o755)

    return install


def row(driver: str = "580.95.05", capability: str = "9.0", name: str = "A GPU") -> str:
    return f"{driver}, {name}, 81920, {capability}"


def test_all_that_the_driver_says_is_read(driver: Driver) -> None:
    driver(H200, row(capability="8.6"))
    devices = (
        gpu.Device("NVIDIA H200", 143771 * 2**20, (9, 0)),
        gpu.Device("A GPU", 80 * 2**30, (8, 6)),
    )
    assert probe() == gpu.Probe(driver="580.95.05", devices=devices)


@pytest.mark.parametrize(
    ("rows", "extra"),
    [
        ([row("580.95.05", "9.0")], "cu13"),
        ([row("580.95.05", "7.5")], "cu13"),
        ([row("610.1", "12.0")], "cu13"),
        ([row("580.95.05", "7.0")], "cu12"),
        ([row("579.99.99", "9.0")], "cu12"),
        ([row("535.54.03", "8.0")], "cu12"),
        ([row("534.99", "8.0")], "cpu"),
        ([row("580.95.05", "6.1")], "cpu"),
        ([row("no number", "9.0")], "cpu"),
        ([row(capability="6.1"), row(capability="9.0")], "cu13"),
        ([row(capability="9.0"), row(capability="7.0")], "cu12"),
        ([row(capability="6.1"), row(capability="3.5")], "cpu"),
    ],
)
def test_driver_and_the_oldest_gpu_that_rapids_serves_choose_the_extra(
    driver: Driver, rows: list[str], extra: str
) -> None:
    driver(*rows)
    assert gpu.choose_extra(probe(), {})[0] == extra


@pytest.mark.parametrize(
    ("said", "code", "why"),
    [
        (row("470.82.01"), 0, "driver 470.82.01 is older than 535; update it"),
        ("Failed to initialize NVML: mismatch", 18, "reports no GPU: Failed to initialize NVML"),
        ("", 18, "exit status 18"),
        ("No devices were found", 0, "No devices were found"),
    ],
)
def test_a_driver_that_does_not_serve_says_why(
    driver: Driver, said: str, code: int, why: str
) -> None:
    driver(said, code=code)
    extra, found = gpu.choose_extra(probe(), {})
    assert (extra, why in found) == ("cpu", True)


@pytest.mark.parametrize(
    ("host", "why"),
    [
        (("darwin", "arm64", ""), "needs Linux"),
        (("linux", "riscv64", "glibc 2.36"), "riscv64"),
        (("linux", "x86_64", "glibc 2.27"), "glibc 2.28 or newer; this machine has glibc 2.27"),
        (("linux", "x86_64", ""), "another C library"),
    ],
)
def test_a_machine_without_packages_is_not_even_asked(
    monkeypatch: pytest.MonkeyPatch, host: tuple[str, str, str], why: str
) -> None:
    system, machine, libc = host
    monkeypatch.setattr(gpu.sys, "platform", system)
    monkeypatch.setattr(gpu.platform, "machine", lambda: machine)
    monkeypatch.setattr(gpu.platform, "libc_ver", lambda: libc.split(" "))
    monkeypatch.setattr(gpu.shutil, "which", lambda name: pytest.fail("asked"))
    assert why in probe().why_not


@pytest.mark.parametrize(
    ("value", "extra"),
    [
        ("", "cpu"),
        ("  ", "cpu"),
        ("-1", "cpu"),
        ("-1,0", "cpu"),
        ("1,0", "cu13"),
        ("GPU-8", "cu13"),
    ],
)
def test_gpus_can_be_hidden(driver: Driver, value: str, extra: str) -> None:
    driver(H200)
    chosen, why = gpu.choose_extra(probe(), {"CUDA_VISIBLE_DEVICES": value})
    assert chosen == extra
    assert ("CUDA_VISIBLE_DEVICES" in why) == (extra == "cpu")


@pytest.mark.skipif(
    gpu.unsupported(sys.platform, platform.machine(), " ".join(platform.libc_ver())) != "",
    reason="RAPIDS has no packages here",
)
def test_the_script_explains_what_it_read(driver: Driver) -> None:
    driver(H200, row(name="Second"))
    hidden = ("GPU", "CUDA_VISIBLE_DEVICES")
    done = subprocess.run(
        [sys.executable, str(SCRIPT)],
        env={name: value for name, value in os.environ.items() if name not in hidden},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "cu13\n")
    assert done.stderr.splitlines() == [
        "driver 580.95.05",
        "GPU 0: NVIDIA H200, 140.4 GiB, compute capability 9.0",
        "GPU 1: Second, 80.0 GiB, compute capability 9.0",
        "[gpu] cu13: driver 580.95.05, compute capability 9.0",
    ]
