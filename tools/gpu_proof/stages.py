"""The stages of the proof: which commands each runs, and into which files they write."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

Command = list[str]
"""A program and its arguments; ``python`` is the one that runs the proof."""
SLOW_TESTS = {"test_parity": 120, "test_estimators": 180, "test_clusters": 60}
"""File -> its share; they run after the others, in this order."""


class Step(NamedTuple):
    """A command of a stage, and its share of the time: seconds on a GPU, roughly."""

    command: Command
    share: float


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
    strict : bool
        Whether warnings fail a test.
    """

    out: Path
    device: str
    rows: tuple[int, ...]
    repeats: int
    strict: bool = False

    @property
    def rehearsal(self) -> bool:
        """Whether nothing is proven."""
        return self.device == "cpu"

    def file(self, name: str) -> Path:
        """Return the path of a file or folder of the records."""
        return self.out / name

    def synthetic(self, rows: int) -> Path:
        """Return the folder of the comparison on so many generated rows."""
        return self.file(f"synthetic-{rows}")


def _probe(ask: Ask) -> Iterator[Step]:
    yield Step(["python", "-m", "tools.gpu_proof.probe", "--out", str(ask.file("probe.json"))], 120)
    yield Step(["python", "-m", "pipeline", "doctor"], 10)


def _tests(ask: Ask) -> Iterator[Step]:
    warnings = [] if ask.strict else ["-W", "default"]
    files = sorted(Path("tests/gpu").glob("test_*.py"), key=_slowness)
    for file in files:
        written = ["--junitxml", str(ask.file("tests") / f"{file.stem}.xml")]
        cached = ["-o", f"cache_dir={ask.file('tests') / '.cache' / file.stem}"]
        words = ["python", "-m", "pytest", str(file), "-m", "gpu", "-q", *warnings]
        yield Step([*words, *cached, *written], SLOW_TESTS.get(file.stem, 30))


def _slowness(file: Path) -> tuple[int, str]:
    return [*SLOW_TESTS].index(file.stem) + 1 if file.stem in SLOW_TESTS else 0, file.name


def _flights(ask: Ask) -> Iterator[Step]:
    yield Step([*_module("copies", ask, "strict.json"), *_few(ask)], 30)
    yield Step(_measured("flights", ask, ask.file("flights")), 120)


def _copies(ask: Ask) -> Iterator[Step]:
    yield Step([*_module("copies", ask, "copies.json"), "--pipeline", "counted", *_few(ask)], 30)


def _few(ask: Ask) -> Command:
    return ["--rows", str(ask.rows[-1])] if ask.rehearsal else []


def _hand(ask: Ask) -> Iterator[Step]:
    table = ["--rows", str(ask.rows[-1]), "--repeats", str(ask.repeats)]
    for pipeline in ("boosting", "logistic"):
        yield Step(
            [*_module("duel", ask, f"hand-{pipeline}.json"), "--pipeline", pipeline, *table], 90
        )


def _bandwidth(ask: Ask) -> Iterator[Step]:
    yield Step(_module("bandwidth", ask, "bandwidth.json"), 10)


def _synthetic(ask: Ask) -> Iterator[Step]:
    for rows in ask.rows:
        table = ["--rows", str(rows)]
        yield Step(_measured("synthetic", ask, ask.synthetic(rows), *table), 180)


def _profile(ask: Ask) -> Iterator[Step]:
    run = ["-m", "pipeline", "run", "flights", "--device", ask.device, "--pipelines", "boosting"]
    run += ["--out", str(ask.file("profiled"))]
    if shutil.which("nsys"):
        kept = ["--trace=cuda,nvtx", "--force-overwrite=true", f"--output={ask.file('flights')}"]
        yield Step(["nsys", "profile", *kept, "python", *run], 45)
    else:
        yield Step(["python", "-m", "cProfile", "-o", str(ask.file("flights.pstats")), *run], 45)


def _module(name: str, ask: Ask, file: str) -> Command:
    where = ["--device", ask.device, "--out", str(ask.file(file))]
    return ["python", "-m", f"tools.gpu_proof.{name}", *where]


def _measured(task: str, ask: Ask, out: Path, *options: str) -> Command:
    how = ["--device", ask.device, "--repeats", str(ask.repeats), "--out", str(out)]
    one = ["--pipelines", "logistic"] if ask.rehearsal else []
    return ["python", "-m", "pipeline", "report", task, *how, *one, *options]


STAGES: dict[str, Callable[[Ask], Iterator[Step]]] = {
    "probe": _probe,
    "tests": _tests,
    "flights": _flights,
    "copies": _copies,
    "hand": _hand,
    "bandwidth": _bandwidth,
    "synthetic": _synthetic,
    "profile": _profile,
}
"""In the order in which they run: what a first visit has to show comes first."""
