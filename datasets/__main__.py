"""``.venv/bin/python -m datasets flights [--data-home data]``: create a dataset if it is missing.

``.venv/bin/python -m datasets synthetic --rows 1e7 --kind regression`` generates one. Progress
goes to standard error, one line per action; the path of the Parquet file goes to standard
output.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, NoReturn

from . import errors, module, names, synthetic

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
    """Prepare the named datasets and return the exit code.

    It is 0, 2 (unknown dataset), 65 (data), 73 (cannot write) or 130 (interrupted).
    """
    parser = _parser()
    known, others = parser.parse_known_args(arguments)
    if others and not others[0].startswith("-"):
        parser.error(f"unexpected argument {others[0]!r}; put all names before the options")
    if others:
        parser.error(errors.unknown("option", others[0].partition("=")[0], _OPTIONS))
    options = vars(known)
    chosen, home = options.pop("names"), options.pop("data_home")
    recipe = _recipe(parser, chosen, options)
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    try:
        for each in [module(name) for name in chosen]:
            print(each.prepare(home, *([recipe] if each is synthetic else ())))
    except KeyboardInterrupt:
        return INTERRUPTED
    except (errors.UnknownDataset, errors.DataError, errors.OutputError) as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def _recipe(
    parser: argparse.ArgumentParser, chosen: list[str], options: dict[str, Any]
) -> synthetic.Recipe:
    """Return the recipe that the options ask for."""
    if options and chosen != [synthetic.NAME]:
        parser.error(f"--{', --'.join(options)}: an option of {synthetic.NAME} alone; omit it")
    try:
        return synthetic.Recipe(**options)
    except ValueError as error:
        parser.error(f"--{error}")


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
        prog=".venv/bin/python -m datasets", description="Create a dataset if it is missing."
    )
    parser.add_argument("names", nargs="+", metavar="name", help=", ".join(names()))
    parser.add_argument(
        "--data-home",
        type=Path,
        default=Path("data"),
        help="folder with one folder per dataset (default: %(default)s)",
    )
    default = synthetic.DEFAULT
    group = parser.add_argument_group("options of synthetic", argument_default=argparse.SUPPRESS)
    kinds = ", ".join(synthetic.KINDS)
    group.add_argument("--kind", help=f"kind of target: {kinds} (default: {default.kind})")
    group.add_argument("--fold", action="store_true", help="add a column to split by, 0 to 99")
    for name, about in _NUMBERS.items():
        usual = getattr(default, name)
        group.add_argument(
            f"--{name}", type=_count, metavar="N", help=f"{about} (default: {usual})"
        )
    return parser


if __name__ == "__main__":
    sys.exit(main())
