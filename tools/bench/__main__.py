"""Measure a claim of the docs, write its record, print its tables: ``make bench-importance``."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import datasets
from pipeline import records
from pipeline.errors import ConfigError, PipelineError, pick
from tools.bench import files, growth, importance, prediction, preprocessing, programs, searches
from tools.bench.record import say
from tools.bench.runner import Ask, Claim, measure

_MODULES = (files, growth, preprocessing, programs, searches, prediction, importance)
CLAIMS: dict[str, Claim] = {each.CLAIM.name: each.CLAIM for each in _MODULES}
ALL = "all"


def publish(given: argparse.Namespace) -> str:
    """Measure a claim or all, write each ``results.json`` in a folder, and return the tables.

    What was measured before an interruption is forgotten once all that was asked for is measured.
    """
    names = [*CLAIMS] if given.claim == ALL else [pick(given.claim, CLAIMS, "claim")]
    if given.out and len(names) > 1:
        raise ConfigError("--out is the folder of one record; name a claim in place of all")
    kept = [Path("build/bench") / f"{name}.json" for name in names]
    if given.again:
        _forget(kept)
    tables = [_publish(CLAIMS[name], given, each) for name, each in zip(names, kept, strict=True)]
    _forget(kept)
    return "\n\n".join(tables)


def _forget(kept: list[Path]) -> None:
    for each in kept:
        each.unlink(missing_ok=True)


def _publish(claim: Claim, given: argparse.Namespace, kept: Path) -> str:
    repeats = claim.repeats if given.repeats is None else given.repeats
    if repeats < 1:
        raise ConfigError("--repeats must be at least 1")
    cases = [pick(name, claim.names, "case") for name in given.cases.split(",") if name]
    cases = cases or list(claim.names)
    data = given.data_home.resolve()
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench.") as home:
        ask = Ask(claim.settings, repeats, given.seed, Path(home), data, cases)
        found = measure(claim, ask, kept)
    out = given.out or Path("docs/results") / f"{claim.name}-cpu"
    out.mkdir(parents=True, exist_ok=True)
    (out / "results.json").write_bytes(records.dumps(found))
    return claim.part(found)


def main() -> int:
    """Measure and publish; return the exit code."""
    parser = argparse.ArgumentParser(prog=".venv/bin/python -m tools.bench", description=__doc__)
    parser.add_argument("claim", help=", ".join([ALL, *CLAIMS]))
    parser.add_argument("--repeats", type=int, help="timed runs of each variant")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="folder of the record")
    parser.add_argument("--data-home", type=Path, default=Path("data"), help="folder of the data")
    parser.add_argument(
        "--again", action="store_true", help="do not go on after what was interrupted"
    )
    parser.add_argument("--cases", default="", help="with commas; all if not given")
    given = parser.parse_args()
    try:
        print(publish(given))
    except (PipelineError, datasets.DataError, datasets.OutputError) as error:
        say(f"[bench] {error}")
        return error.exit_code
    except KeyboardInterrupt:
        say("[bench] interrupted; the same command goes on from here")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
