"""Run scikit-learn's own examples plain and accelerated: ``.venv/bin/python -m tools.examples``.

An example is the same if it prints the same text, apart from addresses and measured seconds, and
draws the same pixels. It counts if it does so twice in plain scikit-learn. What differs must be
listed in examples.yaml with its reason; what is listed must differ.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import zip_longest
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import sklearn
import yaml
from sklearn.utils import all_estimators

from tools.examples.once import Run, run

ROOT = Path(__file__).parents[2]
NAME = f"scikit-learn=={sklearn.__version__}"
HOME = ROOT / "build" / "examples"
MEASURED = re.compile(r"0x[0-9a-f]+|\b\d+(\.\d+)?(e[-+]?\d+)? ?(ms|µs|us|s|sec|secs|seconds?)\b")
"""Addresses of objects, and seconds."""


def examples() -> dict[str, Path]:
    """Return the examples of scikit-learn's sdist by name; download and unpack it once."""
    folder = HOME / NAME
    if not folder.exists():
        HOME.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=HOME) as draft:
            with tarfile.open(_download(Path(draft))) as sdist:
                wanted = [each for each in sdist if "examples" in Path(each.name).parts[1:2]]
                sdist.extractall(draft, wanted, filter="data")
            next(Path(draft).glob("*/examples")).rename(folder)
    return {path.stem: path for path in folder.rglob("*.py")}


def _download(folder: Path) -> Path:
    """Have pip download the sdist and verify the hash in the lock."""
    lock = (ROOT / "requirements" / "cpu.txt").read_text("utf-8")
    entry = re.search(rf"^{re.escape(NAME)} (?:.*\\\n)*.*", lock, re.MULTILINE)
    if entry is None:
        sys.exit(f"requirements/cpu.txt does not have {NAME}; run `make setup`, then try again")
    (folder / "entry.txt").write_text(entry[0], "utf-8")
    # pip asks the build backend for metadata, which is not installed; no_build stands in for it.
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"]
    command += ["--no-build-isolation", "--no-binary", "scikit-learn", "--dest", str(folder)]
    env = os.environ | {"PYTHONPATH": str(Path(__file__).with_name("no_build"))}
    subprocess.run([*command, "-r", str(folder / "entry.txt")], env=env, check=True)
    return next(folder.glob("*.tar.gz"))


@dataclass
class Row:
    """What came of an example."""

    name: str
    differs: str = ""
    """What differs first when it is accelerated."""
    repeats: bool = True
    """Whether plain scikit-learn does the same twice."""
    engine: int = 0
    """How many of its calls the engine ran."""
    calls: int = 0
    wrong: list[str] = field(default_factory=list)
    """The calls in which the engine failed, or that differ when each is compared."""


def compare(name: str, paths: dict[str, Path]) -> Row:
    """Run an example in each way, and compare."""
    once = partial(run, paths[name], folder=HOME / "runs" / name)
    plain = once("plain")
    if plain.error:
        return Row(name, plain.error, repeats=False)
    ours, verified = once("accel"), once("verify")
    row = counted(Row(name, difference(ours, plain)), ours, {"cpu"})
    if row.differs and not ours.error:
        row.repeats = not difference(once("plain"), plain)
    row.wrong = [verified.error] if verified.error else []
    for site in verified.sites:
        why = site.differs or (site.why if "the engine failed" in site.why else "")
        calls = (site.n_differ or site.n) if why else 0
        row.wrong += [f"{Path(site.where).name} {site.what}: {why}"] * calls
    return row


def on_gpu(name: str, paths: dict[str, Path]) -> Row:
    """Run an example on a GPU, where results are others: it must end, and no call may fail."""
    ours = run(paths[name], "accel", HOME / "runs" / name, "cuda")
    failed = [f"{site.what}: {site.why}" for site in ours.sites if "the engine failed" in site.why]
    return counted(Row(name, ours.error, wrong=failed), ours, {"cuda"})


def too_slow(row: Row) -> bool:
    """Return whether an example did not end in time."""
    return row.differs.startswith("takes longer") and not row.wrong


def counted(row: Row, found: Run, devices: set[str]) -> Row:
    """Set the calls of a run, and how many of them the engine ran on these devices alone."""
    row.calls = sum(site.n for site in found.sites)
    row.engine = sum(site.n for site in found.sites if {*site.ran.split(", ")} == devices)
    return row


