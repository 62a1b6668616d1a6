"""``python -m datasets flights [--home data]``: make a dataset if it is not there yet.

What is done goes to standard error, one line per action; the path of the Parquet
file goes to standard output.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence
from pathlib import Path

import datasets

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Prepare the named datasets and return the exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        In place of ``sys.argv[1:]``.

    Returns
    -------
    int
        0, 2 (unknown dataset), 65 (data), 73 (cannot write) or 130 (interrupted).
    """
    options = _parser().parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    try:
        for module in [datasets.module(name) for name in options.names]:
            print(module.prepare(options.home))
    except KeyboardInterrupt:
        return INTERRUPTED
    except (datasets.UnknownDataset, datasets.DataError, datasets.CannotWrite) as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m datasets", description="Make a dataset if it is not there yet."
    )
    parser.add_argument("names", nargs="+", metavar="name", help=", ".join(datasets.names()))
    parser.add_argument(
        "--home",
        type=Path,
        default=Path("data"),
        help="folder that holds one folder per dataset (default: %(default)s)",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
