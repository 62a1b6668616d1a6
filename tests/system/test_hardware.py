from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from pipeline.system import hardware

GIB = 2**30
FILES = {
    "proc/cpuinfo": "processor\t: 0\nmodel name\t: Some Processor 9000\n",
    "proc/meminfo": "MemTotal: 16777216 kB\nMemAvailable: 8388608 kB\nHugePages_Total: 0\n",
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
def test_memory_is_within_the_limit_of_the_group(tmp_path, memory, free, files) -> None:
    found = describe(tmp_path, **files)
    assert (found.memory_bytes, found.memory_free_bytes) == (memory * GIB, free * GIB)


def test_a_system_without_such_files_is_described_all_the_same(tmp_path) -> None:
    found = hardware.describe(tmp_path)
    assert (found.memory_bytes, found.memory_free_bytes) == (0, 0)
    assert found.cores >= 1
    assert found.system


@pytest.mark.parametrize("kind", ["RLIMIT_DATA", "RLIMIT_AS"])
def test_the_limits_of_the_process_itself_count(kind: str) -> None:
    code = f"""
        import resource
        resource.setrlimit(resource.{kind}, (1 << 30, 1 << 30))
        from pipeline.system import hardware as machine
        before = machine.describe()
        block = bytearray(1 << 28)
        print(before.memory_bytes, before.memory_free_bytes, machine.describe().memory_free_bytes)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True
    )
    total, before, after = map(int, done.stdout.split())
    assert total == GIB
    assert before - after == pytest.approx(1 << 28, rel=0.01)
