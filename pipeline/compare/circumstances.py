"""What must be the same for runs of two commands to belong to one comparison."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Iterable, Mapping
from pathlib import Path

from pipeline import gpu, provenance, task
from pipeline import machine as host
from pipeline.measure import CLOCK, Job
from pipeline.persistence import digest
from pipeline.task import Task

PACKAGE = Path(__file__).parents[1]
_CODE = {".py", ".json"}


def circumstances(
    what: Task, job: Job, specs: Iterable[str], plan: Mapping[str, str]
) -> dict[str, str]:
    """Return task, data, programs, protocol, versions, code and machine, in words.

    Parameters
    ----------
    what : Task
    job : Job
        Its spec and variant do not count.
    specs : iterable of str
    plan : mapping of str to str
        The protocol: repeats, seeds, variants and the like.
    """
    here, found = host.describe(), gpu.probe()
    programs = [provenance.code(what.spec(name, job.seed, job.changes)) for name in specs]
    settings = (f"{name}={os.environ[name]}" for name in provenance.SETTINGS if name in os.environ)
    return {
        "task": what.name,
        "data": digest(job.path),
        "split": str(what.split(job.split)),
        "columns": _brief([*what.columns, what.target]),
        "metrics": ", ".join([*what.metrics, *map(str, what.margins.items())]),
        "programs": _brief(programs),
        "seed": str(job.seed),
        "clock": CLOCK,
        "code": _code(what.name),
        "Python": platform.python_version(),
        "packages": ", ".join(f"{name} {v}" for name, v in provenance.packages().items()),
        "machine": f"{platform.node()}, {here.cpu}, {here.cores} cores, {here.system}",
        "memory": str(here.memory_bytes),
        "GPU": "; ".join(map(str, found.devices)) + f" {found.driver}",
        "threads": ", ".join(settings),
        **plan,
    }


def _code(name: str) -> str:
    """Return the digest of the library's files and of the task's."""
    files = sorted(path for path in PACKAGE.rglob("*") if path.suffix in _CODE)
    return _brief(digest(path) for path in (*files, task.FOLDER / f"{name}.py") if path.exists())


def _brief(parts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
