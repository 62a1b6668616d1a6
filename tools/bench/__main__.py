"""Measure a claim of the docs, write its record, print its tables: ``make bench-importance``."""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import datasets
from pipeline import records
from pipeline.errors import ConfigError, PipelineError
from pipeline.task.task import pick
from tools.bench import importance, prediction, preprocessing, programs, searches
from tools.bench.claim import Ask, Claim
from tools.bench.record import Results, say
from tools.bench.runner import measure

CLAIMS: dict[str, Claim] = {
    module.CLAIM.name: module.CLAIM
    for module in (preprocessing, programs, searches, prediction, importance)
}


def arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(prog=".venv/bin/python -m tools.bench", description=__doc__)
    parser.add_argument("claim", help=", ".join(CLAIMS))
    parser.add_argument("--repeats", type=int, help="timed runs of each variant")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="folder of the record")
    parser.add_argument("--data-home", type=Path, default=Path("data"), help="folder of the data")
    parser.add_argument("--cases", default="", help="with commas; all if not given")
    parser.add_argument(
        "--set", nargs="+", default=[], metavar="NAME=NUMBERS", help="sizes, as rows=1000,2000"
    )
    return parser.parse_args()


def asked(given: argparse.Namespace, claim: Claim) -> Ask:
    """Return what to measure.

    Raises
    ------
    ConfigError
        A name is unknown, or a number too small.
    """
    repeats = claim.repeats if given.repeats is None else given.repeats
    if repeats < 1:
        raise ConfigError("--repeats must be at least 1")
    return Ask(
        settings={**claim.settings, **dict(_setting(word, claim) for word in given.set)},
        repeats=repeats,
        seed=given.seed,
        data=given.data_home.resolve(),
        cases=[pick(name, claim.names, "case") for name in given.cases.split(",") if name],
    )


def _setting(word: str, claim: Claim) -> tuple[str, tuple[int, ...]]:
    name, _, text = word.partition("=")
    known = claim.settings[pick(name, claim.settings, "setting")]
    try:
        numbers = tuple(int(number) for number in text.split(","))
    except ValueError:
        raise ConfigError(f"--set {word}: give whole numbers, as {name}=1000") from None
    if min(numbers) < 1 or (len(known) == 1 and len(numbers) > 1):
        raise ConfigError(f"--set {word}: a number of at least 1 is needed")
    return name, numbers


def publish(claim: Claim, ask: Ask, out: Path) -> Results:
    """Measure, and write ``results.json`` in a folder."""
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench.") as home:
        found = measure(claim, replace(ask, home=Path(home)))
    out.mkdir(parents=True, exist_ok=True)
    (out / "results.json").write_bytes(records.dumps(found))
    return found


def main() -> int:
    """Measure and publish; return the exit code."""
    given = arguments()
    try:
        claim = CLAIMS[pick(given.claim, CLAIMS, "claim")]
        out = given.out or Path("docs/results") / f"{claim.name}-cpu"
        found = publish(claim, asked(given, claim), out)
    except (PipelineError, datasets.DataError, datasets.OutputError) as error:
        say(f"[bench] {error}")
        return error.exit_code
    except KeyboardInterrupt:
        say("[bench] interrupted; nothing was written")
        return 130
    print(claim.part(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
