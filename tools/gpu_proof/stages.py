"""The stages of the proof: which commands each runs, and into which files they write."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

Command = list[str]
"""What comes after the interpreter; a command of another program begins with its path."""


@dataclass(frozen=True)
class Ask:
    """What is to be proven.

    Parameters
    ----------
    out : Path
        Folder of the records.
    device : {"cuda", "cpu"}
        ``"cpu"`` is a rehearsal, which proves nothing of a GPU.
    rows : tuple of int
        Of the generated tables, the longest last.
    repeats : int
        Timed runs of each variant.
    """

    out: Path
    device: str
    rows: tuple[int, ...]
    repeats: int

    def file(self, name: str) -> Path:
        """Return the path of a file or folder of the records."""
        return self.out / name

    def synthetic(self, rows: int) -> Path:
        """Return the folder of the comparison on so many generated rows."""
        return self.file(f"synthetic-{rows}")


def _doctor(ask: Ask) -> Iterator[Command]:
    yield ["-m", "pipeline", "doctor"]


def _tests(ask: Ask) -> Iterator[Command]:
    yield ["-m", "pytest", "-m", "gpu", "-q", f"--junitxml={ask.file('tests.xml')}"]


def _copies(ask: Ask) -> Iterator[Command]:
    yield ["-m", "pipeline", "data", "flights"]
    yield [*_module("copies", ask, "copies.json")]


def _flights(ask: Ask) -> Iterator[Command]:
    yield ["-m", "pipeline", "data", "flights"]
    yield ["-m", "pipeline", "report", "flights", *_measured(ask, ask.file("flights"))]


def _synthetic(ask: Ask) -> Iterator[Command]:
    for rows in ask.rows:
        yield ["-m", "pipeline", "data", "synthetic", "--rows", str(rows)]
        options = ["--rows", str(rows), *_measured(ask, ask.synthetic(rows))]
        yield ["-m", "pipeline", "report", "synthetic", *options]


def _hand(ask: Ask) -> Iterator[Command]:
    rows = str(ask.rows[-1])
    yield ["-m", "pipeline", "data", "synthetic", "--rows", rows]
    yield [*_module("duel", ask, "hand.json"), "--rows", rows, "--repeats", str(ask.repeats)]


def _bandwidth(ask: Ask) -> Iterator[Command]:
    yield [*_module("bandwidth", ask, "bandwidth.json"), "--rows", str(ask.rows[-1])]


def _profile(ask: Ask) -> Iterator[Command]:
    nsys = shutil.which("nsys")
    if nsys:
        run = ["-m", "pipeline", "run", "flights", "--device", ask.device]
        yield [nsys, "profile", "--trace=cuda,nvtx", "--force-overwrite=true"] + [
            f"--output={ask.file('flights.nsys-rep')}", "{python}", *run,
            "--out", str(ask.file("profiled")),
        ]  # fmt: skip


def _module(name: str, ask: Ask, file: str) -> Command:
    where = ["--device", ask.device, "--out", str(ask.file(file))]
    return ["-m", f"tools.gpu_proof.{name}", *where]


def _measured(ask: Ask, out: Path) -> Command:
    return ["--device", ask.device, "--repeats", str(ask.repeats), "--out", str(out)]


STAGES: dict[str, Callable[[Ask], Iterator[Command]]] = {
    "doctor": _doctor,
    "copies": _copies,
    "flights": _flights,
    "synthetic": _synthetic,
    "hand": _hand,
    "bandwidth": _bandwidth,
    "tests": _tests,
    "profile": _profile,
}
"""In the order in which they run; the tests are last but one, as they take longest."""
