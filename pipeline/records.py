"""The parts that the records of runs and of comparisons share.

Unknown fields, missing fields and wrong types are refused when a record is read.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec

from pipeline.errors import DataError

R = TypeVar("R", bound=msgspec.Struct)


class DataInfo(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file that every variant read."""

    path: str
    sha256: str
    bytes: int
    licence: str
    source: str


class Gpu(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One GPU as its driver describes it."""

    name: str
    memory_bytes: int
    driver: str
    compute_capability: str


class Machine(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the comparison ran."""

    cpu: str
    cores: int
    """Logical processors this process may use."""
    memory_bytes: int
    system: str
    python: str
    packages: dict[str, str]
    threads: dict[str, str]
    """Thread pool or environment variable -> setting, as seen in the workers."""
    load_before: float
    """One-minute load average before the first run."""
    gpus: list[Gpu]
    no_gpu_why: str
    """Why no GPU was used; empty where one was."""


class Source(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The code that ran."""

    commit: str
    """Git revision, "of version 1.2.3" where a package is installed, or "unknown"."""
    dirty: bool
    command: str
    """What reproduces this file; empty where no command does."""


class PlacementRecord(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where one step ran and why."""

    step: str
    implementation: str
    device: str
    note: str


class Movement(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One entry of the execution log of the last timed run."""

    step: str
    call: str
    device: str
    seconds: float
    to_device_bytes: int
    to_host_bytes: int
    why: str = ""


class Energy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a part of the machine took during a run."""

    joules: float
    how: str
    """How it was measured."""


class Usage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a run took of the machine, beside the processor time and memory of its process."""

    gpu_use: float | None
    """Mean share of the time in which a kernel ran, 0 to 1; of the whole GPU. None without one."""
    gpu_bytes: int | None
    """Most memory in use, of the whole GPU."""
    energy: dict[str, Energy]
    """``"gpu"``: of the whole GPU, where its driver counts it."""
    not_measured: dict[str, str]
    """What could not be read, and why."""


def dumps(record: msgspec.Struct) -> bytes:
    """Return the JSON text; NaN and infinity become null, which reading refuses."""
    return msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n"


def load_record(path: Path, kind: type[R], *, schema: str, command: str) -> R:
    """Read and validate a record, which a command makes.

    `DataError` says that the file is missing, is not JSON, or does not have the schema.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except FileNotFoundError as error:
        raise DataError(f"{path}: no such file; create one with `{command}`") from error
    except msgspec.DecodeError as error:
        raise DataError(
            f"{path}: not a {schema} file: {error}; create a new one with `{command}`"
        ) from error
