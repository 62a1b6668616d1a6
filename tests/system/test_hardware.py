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


def many_cores(monkeypatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)


def test_processor_and_memory_are_read(tmp_path) -> None:
    found = describe(tmp_path)
    assert found.cpu == "Some Processor 9000"
    assert (found.memory_bytes, found.memory_free_bytes) == (16 * GIB, 8 * GIB)


def test_without_limits_the_affinity_counts(tmp_path, monkeypatch) -> None:
    many_cores(monkeypatch)
    assert describe(tmp_path).cores == 8


@pytest.mark.parametrize(
    "files",
    [
        {"sys/fs/cgroup/cpu.max": "250000 100000\n"},
        {
            "proc/self/cgroup": "0::/outer/inner\n",
            "sys/fs/cgroup/outer/inner/cpu.max": "max 100000\n",
            "sys/fs/cgroup/outer/cpu.max": "250000 100000\n",
        },
        {
            "proc/self/cgroup": "3:cpu,cpuacct:/not/visible/here\n2:memory:/\n",
            "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "250000\n",
            "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
        },
    ],
    ids=["container", "outer group", "version 1"],
)
def test_a_quota_limits_the_cores(tmp_path, monkeypatch, files) -> None:
    many_cores(monkeypatch)
    assert describe(tmp_path, **files).cores == 2


@pytest.mark.parametrize(
    "files",
    [
        {"sys/fs/cgroup/cpu.max": "max 100000\n"},
        {
            "proc/self/cgroup": "3:cpu:/\n",
            "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
            "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
        },
    ],
    ids=["version 2", "version 1"],
)
def test_a_group_without_quota_does_not_limit_the_cores(tmp_path, monkeypatch, files) -> None:
    many_cores(monkeypatch)
    assert describe(tmp_path, **files).cores == 8


def test_a_tiny_quota_leaves_one_core(tmp_path) -> None:
    assert describe(tmp_path, **{"sys/fs/cgroup/cpu.max": "10000 100000\n"}).cores == 1


def test_a_limit_caps_the_memory(tmp_path) -> None:
    found = describe(tmp_path, **{"sys/fs/cgroup/memory.max": f"{4 * GIB}\n"})
    assert (found.memory_bytes, found.memory_free_bytes) == (4 * GIB, 4 * GIB)


def test_a_limit_above_the_memory_changes_nothing(tmp_path) -> None:
    files = {
        "proc/self/cgroup": "2:memory:/\n",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
    }
    assert describe(tmp_path, **files).memory_bytes == 16 * GIB


def test_a_system_without_such_files_is_described_all_the_same(tmp_path) -> None:
    found = hardware.describe(tmp_path)
    assert (found.memory_bytes, found.memory_free_bytes) == (0, 0)
    assert found.cores >= 1
    assert found.system


def test_the_present_machine_is_described() -> None:
    found = hardware.describe()
    assert 1 <= found.cores <= found.cores_present
    assert 0 <= found.memory_free_bytes <= found.memory_bytes


def test_what_the_group_uses_is_not_free_but_its_caches_are(tmp_path) -> None:
    files = {
        "sys/fs/cgroup/memory.max": f"{4 * GIB}\n",
        "sys/fs/cgroup/memory.current": f"{3 * GIB}\n",
        "sys/fs/cgroup/memory.stat": f"anon {GIB}\nactive_file {GIB}\ninactive_file {GIB}\n",
    }
    assert describe(tmp_path, **files).memory_free_bytes == 3 * GIB


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
