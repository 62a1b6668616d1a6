"""Measure a claim of the docs, write its record, print its tables: ``make bench-wrapper``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import datasets
from pipeline.benchmark.task import pick
from pipeline.errors import ConfigError, PipelineError
from tools.bench import (
    fits,
    growth,
    importance,
    prediction,
    preprocessing,
    programs,
    search,
    search_workers,
    tuning,
    wrapper,
)
from tools.bench.claim import Ask, Claim, publish
from tools.bench.record import say

CLAIMS: dict[str, Claim] = {
    "preprocessing": preprocessing.CLAIM,
    "wrapper": wrapper.CLAIM,
    "prediction": prediction.CLAIM,
    "importance": importance.CLAIM,
    "programs": programs.CLAIM,
    "tuning": tuning.CLAIM,
    "search": search.CLAIM,
    "search-workers": search_workers.CLAIM,
    "streaming": fits.STREAMING,
    "cluster": fits.CLUSTER,
    "scaling": growth.SCALING,
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
    parser.add_argument("--variants", default="", help="with commas; all if not given")
    parser.add_argument(
        "--set", nargs="+", default=[], metavar="NAME=NUMBERS", help="sizes, as rows=1000,2000"
    )
    parser.add_argument("--no-resume", action="store_true", help="leave finished runs alone")
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
    known = {variant.name: variant for variant in claim.variants}
    return Ask(
        settings={**claim.settings, **dict(_setting(word, claim) for word in given.set)},
        repeats=repeats,
        seed=given.seed,
        data=given.data_home,
        cases=[pick(name, claim.names, "case") for name in given.cases.split(",") if name],
        variants=[pick(name, known, "variant") for name in given.variants.split(",") if name],
    )


def _setting(word: str, claim: Claim) -> tuple[str, tuple[int, ...]]:
    name, _, text = word.partition("=")
    known = claim.settings[pick(name, claim.settings, "setting")]
    try:
        numbers = tuple(int(number) for number in text.split(","))
    except ValueError:
        raise ConfigError(f"--set {word}: give whole numbers, as {name}=1000") from None
    # 0 leaves out what has no default size, and what can be left out.
    if min(numbers) < 0 or (len(known) == 1 and len(numbers) > 1):
        raise ConfigError(f"--set {word}: a number of at least 0 is needed")
    return name, numbers


def main() -> int:
    """Measure and publish; return the exit code."""
    given = arguments()
    try:
        name = pick(given.claim, CLAIMS, "claim")
        claim = CLAIMS[name]
        out = given.out or Path("docs/results") / claim.folder
        found = publish(name, claim, asked(given, claim), out, resume=not given.no_resume)
    except (PipelineError, datasets.DataError, datasets.OutputError) as error:
        say(f"[bench] {error}")
        return error.exit_code
    except KeyboardInterrupt:
        say("[bench] interrupted; nothing was published")
        return 130
    print(claim.details(found) if claim.details else claim.part(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
