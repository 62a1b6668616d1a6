"""Options that several commands share."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from pipeline.errors import ConfigError, clean
from pipeline.optional import PYTHON

INTERRUPTED = 130
"""The exit code after Ctrl-C."""


def echo(text: str, *, err: bool = False) -> None:
    """Print text of any origin, without the characters that a terminal would obey."""
    click.echo(clean(text), err=err)


def common_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that `run`, `compare` and `report` share."""
    options = (
        click.argument("task"),
        click.option("--device", default="auto", help="auto, cpu or cuda.", show_default=True),
        click.option("--seed", default=0, type=click.IntRange(0, 2**32 - 1),
                     help="For everything random.", show_default=True),
        click.option("--pipelines", default="", help="Names, with commas; all by default."),
        click.option("--split", default=None, help="A split of the task; its first by default."),
        click.option("--out", type=click.Path(path_type=Path), help="Folder for the results."),
        click.option("--data-home", "home", type=click.Path(path_type=Path), default=Path("data"),
                     help="Folder of the data.", show_default=True),
        click.option("--set", "changes", multiple=True, metavar="STEP__PARAM=VALUE",
                     help="Change a parameter of the pipelines; may be repeated."),
        click.option("--rows", type=count, help="Of generated data, as 1e6."),
        click.option("--years", help="Of the task airline, as 2006-2019."),
    )  # fmt: skip
    for option in reversed(options):
        function = option(function)
    return function


def on_cluster(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say whose workers run a command."""
    about = "Run on local or cuda workers, or on those of tcp://HOST:PORT."
    where = click.option("--cluster", default=None, metavar="WHERE", help=about)
    number = click.IntRange(min=1)
    workers = click.option("--workers", default=None, type=number, help="Of the cluster.")
    return where(workers(function))


def count(text: str) -> int:
    """Return a whole number, be it written as a power of ten.

    >>> count("1e6"), count("250_000")
    (1000000, 250000)
    """
    number = float(text)
    if not number.is_integer():
        raise ValueError(f"{text!r} is not a whole number")
    return int(number)


class Names(click.ParamType[list[str]]):
    """Names with commas between them, written as a line of CSV.

    >>> Names().convert('carrier, "price, EUR"', None, None)
    ['carrier', 'price, EUR']
    """

    name = "names"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> list[str]:
        """Return the names."""
        if isinstance(value, list):
            return value
        try:
            rows = list(csv.reader([value], skipinitialspace=True, strict=True))
        except csv.Error as error:
            self.fail(f'{value}: {error}; write a,"b, c" for two names', param, ctx)
        return [name.strip() for row in rows for name in row if name.strip()]


def check_named(model: str, source: str, target: str) -> None:
    """Check that ``predict`` was told what with, of what and where to.

    Raises
    ------
    ConfigError
        Something is missing; it says how to name it.
    """
    given = {"MODEL": model, "IN": source, "OUT": target}
    lost = [name for name, value in given.items() if not value.strip()]
    if lost:
        way = f"{PYTHON} -m pipeline predict MODEL IN OUT"
        raise ConfigError(f"predict needs {', '.join(lost)}: {way}")
