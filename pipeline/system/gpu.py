"""Which GPUs this machine has, and which set of packages fits it.

Runs before anything is installed, so it knows the standard library only and
asks the driver through its own command, `nvidia-smi`::

    $ python3 pipeline/system/gpu.py
    cpu
    [gpu] cpu: no NVIDIA driver (nvidia-smi is missing)

Only the result, ``cpu``, ``cu12`` or ``cu13``, goes to standard output.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

EXTRAS = ("cpu", "cu12", "cu13")
OLDEST_GLIBC = (2, 28)
OLDEST_DRIVER = 535
OLDEST_CAPABILITY = (7, 0)
CUDA_13_DRIVER = 580
CUDA_13_CAPABILITY = (7, 5)
MACHINES = ("x86_64", "aarch64")

_FIELDS = ("driver_version", "name", "memory.total", "compute_cap")
_ON_WSL = "/usr/lib/wsl/lib/nvidia-smi"
_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Device:
    """One GPU as its driver describes it.

    `memory_bytes` is None if the driver does not report it (unified memory).
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

    `why_not` says why there is no GPU, and `skipped` names those that could not be read.
    What is unknown is empty.
    """

    driver: str = ""
    devices: tuple[Device, ...] = ()
    why_not: str = ""
    skipped: tuple[str, ...] = ()


def probe() -> Probe:
    """Ask the NVIDIA driver, by `nvidia-smi`, for its version and its GPUs.

    Whatever goes wrong is not raised but said in `why_not`. A process asks once.
    """
    libc = " ".join(platform.libc_ver()).strip()
    why_not = unsupported(sys.platform, platform.machine(), libc)
    path = "" if why_not else shutil.which("nvidia-smi") or shutil.which(_ON_WSL)
    if not path:
        return Probe(why_not=why_not or "no NVIDIA driver (nvidia-smi is missing)")
    return _ask(path)


@cache
def _ask(path: str) -> Probe:
    command = [path, f"--query-gpu={','.join(_FIELDS)}", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Probe(why_not=f"the NVIDIA driver reports no GPU: {error}")
    rows = [[cell.strip() for cell in line.split(",")] for line in done.stdout.splitlines()]
    rows = [row for row in rows if len(row) == len(_FIELDS)]
    if done.returncode or not rows:
        said = " ".join((done.stdout + done.stderr).split()) or f"exit status {done.returncode}"
        return Probe(why_not=f"the NVIDIA driver reports no GPU: {said}")
    return _read(rows)


def _read(rows: Sequence[Sequence[str]]) -> Probe:
    devices, skipped = [], []
    for index, (_, name, memory, capability) in enumerate(rows):
        version = _numbers(capability)
        if len(version) == 2:
            size = int(memory) * 2**20 if memory.isdecimal() else None
            devices.append(Device(name, size, (version[0], version[1])))
        else:
            # Lost GPUs, and those that belong to other users.
            skipped.append(f"GPU {index}: {name}: compute capability {capability}")
    why_not = "" if devices else "; ".join(["no GPU can be read", *skipped])
    drivers = [row[0] for row in rows if _numbers(row[0])]
    return Probe((drivers or [rows[0][0]])[0], tuple(devices), why_not, tuple(skipped))


def unsupported(system: str, machine: str, libc: str) -> str:
    """Return why RAPIDS has no packages for a machine, or an empty string.

    >>> unsupported("linux", "x86_64", "glibc 2.17")
    'RAPIDS needs glibc 2.28 or newer; this machine has glibc 2.17'
    """
    if system != "linux":
        return f"RAPIDS needs Linux (on Windows, WSL2); this machine runs {system}"
    if machine not in MACHINES:
        return f"RAPIDS has no packages for the processor {machine}"
    name, _, version = libc.partition(" ")
    if name != "glibc" or _numbers(version)[:2] < OLDEST_GLIBC:
        here = libc or "another C library"
        return f"RAPIDS needs glibc {_dotted(OLDEST_GLIBC)} or newer; this machine has {here}"
    return ""


def why_unusable(probe: Probe, environ: Mapping[str, str]) -> str:
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
        return f"{probe.devices[0]} is below {_dotted(OLDEST_CAPABILITY)}, the minimum"
    if _numbers(probe.driver) < (OLDEST_DRIVER,):
        return f"driver {probe.driver} is older than {OLDEST_DRIVER}; update it"
    return ""


def choose_extra(probe: Probe, environ: Mapping[str, str]) -> tuple[str, str]:
    """Return the extra of this project that fits the machine, and why.

    GPUs too old for RAPIDS are ignored; the oldest of the others decides. ``GPU=cpu|cu12|cu13`` in
    `environ` overrides everything; another value is a `ValueError`.

    >>> a100 = Device("A100", 80 * 2**30, (8, 0))
    >>> choose_extra(Probe(driver="570.86.15", devices=(a100,)), {})
    ('cu12', 'driver 570.86.15, compute capability 8.0')
    """
    asked = environ.get("GPU") or "auto"
    if asked in EXTRAS:
        return asked, f"set by GPU={asked}"
    if asked != "auto":
        raise ValueError(f"GPU={asked} is unknown; use one of auto, {', '.join(EXTRAS)}")
    why_not = why_unusable(probe, environ)
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


def describe_probe(probe: Probe) -> str:
    """Return what the driver said, a line for each thing; empty where there is none."""
    lines = [f"driver {probe.driver}"] if probe.driver else []
    lines += [f"GPU {index}: {device}" for index, device in enumerate(probe.devices)]
    return "\n".join([*lines, *probe.skipped])


def print_extra() -> int:
    """Print the extra on standard output, and what it rests on on standard error."""
    found = probe()
    try:
        extra, why = choose_extra(found, os.environ)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    print(extra)
    print(
        *filter(None, [describe_probe(found)]), f"[gpu] {extra}: {why}", sep="\n", file=sys.stderr
    )
    return 0


if __name__ == "__main__":
    sys.exit(print_extra())
