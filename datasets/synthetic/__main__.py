"""``.venv/bin/python -m datasets.synthetic --rows 1e7 --kind regression``: generate a table.

Progress goes to standard error; the path of the Parquet file goes to standard output.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import NoReturn

from .. import errors
from . import DEFAULT, KINDS, Recipe, prepare

INTERRUPTED = 130
_NUMBERS = {
    "rows": "rows, such as 10000000 or 1e7",
    "columns": "feature columns",
    "seed": "seed of everything random",
    "cardinality": "levels of the categories with many levels",
}
_OPTIONS = ["--data-home", "--kind", "--fold", *(f"--{name}" for name in _NUMBERS)]


class _Parser(argparse.ArgumentParser):
    """A parser whose errors have the form of all others."""

    def error(self, message: str) -> NoReturn:
        """Print what is wrong and what to do, and exit with 2."""
        way = "" if ";" in message else f"; see `{self.prog} --help`"
        self.exit(2, f"error: {message.removeprefix('argument ')}{way}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Generate a table and return the exit code: 0, 65 (data), 73 (cannot write) or 130."""
    parser = _parser()
    known, others = parser.parse_known_args(arguments)
    if others:
        parser.error(errors.unknown("option", others[0].partition("=")[0], _OPTIONS))
    options = vars(known)
    home = options.pop("data_home")
    try:
        recipe = Recipe(**options)
    except ValueError as error:
        parser.error(f"--{error}")
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    try:
        print(prepare(home, recipe))
    except KeyboardInterrupt:
        return INTERRUPTED
    except (errors.DataError, errors.OutputError) as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def _count(text: str) -> int:
    """Return an integer from ``10000000``, ``10_000_000`` or ``1e7``."""
    try:
        number = Decimal(text)
        if number != int(number):
            raise ValueError
    except (InvalidOperation, ValueError, OverflowError):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not an integer; pass a number such as 1000000 or 1e6"
        ) from None
    return int(number)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog=".venv/bin/python -m datasets.synthetic",
        description="Generate a table if it is missing.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument(
        "--data-home", type=Path, default=Path("data"), help="folder with one folder per dataset"
    )
    parser.add_argument("--kind", default=DEFAULT.kind, help=f"of target: {', '.join(KINDS)}")
    parser.add_argument("--fold", action="store_true", help="add a column to split by, 0 to 99")
    for name, about in _NUMBERS.items():
        default = getattr(DEFAULT, name)
        parser.add_argument(f"--{name}", type=_count, metavar="N", default=default, help=about)
    return parser


if __name__ == "__main__":
    sys.exit(main())
