"""Work in a process of its own, which may have a hard limit, and what it held of memory."""

from __future__ import annotations

import gc
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, get_type_hints

import msgspec
import pyarrow as pa

from pipeline.benchmark.worker import WorkerGone, status_bytes
from pipeline.system import memory
from tools.bench.record import Report, Run

ROOT = Path(__file__).resolve().parents[2]
SYSTEM_POOL = {"ARROW_DEFAULT_MEMORY_POOL": "system"}
"""Arrow's own allocators keep what reading has freed; the system's gives it back."""
STACK = 2 * 2**20
"""Bytes of a thread's stack: all of it counts against the limit, and there are 20 threads."""
_RESET_PEAK = "5"


def apart(
    work: Callable[[Any], Report], job: msgspec.Struct, *,
    environ: Mapping[str, str] | None = None, limit_bytes: int = 0,
) -> Report:  # fmt: skip
    """Return what ``work(job)`` returns in a new process.

    Parameters
    ----------
    work : callable
        A function of a module, whose parameter is annotated.
    job : Struct
    environ : mapping of str to str, optional
        What is added to the environment.
    limit_bytes : int
        Of the process from its start, set by the kernel (``RLIMIT_DATA``); 0: none.

    Raises
    ------
    WorkerGone
        It ended otherwise; the message has the last line that it wrote.
    """
    words = (f"{work.__module__}:{work.__name__}", msgspec.json.encode(job).decode())
    done = subprocess.run(
        [sys.executable, "-m", "tools.bench.apart", *words],
        cwd=ROOT,
        env={**os.environ, **(environ or {})},
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=_limiter(limit_bytes),
    )
    if done.returncode == 0:
        return msgspec.json.decode(done.stdout.splitlines()[-1], type=Report)
    said = (done.stderr.strip().splitlines() or [""])[-1]
    raise WorkerGone(f"the process ended with {done.returncode}: {said}")


def _limiter(limit_bytes: int) -> Callable[[], None]:
    def limit() -> None:
        resource.setrlimit(
            resource.RLIMIT_STACK, (STACK, resource.getrlimit(resource.RLIMIT_STACK)[1])
        )
        if limit_bytes:
            resource.setrlimit(resource.RLIMIT_DATA, (limit_bytes, limit_bytes))

    return limit


def work_here() -> None:
    """Do what the command line says, and write what it returns."""
    (module, _, name), job = sys.argv[1].partition(":"), sys.argv[2]
    work = getattr(import_module(module), name)
    hints = get_type_hints(work)
    (kind,) = (hints[parameter] for parameter in hints if parameter != "return")
    answer = work(msgspec.json.decode(job, type=kind))
    sys.stdout.write(f"\n{msgspec.json.encode(answer).decode()}")


def resident() -> int:
    """Return the bytes that are resident in this process, files that are mapped included."""
    return status_bytes("VmRSS")


def peak() -> int:
    """Return the most bytes that were resident since `reset_peak`, or since the start."""
    return status_bytes("VmHWM")


def reset_peak() -> Literal["each phase", "process so far"]:
    """Let the peak begin anew; return what it covers from here on.

    Some systems refuse it: a peak is then that of the whole process so far.
    """
    try:
        Path("/proc/self/clear_refs").write_text(_RESET_PEAK)
    except OSError:
        return "process so far"
    return "each phase"


def give_back() -> None:
    """Free what nothing refers to and return it to the system, as far as it goes."""
    gc.collect()
    pa.default_memory_pool().release_unused()
    memory.give_back()


class Words(msgspec.Struct, frozen=True):
    """A command of ``.venv/bin/python -m pipeline``."""

    words: list[str]


def command(job: Words) -> Report:
    """Run a command of the package and return the most that it held."""
    from pipeline.cli.main import main

    start, sys.argv = time.perf_counter(), ["pipeline", *job.words]
    main()
    seconds = time.perf_counter() - start
    return Report(run=Run(seconds={"command": seconds}, bytes={"peak": peak()}))


if __name__ == "__main__":
    work_here()