def difference(one: Run, other: Run) -> str:
    r"""Return what differs first between two runs; empty if nothing does.

    >>> difference(Run(printed="a\n1 in 0.1 s"), Run(printed="a\n2 in 0.2 s"))
    "line 2: '1 in #' instead of '2 in #'"
    """
    if one.error or other.error:
        return one.error or other.error
    lines = [MEASURED.sub("#", each.printed).splitlines() for each in (one, other)]
    for number, (a, b) in enumerate(zip_longest(*lines, fillvalue=""), 1):
        if a != b:
            return f"line {number}: {a.strip()!r} instead of {b.strip()!r}"
    figures = zip_longest(one.figures, other.figures, fillvalue=np.empty(0))
    for number, (mine, theirs) in enumerate(figures, 1):
        if mine.shape != theirs.shape:
            return f"figure {number}: {mine.shape} pixels instead of {theirs.shape}"
        apart = np.abs(mine.astype(int) - theirs).max(axis=-1)
        if apart.any():
            share = np.mean(apart > 0)
            return f"figure {number}: {share:.2%} of the pixels by up to {apart.max()} of 255"
    return ""


def complaints(rows: list[Row], known: dict[str, str]) -> Iterator[str]:
    """Yield what is not as listed, a line each.

    >>> rows = [Row("a", "line 1"), Row("b"), Row("c", "line 2")]
    >>> list(complaints(rows, {"b": "rounding", "c": "rounding"}))
    ['a: line 1', 'b: is the same, so it must leave the list']
    """
    for row in rows:
        wrong = [row.differs] if row.differs and row.repeats else []
        wrong += [f"verify: {each}" for each in dict.fromkeys(row.wrong)]
        if row.name in known:
            always = not known[row.name].startswith("sometimes")
            wrong = ["is the same, so it must leave the list"] if always and not wrong else []
        yield from (f"{row.name}: {each}" for each in wrong)


def summary(rows: list[Row], device: str = "cpu") -> str:
    """Return the totals."""
    counted = [row for row in rows if row.repeats]
    same = sum(not row.differs for row in counted)
    engine, calls = sum(row.engine for row in rows), sum(row.calls for row in rows)
    wrong = sum(len(row.wrong) for row in rows)
    if device == "cuda":
        return (
            f"ended: {same} of {len(counted)}\ncalls on the GPU alone: {engine:,} of {calls:,}\n"
            f"calls in which the engine failed: {wrong:,}"
        )
    apart = [f"{row.name} does not repeat: {row.differs}" for row in rows if not row.repeats]
    totals = [
        f"same output: {same} of {len(counted)} that repeat in plain",
        f"calls through the engine: {engine:,} of {calls:,}",
        f"verify: {wrong:,} calls differ",
    ]
    return "\n".join([*apart, *totals])


def main() -> int:
    """Run the examples, say what came of them, and return the exit code."""
    parser = argparse.ArgumentParser(prog=".venv/bin/python -m tools.examples", description=__doc__)
    parser.add_argument("--cases", type=int, help="as many, from the first; all if not given")
    parser.add_argument("--names", help="of examples, with commas, as plot_pca_iris")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--out", type=Path, default=HOME / "results.jsonl", help="for the results")
    parser.add_argument(
        "--device", default="cpu", choices=["cpu", "cuda"], help="on cuda, results are not compared"
    )
    parser.add_argument("--resume", action="store_true", help="run what the results lack")
    asked = parser.parse_args()
    listed = yaml.safe_load(Path(__file__).with_name("examples.yaml").read_text("utf-8"))
    paths = examples()
    names = asked.names.split(",") if asked.names else listed["examples"][: asked.cases]
    if unknown := {*names} - {*paths}:
        parser.error(f"no such example: {', '.join(sorted(unknown))}")
    with asked.out.open("a+" if asked.resume else "w+", encoding="utf-8") as file:
        file.seek(0)
        rows = {row.name: row for row in (Row(**json.loads(line)) for line in file)}
        left = [name for name in names if name not in rows]
        all_estimators()  # loaded once, before the processes part
        with ProcessPoolExecutor(asked.processes, mp_context=get_context("fork")) as pool:
            work = on_gpu if asked.device == "cuda" else compare
            for row in pool.map(partial(work, paths=paths), left):
                rows[row.name] = row
                file.write(f"{json.dumps(asdict(row))}\n")
                file.flush()
    ran = [rows[name] for name in names]
    if asked.device == "cuda":
        ran = [row for row in ran if not (row.name in listed["slow on a GPU"] and too_slow(row))]
    wrong = [*complaints(ran, listed["differ"] if asked.device == "cpu" else {})]
    print(*wrong, summary(ran, asked.device), sep="\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
