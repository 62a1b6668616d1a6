"""Resident memory of `transform`: in a process that holds the table and the program only.

The program is fitted by another process and comes as a file, so that no memory which
fitting freed can hide what `transform` takes.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import msgspec

from tools.bench import rss
from tools.bench.cases import CACHE
from tools.bench.schema import Memory
from tools.bench.variants import VARIANTS
from tools.bench.work import Job, nbytes

ROOT = Path(__file__).resolve().parents[2]
FEW_ROWS = 1_000
ALLOCATOR = {"ARROW_DEFAULT_MEMORY_POOL": "system"}
"""Arrow's own allocators keep what reading has freed; the system's gives it back."""


def measure(job: Job) -> Memory:
    """Fit in one process, transform in the next; return what that one held.

    Parameters
    ----------
    job : Job
        Its variant must be one whose program can be pickled.
    """
    job.load()
    environ = {**os.environ, **ALLOCATOR}
    with tempfile.TemporaryDirectory(dir=Path(job.home) / CACHE) as folder:
        words = (msgspec.json.encode(job).decode(), str(Path(folder).resolve() / "fitted.pickle"))
        for action in ("fit", "transform"):
            command = [sys.executable, "-m", "tools.bench.memory", action, *words]
            done = subprocess.run(
                command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False
            )
            if done.returncode:
                said = done.stderr.strip().splitlines()[-1:]
                return failed(job, *said or [f"exit code {done.returncode}"])
    return msgspec.json.decode(done.stdout, type=Memory)


def failed(job: Job, why: str) -> Memory:
    """Return the record of a measurement that failed."""
    return Memory(
        variant=job.variant,
        why=why,
        rows=job.rows,
        input_bytes=0,
        output_bytes=0,
        empty_bytes=0,
        before_bytes=0,
        peak_bytes=0,
    )


def fit(job: Job, file: Path) -> None:
    """Fit the program on the table and write it to a file."""
    case, variant = job.load(), VARIANTS[job.variant]
    program = variant.make(case)
    program.fit(*variant.read(case))
    file.write_bytes(pickle.dumps(program))


def transform(job: Job, file: Path) -> Memory:
    """Transform the table with the program of a file, and watch."""
    case, variant = job.load(), VARIANTS[job.variant]
    program = pickle.loads(file.read_bytes())
    rehearse(job, program)
    rss.give_back()
    empty = rss.now()
    X = variant.read(case)[0]
    rss.give_back()
    rss.reset()
    before = rss.now()
    matrix = program.transform(X)
    peak = rss.peak()
    return Memory(
        variant=job.variant,
        why="",
        rows=len(X),
        input_bytes=nbytes(X),
        output_bytes=nbytes(matrix),
        empty_bytes=empty,
        before_bytes=before,
        peak_bytes=peak,
    )


def rehearse(job: Job, program: Any) -> None:
    """Read and transform a few rows, so that what is loaded on first use is loaded."""
    few = msgspec.structs.replace(job, rows=FEW_ROWS)
    X, _ = VARIANTS[job.variant].read(few.load())
    program.transform(X)


def main() -> None:
    """Do what the command line says: `fit` or `transform`, a job, a file."""
    action, job, file = sys.argv[1], msgspec.json.decode(sys.argv[2], type=Job), Path(sys.argv[3])
    if action == "fit":
        fit(job, file)
    else:
        sys.stdout.write(msgspec.json.encode(transform(job, file)).decode())


if __name__ == "__main__":
    main()
