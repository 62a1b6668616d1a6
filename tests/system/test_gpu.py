"""The driver is played by a fake: in Python for the rules, compiled from C for the calls."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.system import gpu

LINUX = gpu.Host("linux", "x86_64", "glibc 2.36")
SCRIPT = Path(gpu.__file__)
GIB = 2**30


class FakeNvml:
    """Answers like NVML; `codes` makes calls fail and `missing` takes them away."""

    def __init__(
        self,
        capabilities: tuple[tuple[int, int], ...] = ((9, 0),),
        driver: str = "580.95.05",
        codes: dict[str, int] | None = None,
        missing: tuple[str, ...] = (),
    ) -> None:
        self.capabilities = capabilities
        self.driver = driver
        self.codes = codes or {}
        self.missing = missing

    def __getattr__(self, name: str):
        if name in self.missing:
            raise AttributeError(name)

        def call(*args: object) -> int:
            code = self.codes.get(name, 0)
            return code or getattr(self, f"_{name}")(*args) or 0

        return call

    def _nvmlInit_v2(self) -> None: ...  # noqa: N802

    def _nvmlSystemGetDriverVersion(self, buffer, _size) -> None:  # noqa: N802
        buffer.value = self.driver.encode()

    def _nvmlSystemGetCudaDriverVersion_v2(self, version) -> None:  # noqa: N802
        version._obj.value = 13010

    def _nvmlDeviceGetCount_v2(self, count) -> None:  # noqa: N802
        count._obj.value = len(self.capabilities)

    def _nvmlDeviceGetHandleByIndex_v2(self, index, handle) -> int:  # noqa: N802
        handle._obj.value = index.value + 1
        return self.codes.get(f"device {index.value}", 0)

    def _nvmlDeviceGetName(self, handle, buffer, _size) -> None:  # noqa: N802
        buffer.value = b"Device %d" % handle.value

    def _nvmlDeviceGetMemoryInfo(self, handle, memory) -> None:  # noqa: N802
        memory._obj.total = 80 * GIB

    def _nvmlDeviceGetCudaComputeCapability(self, handle, major, minor) -> None:  # noqa: N802
        major._obj.value, minor._obj.value = self.capabilities[handle.value - 1]


def probe(**fake: object) -> gpu.Probe:
    return gpu.probe(lambda _: FakeNvml(**fake), LINUX)


def test_all_that_the_driver_says_is_read() -> None:
    found = probe(capabilities=((9, 0), (8, 6)))
    assert found == gpu.Probe(
        driver="580.95.05",
        cuda="13.1",
        devices=(
            gpu.Device("Device 1", 80 * GIB, (9, 0)),
            gpu.Device("Device 2", 80 * GIB, (8, 6)),
        ),
    )


@pytest.mark.parametrize(
    ("driver", "capability", "extra"),
    [
        ("580.95.05", (9, 0), "cu13"),
        ("580.95.05", (7, 5), "cu13"),
        ("610.1", (12, 0), "cu13"),
        ("580.95.05", (7, 0), "cu12"),
        ("579.99.99", (9, 0), "cu12"),
        ("535.54.03", (8, 0), "cu12"),
        ("534.99", (8, 0), "cpu"),
        ("470.82.01", (8, 0), "cpu"),
        ("580.95.05", (6, 1), "cpu"),
        ("no number", (9, 0), "cpu"),
    ],
)
def test_driver_and_compute_capability_choose_the_extra(driver, capability, extra) -> None:
    found = probe(driver=driver, capabilities=(capability,))
    assert gpu.choose_extra(found, {})[0] == extra


@pytest.mark.parametrize(
    ("capabilities", "extra"),
    [(((6, 1), (9, 0)), "cu13"), (((9, 0), (7, 0)), "cu12"), (((6, 1), (3, 5)), "cpu")],
)
def test_the_oldest_gpu_that_rapids_serves_decides(capabilities, extra) -> None:
    assert gpu.choose_extra(probe(capabilities=capabilities), {})[0] == extra


def test_an_old_driver_is_named_with_the_one_needed() -> None:
    extra, why = gpu.choose_extra(probe(driver="470.82.01"), {})
    assert (extra, why) == ("cpu", "driver 470.82.01 is older than 535; update it")


@pytest.mark.parametrize(
    ("code", "meaning"), [(9, "not loaded"), (18, "versions differ"), (999, "unknown")]
)
def test_a_failed_start_of_nvml_is_told_with_code_and_meaning(code, meaning) -> None:
    extra, why = gpu.choose_extra(probe(codes={"nvmlInit_v2": code}), {})
    assert extra == "cpu"
    assert f"nvmlInit_v2 returned {code}" in why
    assert meaning in why


@pytest.mark.parametrize("name", ["nvmlSystemGetDriverVersion", "nvmlDeviceGetCount_v2"])
@pytest.mark.parametrize("how", ["code", "missing"])
def test_a_call_without_which_nothing_is_known_makes_the_gpu_unusable(name, how) -> None:
    fake = {"codes": {name: 13}} if how == "code" else {"missing": (name,)}
    found = probe(**fake)
    assert name in found.why_not
    assert gpu.choose_extra(found, {})[0] == "cpu"


@pytest.mark.parametrize("how", [{"codes": {"nvmlDeviceGetMemoryInfo": 3}}, {}])
def test_memory_the_driver_does_not_tell_is_unknown_not_zero(how) -> None:
    device = probe(**(how or {"missing": ("nvmlDeviceGetMemoryInfo",)})).devices[0]
    assert device.memory_bytes is None
    assert "memory unknown" in str(device)


def test_a_driver_too_old_to_know_its_cuda_version_is_still_read() -> None:
    found = probe(missing=("nvmlSystemGetCudaDriverVersion_v2",))
    assert (found.cuda, found.why_not, len(found.devices)) == ("", "", 1)


def test_a_gpu_of_somebody_else_is_passed_over_and_told() -> None:
    found = probe(capabilities=((9, 0), (8, 0)), codes={"device 0": 4})
    assert [device.name for device in found.devices] == ["Device 2"]
    assert "no permission" in found.skipped[0]
    assert "no permission" in gpu.explain(found)
    assert gpu.choose_extra(found, {})[0] == "cu13"


def test_a_driver_without_a_gpu_that_can_be_read_gives_the_reasons() -> None:
    assert probe(capabilities=()).why_not == "the driver shows no GPU"
    assert "the GPU is lost" in probe(codes={"device 0": 15}).why_not


def test_without_the_library_there_is_no_driver() -> None:
    def load(name: str) -> None:
        raise OSError(name)

    assert "libnvidia-ml.so.1 was not found" in gpu.probe(load, LINUX).why_not


@pytest.mark.parametrize(
    ("host", "why"),
    [
        (("darwin", "arm64", ""), "needs Linux"),
        (("linux", "riscv64", "glibc 2.36"), "riscv64"),
        (("linux", "x86_64", "glibc 2.27"), "glibc 2.28 or newer, found glibc 2.27"),
        (("linux", "x86_64", ""), "another C library"),
    ],
)
def test_a_machine_without_packages_is_not_even_asked(host, why) -> None:
    def load(name: str) -> None:
        raise AssertionError(f"{name} was opened")

    assert why in gpu.probe(load, gpu.Host(*host)).why_not


def test_the_present_machine_is_described() -> None:
    host = gpu.this_host()
    assert host.system == sys.platform
    assert host.machine


@pytest.mark.parametrize("value", ["", "  ", "-1", "-1,0"])
def test_hidden_gpus_are_not_used(value) -> None:
    extra, why = gpu.choose_extra(probe(), {"CUDA_VISIBLE_DEVICES": value})
    assert extra == "cpu"
    assert "CUDA_VISIBLE_DEVICES" in why


@pytest.mark.parametrize("value", ["0", "1,0", "GPU-8a3b"])
def test_a_choice_of_gpus_does_not_hide_them(value) -> None:
    assert gpu.choose_extra(probe(), {"CUDA_VISIBLE_DEVICES": value})[0] == "cu13"


@pytest.mark.parametrize("extra", gpu.EXTRAS)
def test_the_variable_overrides_what_was_found(extra) -> None:
    assert gpu.choose_extra(probe(), {"GPU": extra}) == (extra, f"set by GPU={extra}")
    assert gpu.choose_extra(gpu.Probe(why_not="none"), {"GPU": extra})[0] == extra


@pytest.mark.parametrize("value", ["", "auto"])
def test_the_variable_may_leave_the_choice_open(value) -> None:
    assert gpu.choose_extra(probe(), {"GPU": value})[0] == "cu13"


def test_another_value_of_the_variable_is_an_error_that_names_the_values() -> None:
    with pytest.raises(ValueError, match=r"GPU=cu14.*auto, cpu, cu12, cu13"):
        gpu.choose_extra(probe(), {"GPU": "cu14"})


def run_script(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if k not in ("GPU", "CUDA_VISIBLE_DEVICES")}
    command = [sys.executable, str(SCRIPT), *arguments]
    return subprocess.run(
        command, env={**kept, **environ}, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("arguments", "environ"), [((), {"GPU": "nonsense"}), (("--typo",), {"GPU": "cpu"})]
)
def test_the_script_ends_with_2_and_no_answer_when_misused(arguments, environ) -> None:
    done = run_script(*arguments, **environ)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr


FAKE_C = r"""
#include <stdlib.h>
#include <string.h>
static const char *env(const char *name, const char *other)
{ const char *value = getenv(name); return value ? value : other; }
int nvmlInit_v2(void) { return atoi(env("FAKE_INIT", "0")); }
int nvmlSystemGetDriverVersion(char *text, unsigned size)
{ strncpy(text, env("FAKE_DRIVER", "580.95.05"), size); return 0; }
int nvmlSystemGetCudaDriverVersion_v2(int *version) { *version = 13000; return 0; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = 2; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{ *device = (void *)(0x7f0000000001UL + index); return 0; }
int nvmlDeviceGetName(void *device, char *text, unsigned size)
{ strncpy(text, device == (void *)0x7f0000000001UL ? "First" : "Second", size); return 0; }
struct memory { unsigned long long total, free, used; };
int nvmlDeviceGetMemoryInfo(void *device, struct memory *memory)
{ memory->total = 150754820096ULL; memory->free = memory->used = 0; return 0; }
int nvmlDeviceGetCudaComputeCapability(void *device, int *major, int *minor)
{ *major = atoi(env("FAKE_MAJOR", "9")); *minor = 0; return 0; }
"""


@pytest.fixture(scope="module")
def fake_library(tmp_path_factory) -> str:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler to build the fake driver library with")
    folder = tmp_path_factory.mktemp("nvml")
    (folder / "fake.c").write_text(FAKE_C)
    library = folder / "libnvidia-ml.so.1"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-o", str(library), str(folder / "fake.c")], check=True
    )
    return str(folder)


@pytest.mark.skipif(gpu.unsupported(gpu.this_host()) != "", reason="RAPIDS has no packages here")
@pytest.mark.parametrize(
    ("environ", "extra"),
    [
        ({}, "cu13"),
        ({"FAKE_DRIVER": "550.54.14"}, "cu12"),
        ({"FAKE_MAJOR": "7"}, "cu12"),
        ({"FAKE_MAJOR": "6"}, "cpu"),
        ({"FAKE_INIT": "18"}, "cpu"),
        ({"CUDA_VISIBLE_DEVICES": "-1"}, "cpu"),
        ({"GPU": "cu12"}, "cu12"),
    ],
)
def test_the_script_reads_a_real_library(fake_library, environ, extra) -> None:
    done = run_script(LD_LIBRARY_PATH=fake_library, **environ)
    assert (done.returncode, done.stdout) == (0, f"{extra}\n")
    assert done.stderr.startswith(f"[gpu] {extra}: ")


@pytest.mark.skipif(gpu.unsupported(gpu.this_host()) != "", reason="RAPIDS has no packages here")
def test_the_script_explains_what_it_read(fake_library) -> None:
    lines = run_script("--explain", LD_LIBRARY_PATH=fake_library).stderr.splitlines()
    assert lines == [
        "driver 580.95.05, CUDA 13.0",
        "GPU 0: First, 140.4 GiB, compute capability 9.0",
        "GPU 1: Second, 140.4 GiB, compute capability 9.0",
        "[gpu] cu13: driver 580.95.05, compute capability 9.0",
    ]
