"""What the records of all measurements have in common, and how they are published."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from pipeline import records
from pipeline.errors import PipelineError
from pipeline.records import Machine, Source
from pipeline.system import environment
from pipeline.system.atomic import publishing

R = TypeVar("R", bound="Record")


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where, when and by what something was measured."""

    created: str
    machine: Machine
    source: Source
    seed: int


def fingerprint(module: str, load_before: float, seed: int) -> dict[str, Any]:
    """Return the fields of a `Record`.

    Parameters
    ----------
    module : str
        That measured, as after ``python -m``.
    load_before : float
        Of the machine, before the first run.
    seed : int
    """
    return {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": environment.machine(environment.threads(), load_before),
        "source": environment.source(["python", "-m", module, *sys.argv[1:]]),
        "seed": seed,
    }


def publish(out: Path, measure: Callable[[Path], R], part: Callable[[R], str]) -> int:
    """Measure, publish the record and print its tables; return the exit code.

    Parameters
    ----------
    out : Path
        Folder of the record.
    measure : callable
        Gets a folder for tables and models, which is removed afterwards.
    part : callable
        Returns a record as Markdown.
    """
    try:
        with (
            publishing(out) as draft,
            tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench.") as home,
        ):
            found = measure(Path(home))
            (draft / "results.json").write_bytes(records.dumps(found))
    except PipelineError as error:
        say(f"[bench] {error}")
        return error.exit_code
    print(part(found))
    return 0


def say(line: str) -> None:
    """Print a line of progress."""
    print(line, file=sys.stderr, flush=True)
