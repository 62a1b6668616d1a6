"""Kill runs at random moments, and see what they leave: ``python -m tools.kills``.

Every command is begun again and again on the same results and ended by SIGKILL, at a moment
drawn from the time that it takes. Afterwards its results have to be the old ones or the new
ones, whole, by their own sums and records; and a run that is let be has to leave nothing
beside them. If anything else is found, the exit code is 1.

All packages are loaded once: each command runs in a fork of this process.
"""

from __future__ import annotations

import argparse
import os
import pickle
import random
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow.parquet as pq

from datasets import breast_cancer
from pipeline import load, save
from pipeline.benchmark import results, run
from pipeline.cli import main as cli
from pipeline.data import files
from pipeline.optional import load as load_name
from pipeline.serving import manifest, predict
from pipeline.serving.save import About

OLD, NEW, ENDED = "old results", "new results", "ended before the kill"
WEIGHTS = {"run": 8, "predict": 8, "save": 8, "compare": 1}
"""How often each is killed; workers of a comparison load all packages themselves."""
EVERY = 10
"""Kills of a command after which a run is let be."""
LOADED = "xgboost", "sklearn.ensemble", "skops.io", "rich.progress", "pyarrow.csv"


def forked(work: Callable[[], Any], kill_after: float | None = None) -> Any:
    """Return what work returns in a fork of this process; None if it was killed.

    Raises
    ------
    RuntimeError
        The work failed.
    """
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        _work(work, write)
    os.close(write)
    if kill_after is not None:
        time.sleep(kill_after)
        os.kill(child, signal.SIGKILL)
    with os.fdopen(read, "rb") as pipe:
        said = pipe.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code == -signal.SIGKILL and kill_after is not None:
        return None
    if code:
        raise RuntimeError(said.decode() or f"exit code {code}")
    # Of this program's own child.
    return pickle.loads(said)


def _work(work: Callable[[], Any], write: int) -> None:
    """Run work in the child, and end it without a word of the parent's."""
    code, said = 0, b""
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    try:
        said = pickle.dumps(work())
    except BaseException:
        code, said = 1, traceback.format_exc().encode()
    os.write(write, said)
    os._exit(code)


def command(*arguments: object) -> None:
    """Run a command of the command line in this process."""
    sys.argv = ["pipeline", *map(str, arguments)]
    try:
        cli.main()
    except SystemExit as end:
        if end.code:
            raise RuntimeError(f"{arguments}: exit code {end.code}") from end


@dataclass
class Target:
    """What is killed: a command that publishes, and how its results are judged.

    Parameters
    ----------
    home : Path
        Folder of everything.
    name : str
        One of `WEIGHTS`.
    """

    home: Path
    name: str
    seconds: float = 0.0
    """What the command takes when it is let be."""
    last: int = 0
    """Number of the run whose results are there."""
    found: Counter[str] = field(default_factory=Counter)

    @property
    def folder(self) -> Path:
        """Where the results and what is beside them lie."""
        return self.home / self.name

    def start(self, number: int) -> None:
        """Run the command; `number` is to be found in its results."""
        out = self.folder / "out"
        if self.name in ("run", "compare"):
            repeats = ["--repeats", 3] if self.name == "compare" else []
            command(self.name, "breast_cancer", "--device", "cpu", "--pipelines", "logistic",
                    "--data-home", self.home / "data", "--seed", number, "--out", out,
                    *repeats)  # fmt: skip
        elif self.name == "save":
            save(load(self.home / "model-0", "cpu"), out, About(metrics={"number": number}))
        else:
            rows = self.home / f"rows-{number}.parquet"
            if not rows.exists():
                rows.hardlink_to(self.home / "rows.parquet")
            model = self.home / f"model-{number % 2}"
            command("predict", model, rows, out, "--device", "cpu", "--rows", 100)

    def started(self, number: int) -> bool:
        """Run the command, and say that it came to its end."""
        self.start(number)
        return True

    def judge(self, number: int) -> int:
        """Return the number of the run whose results are there.

        Raises
        ------
        AssertionError
            They are not whole, or not those of the last two runs.
        """
        shown = int(getattr(self, f"_{self.name}")(self.folder / "out"))
        assert shown in (self.last, number), f"{shown} is neither {self.last} nor {number}"
        return shown

    def _run(self, out: Path) -> int:
        record = msgspec.json.decode((out / "record.json").read_bytes(), type=run.RunRecord)
        for pipeline in record.pipelines:
            for part in (pipeline.model, pipeline.predictions):
                assert files.digest(out / part.file) == part.sha256, part.file
            manifest.read(out / f"{pipeline.pipeline}.model")
        return record.seed

    def _compare(self, out: Path) -> int:
        assert {path.name for path in out.iterdir()} == {"results.json"}
        return results.load(out / "results.json").protocol.seed

    def _save(self, out: Path) -> int:
        made = load(out, "cpu").predict_proba(self._rows())
        assert np.array_equal(made, load(self.home / "model-0", "cpu").predict_proba(self._rows()))
        return int(manifest.read(out)[0].metrics["number"])

    def _predict(self, out: Path) -> int:
        table = pq.read_table(out, page_checksum_verification=True)
        text = table.schema.metadata[predict.SCHEMA.encode()]
        record = msgspec.json.decode(text, type=predict.Record)
        wanted = load(Path(record.model), "cpu").predict_proba(self._rows())[:, 1]
        assert np.array_equal(table["probability"].to_numpy(), wanted)
        return int(Path(record.input).stem.removeprefix("rows-"))

    def _rows(self) -> Any:
        return pq.read_table(self.home / "rows.parquet").to_pandas()

    def let_be(self, number: int) -> None:
        """Run the command to its end; nothing may be left beside its results."""
        forked(lambda: self.start(number))
        assert forked(lambda: self.judge(number)) == number, f"{self.name}: not published"
        self.last = number
        left = {path.name for path in self.folder.iterdir()} - {"out", "out.record.json"}
        assert left == {".out.lock"}, left

    def kill(self, number: int, chance: random.Random) -> None:
        """Start the command, kill it, and count what it left."""
        # Most often where results are written and take their name.
        moment = self.seconds * chance.triangular(0, 1.1, 0.95)
        done = forked(lambda: self.started(number), kill_after=moment)
        before, self.last = self.last, forked(lambda: self.judge(number))
        told = ENDED if done else NEW if self.last == number != before else OLD
        self.found[told] += 1


