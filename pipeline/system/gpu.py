"""Which GPUs this machine has, and which set of packages fits it.

Runs before anything is installed, so it knows the standard library only and
asks the driver through its own library, NVML::

    $ python3 pipeline/system/gpu.py
    cpu
    [gpu] cpu: no NVIDIA driver (libnvidia-ml.so.1 was not found)

The answer, ``cpu``, ``cu12`` or ``cu13``, is the only thing on standard output.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

EXTRAS = ("cpu", "cu12", "cu13")
LIBRARY = "libnvidia-ml.so.1"
OLDEST_GLIBC = (2, 28)
OLDEST_DRIVER = 535
OLDEST_CAPABILITY = (7, 0)
CUDA_13_DRIVER = 580
CUDA_13_CAPABILITY = (7, 5)
MACHINES = ("x86_64", "aarch64")

_TEXT_BYTES = 96
_MEANING = {
    3: "not supported",
    4: "no permission",
    9: "the driver is not loaded",
    15: "the GPU is lost; reboot",
    17: "blocked by the operating system",
    18: "driver and library versions differ; reboot after a driver update",
}


@dataclass(frozen=True)
class Device:
    """One GPU as its driver describes it.

    `memory_bytes` is None where the driver does not tell (unified memory).
    """

    name: str
    memory_bytes: int | None
    compute_capability: tuple[int, int]

    def __str__(self) -> str:
        memory = f"{self.memory_bytes / 2**30:.1f} GiB" if self.memory_bytes else "memory unknown"
        return f"{self.name}, {memory}, compute capability {_dotted(self.compute_capability)}"


@dataclass(frozen=True)
class Probe:
    """What the driver said.

    `cuda` is the newest CUDA version the driver can serve, ``"13.0"``; `why_not` says
    why there is no GPU, and `skipped` names those that could not be read. What is
    unknown is empty.
    """

    driver: str = ""
    cuda: str = ""
    devices: tuple[Device, ...] = ()
    why_not: str = ""
    skipped: tuple[str, ...] = ()


class Host(NamedTuple):
    """The parts of a machine that decide which packages exist for it."""

    system: str
    machine: str
    libc: str


class _NvmlError(Exception):
    """The text names the call, the code and its meaning."""


class _Memory(ctypes.Structure):
    """nvmlMemory_t."""

    _fields_ = tuple((name, ctypes.c_ulonglong) for name in ("total", "free", "used"))


class _Nvml:
    """NVML with every return code checked."""

    def __init__(self, library: Any) -> None:
        self._library = library

    def call(self, name: str, *args: Any) -> None:
        try:
            function = getattr(self._library, name)
        except AttributeError as error:
            raise _NvmlError(f"{name} is missing from {LIBRARY}; update the driver") from error
        code = function(*args)
        if code:
            raise _NvmlError(f"{name} returned {code} ({_MEANING.get(code, 'unknown')})")

    def text(self, name: str, *args: Any) -> str:
        buffer = ctypes.create_string_buffer(_TEXT_BYTES)
        self.call(name, *args, buffer, ctypes.c_uint(_TEXT_BYTES))
        return buffer.value.decode(errors="replace")

    def value(self, kind: Any, name: str, *args: Any) -> Any:
        result = kind()
        self.call(name, *args, ctypes.byref(result))
        return result


def probe(load: Callable[[str], Any] = ctypes.CDLL, host: Host | None = None) -> Probe:
    """Ask the NVIDIA driver for its version and its GPUs.

    Whatever goes wrong is not raised but said in `why_not`.

    Parameters
    ----------
    load : callable, default ctypes.CDLL
        Opens a shared library by name or raises OSError.
    host : Host, default this_host()
        The machine.
    """
    why_not = unsupported(host or this_host())
    if why_not:
        return Probe(why_not=why_not)
    try:
        library = load(LIBRARY)
    except OSError:
        return Probe(why_not=f"no NVIDIA driver ({LIBRARY} was not found)")
    try:
        return _read(_Nvml(library))
    except _NvmlError as error:
        return Probe(why_not=f"the NVIDIA driver does not answer: {error}")


def _read(nvml: _Nvml) -> Probe:
    nvml.call("nvmlInit_v2")
    driver = nvml.text("nvmlSystemGetDriverVersion")
    count = nvml.value(ctypes.c_uint, "nvmlDeviceGetCount_v2").value
    devices, skipped = [], []
    for index in range(count):
        try:
            devices.append(_device(nvml, index))
        except _NvmlError as error:
            # The count includes lost GPUs and those that belong to other users.
            skipped.append(f"GPU {index}: {error}")
    why_not = "" if devices else "; ".join(["the driver shows no GPU", *skipped])
    return Probe(driver, _cuda_version(nvml), tuple(devices), why_not, tuple(skipped))


def _device(nvml: _Nvml, index: int) -> Device:
    handle = nvml.value(ctypes.c_void_p, "nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(index))
    major, minor = ctypes.c_int(), ctypes.c_int()
    outputs = (ctypes.byref(major), ctypes.byref(minor))
    nvml.call("nvmlDeviceGetCudaComputeCapability", handle, *outputs)
    name = nvml.text("nvmlDeviceGetName", handle)
    return Device(name, _memory_bytes(nvml, handle), (major.value, minor.value))


def _memory_bytes(nvml: _Nvml, handle: ctypes.c_void_p) -> int | None:
    try:
        return int(nvml.value(_Memory, "nvmlDeviceGetMemoryInfo", handle).total)
    except _NvmlError:
        return None


def _cuda_version(nvml: _Nvml) -> str:
    try:
        version = nvml.value(ctypes.c_int, "nvmlSystemGetCudaDriverVersion_v2").value
    except _NvmlError:
        return ""
    return f"{version // 1000}.{version % 1000 // 10}"


def this_host() -> Host:
    """Return the machine that this process runs on."""
    try:
        libc = os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (AttributeError, OSError, ValueError):
        libc = ""
    return Host(sys.platform, platform.machine(), libc)


def unsupported(host: Host) -> str:
    """Return why RAPIDS has no packages for a machine, or an empty string.

    >>> unsupported(Host("linux", "x86_64", "glibc 2.36"))
    ''
    >>> unsupported(Host("linux", "x86_64", "glibc 2.17"))
    'RAPIDS needs glibc 2.28 or newer, found glibc 2.17'
    """
    if host.system != "linux":
        return f"RAPIDS needs Linux (on Windows: WSL2), found {host.system}"
    if host.machine not in MACHINES:
        return f"RAPIDS has no packages for the processor {host.machine}"
    name, _, version = host.libc.partition(" ")
    if name != "glibc" or _numbers(version)[:2] < OLDEST_GLIBC:
        found = host.libc or "another C library"
        return f"RAPIDS needs glibc {_dotted(OLDEST_GLIBC)} or newer, found {found}"
    return ""


def obstacle(probe: Probe, environ: Mapping[str, str]) -> str:
    """Return why no GPU of this machine can be used, or an empty string.

    An empty or negative ``CUDA_VISIBLE_DEVICES`` in `environ` hides them all.
    """
    if probe.why_not:
        return probe.why_not
    visible = environ.get("CUDA_VISIBLE_DEVICES")
    # CUDA reads the list up to the first entry that is not a device.
    if visible is not None and (not visible.strip() or visible.strip().startswith("-")):
        return f"the GPUs are hidden by CUDA_VISIBLE_DEVICES={visible!r}"
    if not _capabilities(probe):
        return f"{probe.devices[0]} is below {_dotted(OLDEST_CAPABILITY)}"
    if _numbers(probe.driver) < (OLDEST_DRIVER,):
        return f"driver {probe.driver} is older than {OLDEST_DRIVER}; update it"
    return ""


def choose_extra(probe: Probe, environ: Mapping[str, str]) -> tuple[str, str]:
    """Return the extra of this project that fits the machine, and why.

    GPUs too old for RAPIDS are passed over; the oldest of the others decides.

    ``GPU=cpu|cu12|cu13`` in `environ` overrides everything.

    Raises
    ------
    ValueError
        ``GPU`` has another value.

    Examples
    --------
    >>> a100 = Device("A100", 80 * 2**30, (8, 0))
    >>> choose_extra(Probe(driver="570.86.15", devices=(a100,)), {})
    ('cu12', 'driver 570.86.15, compute capability 8.0')
    """
    asked = environ.get("GPU") or "auto"
    if asked in EXTRAS:
        return asked, f"set by GPU={asked}"
    if asked != "auto":
        raise ValueError(f"GPU={asked} is unknown; use one of auto, {', '.join(EXTRAS)}")
    why_not = obstacle(probe, environ)
    if why_not:
        return "cpu", why_not
    oldest = min(_capabilities(probe))
    new = _numbers(probe.driver) >= (CUDA_13_DRIVER,) and oldest >= CUDA_13_CAPABILITY
    why = f"driver {probe.driver}, compute capability {_dotted(oldest)}"
    return ("cu13" if new else "cu12"), why


def _capabilities(probe: Probe) -> list[tuple[int, int]]:
    every = (device.compute_capability for device in probe.devices)
    return [capability for capability in every if capability >= OLDEST_CAPABILITY]


def _numbers(version: str) -> tuple[int, ...]:
    parts = version.split(".")
    return tuple(int(part) for part in parts) if all(map(str.isdecimal, parts)) else ()


def _dotted(numbers: tuple[int, ...]) -> str:
    return ".".join(map(str, numbers))


def explain(probe: Probe) -> str:
    """Return what the driver said, a line for each thing; empty where there is none."""
    lines = [f"driver {probe.driver}, CUDA {probe.cuda or 'unknown'}"] if probe.driver else []
    lines += [f"GPU {index}: {device}" for index, device in enumerate(probe.devices)]
    return "\n".join([*lines, *probe.skipped])


def main(arguments: Sequence[str]) -> int:
    """Print the extra on standard output and the reason on standard error."""
    if any(argument != "--explain" for argument in arguments):
        print("usage: python3 pipeline/system/gpu.py [--explain]", file=sys.stderr)
        return 2
    found = probe()
    try:
        extra, why = choose_extra(found, os.environ)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    print(extra)
    details = [explain(found)] if arguments and found.driver else []
    print(*details, f"[gpu] {extra}: {why}", sep="\n", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
