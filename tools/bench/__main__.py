"""Measure, and write the record: ``python -m tools.bench``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import datasets
from pipeline.benchmark.task import pick
from pipeline.errors import ConfigError, PipelineError
from pipeline.system.atomic import publishing
from tools.bench import schema
from tools.bench.markdown import report
from tools.bench.preprocessing import CASES, Bench
from tools.bench.variants import VARIANTS


def arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/results/preprocessing-cpu"))
    parser.add_argument("--data-home", type=Path, default=Path("data"), help="folder of the data")
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the generated table")
    parser.add_argument("--memory-rows", type=int, default=5_000_000, help="0: no memory case")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", default=",".join(CASES), help="with commas")
    parser.add_argument("--variants", default=",".join(VARIANTS), help="with commas")
    return parser.parse_args()


def checked(given: argparse.Namespace) -> Bench:
    """Return what to measure.

    Raises
    ------
    ConfigError
        A name is unknown, or a number too small.
    """
    chosen, variants = given.cases.split(","), given.variants.split(",")
    for name in chosen:
        pick(name, CASES, "case")
    for name in variants:
        pick(name, VARIANTS, "variant")
    for option, least in {"rows": 1, "memory_rows": 0, "repeats": 1}.items():
        if getattr(given, option) < least:
            raise ConfigError(f"--{option.replace('_', '-')} must be at least {least}")
    return Bench(
        home=given.data_home,
        rows=given.rows,
        memory_rows=given.memory_rows,
        repeats=given.repeats,
        seed=given.seed,
        cases=chosen,
        variants=variants,
    )


def main() -> int:
    """Measure and publish; return the exit code."""
    given = arguments()
    try:
        bench = checked(given)
        with publishing(given.out) as folder:
            found = bench.measure(lambda line: print(line, file=sys.stderr, flush=True))
            (folder / "results.json").write_bytes(schema.dumps(found))
            (folder / "report.md").write_text(report(found))
        print(report(found))
    except (PipelineError, datasets.DataError, datasets.OutputError) as error:
        print(f"[bench] {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("[bench] interrupted; nothing was written", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