def prepare(home: Path) -> None:
    """Make the data, two models that answer differently, and rows for them."""
    path = breast_cancer.prepare(home / "data")
    columns = list(breast_cancer.MEASURES)
    pq.write_table(pq.read_table(path, columns=columns), home / "rows.parquet")
    for seed, share in enumerate(("0.5", "0.1")):
        command("run", "breast_cancer", "--device", "cpu", "--pipelines", "logistic", "--data-home",
                home / "data", "--out", home / "trained", "--set",
                f"logisticregression__C={share}")  # fmt: skip
        save(load(home / "trained" / "logistic.model", "cpu"), home / f"model-{seed}")


def killed(home: Path, names: list[str], kills: int, seed: int) -> dict[str, dict[str, int]]:
    """Kill the commands so often in all; return how often what came of it.

    Raises
    ------
    AssertionError, RuntimeError
        Results were not whole, or something was left.
    """
    chance = random.Random(seed)
    forked(lambda: prepare(home))
    targets = {name: Target(home, name) for name in names}
    for target in targets.values():
        target.folder.mkdir()
        start = time.perf_counter()
        forked(partial(target.start, 0))
        target.seconds = time.perf_counter() - start
    for number in range(1, kills + 1):
        target = targets[chance.choices(names, [WEIGHTS[name] for name in names])[0]]
        target.kill(number, chance)
        if target.found.total() % EVERY == 0:
            target.let_be(number)
    for target in targets.values():
        target.let_be(kills + 1)
    return {name: dict(target.found) for name, target in targets.items()}


def main() -> int:
    """Kill, print a line a command, and return 1 if anything was lost or left."""
    parser = argparse.ArgumentParser(prog="python -m tools.kills", description=__doc__)
    parser.add_argument("--kills", type=int, default=1_000, help="of all commands together")
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    parser.add_argument("--commands", default=",".join(WEIGHTS), help="with commas")
    parser.add_argument("--json", type=Path, help="file for the counts")
    given = parser.parse_args()
    for name in LOADED:
        load_name(name)
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as home:
        try:
            told = killed(Path(home), given.commands.split(","), given.kills, given.seed)
        except (AssertionError, RuntimeError) as error:
            print(f"NOT WHOLE: {error}", file=sys.stderr)
            return 1
    for name, found in told.items():
        print(f"{name:8} {found}")
    print(f"{given.kills} kills, 0 corrupt, {time.perf_counter() - start:.0f} s")
    if given.json:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        record = {"kills": given.kills, "seed": given.seed, "corrupt": 0, "commands": told}
        given.json.write_bytes(msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
