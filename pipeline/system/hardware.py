"""The processor and memory that this process may use, from the system's own files."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from pipeline.system.threads import processors


@dataclass(frozen=True)
class Hardware:
    """Where a program runs."""

    system: str
    """Kernel and processor family."""
    cpu: str
    """Name of the processor."""
    cores_present: int
    """Logical processors of the machine."""
    cores: int
    """Those that this process may use: its affinity and its control groups count."""
    memory_bytes: int
    """Memory that this process may use: its control groups count."""
    memory_free_bytes: int
    """The part of it that is free now, caches counted as free."""


def describe(root: Path = Path("/")) -> Hardware:
    """Return the present machine, whose ``proc`` and ``sys`` are in a folder."""
    total, free = memory(root)
    return Hardware(
        system=" ".join([platform.system(), platform.release(), platform.machine()]),
        cpu=_cpu(root),
        cores_present=os.cpu_count() or 1,
        cores=max(1, int(min(processors(), _cpu_quota(root)))),
        memory_bytes=total,
        memory_free_bytes=free,
    )


def memory(root: Path = Path("/")) -> tuple[int, int]:
    """Return the bytes of memory that this process may use, and those of them that are free."""
    all_of_it, limits = psutil.virtual_memory(), [*_group_limits(root)]
    return (
        min([all_of_it.total, *(limit for limit, _ in limits)]),
        min([all_of_it.available, *(max(0, limit - used) for limit, used in limits)]),
    )


def _cpu(root: Path) -> str:
    for line in _read(root / "proc/cpuinfo").splitlines():
        key, _, value = line.partition(":")
        if key.strip() in ("model name", "Model") and value.strip():
            return value.strip()
    return platform.processor() or platform.machine()


def _cpu_quota(root: Path) -> float:
    """Return the smallest quota of the process's control groups, in processors."""
    quotas = [float("inf")]
    for folder in _control_groups(root, "cpu"):
        text = _read(folder / "cpu.max") or " ".join(
            _read(folder / f"cpu.cfs_{name}_us").strip() for name in ("quota", "period")
        )
        words = text.split()
        if len(words) == 2 and words[0].isdecimal():
            quotas.append(int(words[0]) / int(words[1]))
    return min(quotas)


def _group_limits(root: Path) -> Iterator[tuple[int, int]]:
    """Yield the limit of each control group that has one, and what is used of it but for caches."""
    for folder in _control_groups(root, "memory"):
        limit = _read(folder / "memory.max") or _read(folder / "memory.limit_in_bytes")
        if limit.strip().isdecimal():
            used = _read(folder / "memory.current") or _read(folder / "memory.usage_in_bytes")
            stat = dict(line.split() for line in _read(folder / "memory.stat").splitlines())
            caches = sum(int(stat.get(f"{kind}_file", 0)) for kind in ("active", "inactive"))
            yield int(limit), max(0, int(used or 0) - caches)


def _control_groups(root: Path, controller: str) -> Iterator[Path]:
    """Yield the folders of the groups this process is in, of version 1 or 2."""
    for line in _read(root / "proc/self/cgroup").splitlines():
        _, names, path = line.split(":", 2)
        if names and controller not in names.split(","):
            continue
        top = root / "sys/fs/cgroup" / (controller if names else "")
        group = top / path.strip("/")
        yield from (folder for folder in (group, *group.parents) if folder.is_relative_to(top))


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except OSError:
        return ""
