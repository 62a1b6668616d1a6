from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from pipeline.system import hardware

GIB = 2**30
FILES = {
    "proc/cpuinfo": "processor\t: 0\nmodel name\t: Some Processor 9000\n",
    "proc/self/cgroup": "0::/\n",
}


def describe(root: Path, **files: str) -> hardware.Hardware:
    for name, text in {**FILES, **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return hardware.describe(root)


@pytest.mark.parametrize(
    ("cores", "files"),
    [
        (8, {}),
        (2, {"sys/fs/cgroup/cpu.max": "250000 100000\n"}),
        (8, {"sys/fs/cgroup/cpu.max": "max 100000\n"}),
        (1, {"sys/fs/cgroup/cpu.max": "10000 100000\n"}),
        (
            2,
            {
                "proc/self/cgroup": "0::/outer/inner\n",
                "sys/fs/cgroup/outer/inner/cpu.max": "max 100000\n",
                "sys/fs/cgroup/outer/cpu.max": "250000 100000\n",
            },
        ),
        (
            2,
            {
                "proc/self/cgroup": "3:cpu,cpuacct:/not/visible/here\n2:memory:/\n",
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "250000\n",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            },
        ),
        (
            8,
            {
                "proc/self/cgroup": "3:cpu:/\n",
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            },
        ),
    ],
    ids=["affinity", "container", "no quota", "tiny", "outer", "version 1", "1 without quota"],
)
def test_cores_are_those_of_the_affinity_within_the_quota(
    tmp_path, monkeypatch, cores: int, files: dict[str, str]
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    assert describe(tmp_path, **files).cores == cores


@pytest.mark.parametrize(
    ("memory", "free", "files"),
    [
        (4, 4, {"sys/fs/cgroup/memory.max": f"{4 * GIB}\n"}),
        (
            16,
            8,
            {
                "proc/self/cgroup": "2:memory:/\n",
                "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
            },
        ),
        (
            4,
            3,
            {
                "sys/fs/cgroup/memory.max": f"{4 * GIB}\n",
                "sys/fs/cgroup/memory.current": f"{3 * GIB}\n",
                "sys/fs/cgroup/memory.stat": f"active_file {GIB}\ninactive_file {GIB}\n",
            },
        ),
    ],
    ids=["limit", "limit above the memory", "caches are free"],
)
def test_memory_is_within_the_limit_of_the_group(
    tmp_path, monkeypatch, memory, free, files
) -> None:
    machine = SimpleNamespace(total=16 * GIB, available=8 * GIB)
    monkeypatch.setattr(hardware.psutil, "virtual_memory", lambda: machine)
    found = describe(tmp_path, **files)
    assert (found.memory_bytes, found.memory_free_bytes) == (memory * GIB, free * GIB)
