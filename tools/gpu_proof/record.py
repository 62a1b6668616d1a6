"""The record of what has run, which the next call goes on from."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Literal

import msgspec

from pipeline import records
from pipeline.data.files import digest
from tools.bench.record import Record
from tools.gpu_proof.stages import Ask, Command

SCHEMA: Literal["gpu_proof.results/2"] = "gpu_proof.results/2"
CODE = {"probe": ["tools/gpu_proof"], "tests": ["pipeline", "tests"]}
"""Stage -> folders whose files decide what it shows; those of the other stages are `USUAL`."""
USUAL = ["pipeline", "datasets", "tasks", "tools/gpu_proof"]
KINDS = {".py", ".json", ".toml"}


class Ran(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A command of a stage."""

    stage: str
    command: Command
    seconds: float
    code: int
    """Exit code; see `process.run`."""
    source: str
    """Digest of the code that it showed."""


class Proof(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The record."""

    schema: Literal["gpu_proof.results/2"]
    rehearsal: bool
    """On the CPU: it proves nothing of a GPU."""
    seed: int = 0
    rows: list[int]
    ran: list[Ran]


def load(path: Path) -> Proof:
    """Read and validate a record; see `pipeline.records.load_record` for what is raised."""
    return records.load_record(path, Proof, schema=SCHEMA, command="make gpu-proof")


def earlier(ask: Ask, gpus: list[records.Gpu]) -> list[Ran]:
    """Return what has run on the same GPUs, in an earlier call."""
    path = ask.file("proof.json")
    found = load(path) if path.exists() else None
    same = found and (found.rehearsal, found.machine.gpus) == (ask.rehearsal, gpus)
    return found.ran if found and same else []


def source(stage: str) -> str:
    """Return the digest of the code that a stage shows."""
    files = (file for folder in CODE.get(stage, USUAL) for file in Path(folder).rglob("*"))
    kept = sorted(file for file in files if file.suffix in KINDS)
    return hashlib.sha256("".join(map(digest, kept)).encode()).hexdigest()[:16]
