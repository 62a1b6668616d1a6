"""``.venv/bin/python -m datasets flights [--data-home data]``: make a dataset if need be.

``.venv/bin/python -m datasets synthetic --rows 1e7 --kind regression`` generates one. What is
done goes to standard error, one line per action; the path of the Parquet file goes to
standard output.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import datasets
from datasets import synthetic

INTERRUPTED = 130
_NUMBERS = {
    "rows": "such as 10000000 or 1e7",
    "columns": "features",
    "seed": "of everything random",
    "cardinality": "levels of the categories with many",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Prepare the named datasets and return the exit code.

    It is 0, 2 (unknown dataset), 65 (data), 73 (cannot write) or 130 (interrupted).
    """
    parser = _parser()
    options = vars(parser.parse_args(arguments))
    names, home = options.pop("names"), options.pop("data_home")
    recipe = _recipe(parser, names, options)
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    try:
        for module in [datasets.module(name) for name in names]:
            print(module.prepare(home, *([recipe] if module is synthetic else ())))
    except KeyboardInterrupt:
        return INTERRUPTED
    except (datasets.UnknownDataset, datasets.DataError, datasets.OutputError) as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def _recipe(
    parser: argparse.ArgumentParser, names: list[str], options: dict[str, Any]
) -> synthetic.Recipe:
    """Return the recipe that the options ask for."""
    if options and names != [synthetic.NAME]:
        parser.error(f"--{', --'.join(options)}: for {synthetic.NAME} alone")
    try:
        return synthetic.Recipe(**options)
    except ValueError as error:
        parser.error(f"--{error}")


def _count(text: str) -> int:
    """Return a whole number from ``10000000``, ``10_000_000`` or ``1e7``."""
    try:
        number = Decimal(text)
        if number != int(number):
            raise ValueError
    except (InvalidOperation, ValueError, OverflowError):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
    return int(number)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=".venv/bin/python -m datasets", description="Make a dataset if it is not there yet."
    )
    parser.add_argument("names", nargs="+", metavar="name", help=", ".join(datasets.names()))
    parser.add_argument(
        "--data-home",
        type=Path,
        default=Path("data"),
        help="folder that holds one folder per dataset (default: %(default)s)",
    )
    default = synthetic.DEFAULT
    group = parser.add_argument_group("of synthetic", argument_default=argparse.SUPPRESS)
    group.add_argument("--kind", choices=synthetic.KINDS, help=f"target (default: {default.kind})")
    group.add_argument("--fold", action="store_true", help="add a column to split by, 0 to 99")
    for name, about in _NUMBERS.items():
        usual = getattr(default, name)
        group.add_argument(
            f"--{name}", type=_count, metavar="N", help=f"{about} (default: {usual})"
        )
    return parser


if __name__ == "__main__":
    sys.exit(main())
