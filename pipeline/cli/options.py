"""Options that several commands share."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import reduce
from pathlib import Path
from typing import Any

import click

from pipeline.errors import clean

INTERRUPTED = 130
"""The exit code after Ctrl-C."""


def echo(text: str) -> None:
    """Print text of any origin, without the characters that a terminal would act on."""
    click.echo(clean(text))


def complain(text: str) -> None:
    """Print the same to standard error."""
    click.echo(clean(text), err=True)


def several(*options: Callable[..., Any]) -> Callable[..., Any]:
    """Return one decorator that adds several options, the first one on top."""
    return lambda function: reduce(lambda made, add: add(made), reversed(options), function)


def whole(*names: str, default: int, least: int, about: str) -> Callable[..., Any]:
    """Return an option that takes integers from the least on."""
    kind = integer(least)
    return click.option(*names, default=default, type=kind, show_default=True, help=about)


def integer(least: int, most: int | None = None) -> click.IntRange:
    """Return the type of integers within bounds, under the name that errors use."""
    kind = click.IntRange(least, most)
    kind.name = "integer"
    return kind


def switch(name: str, about: str) -> Callable[..., Any]:
    """Return an option that is on; its name after --no- turns it off."""
    return click.option(f"--{name}/--no-{name}", default=True, show_default=True, help=about)


def names_option(*names: str, about: str) -> Callable[..., Any]:
    """Return an option that takes names with commas between them, and may be repeated."""
    return click.option(*names, multiple=True, metavar="NAMES", callback=_names, help=about)


def _names(ctx: click.Context, param: click.Parameter, texts: Sequence[str]) -> list[str]:
    """Return names that were written as lines of CSV.

    >>> _names(None, None, ['carrier, "price, EUR"', "day"])
    ['carrier', 'price, EUR', 'day']
    """
    try:
        rows = [
            row for text in texts for row in csv.reader([text], skipinitialspace=True, strict=True)
        ]
    except csv.Error as error:
        way = 'quote a name with a comma, as in a,"b, c"'
        raise click.BadParameter(f"{', '.join(texts)}: {error}; {way}", ctx, param) from error
    return [name.strip() for row in rows for name in row if name.strip()]


def count(text: str) -> int:
    """Return an integer, which may be written as a power of ten.

    >>> count("1e6"), count("250_000")
    (1000000, 250000)
    """
    with suppress(ValueError):
        number = float(text)
        if number.is_integer():
            return int(number)
    raise click.BadParameter(f"{text!r} is not an integer; pass a number such as 1000000 or 1e6")


device = click.option("--device", default="auto", help="auto, cpu or cuda.", show_default=True)
pipelines = click.option(
    "--pipelines", default="", help="Names, separated by commas; by default, all."
)
path = click.Path(path_type=Path)
data_home = click.option(
    "--data-home", "home", type=path, default="data", help="Folder of the data.", show_default=True
)
generated = several(
    click.option("--rows", type=count, help="Rows of generated data, such as 1e6."),
    click.option("--years", help="Years of the task airline, such as 2006-2019."),
)
common_options = several(
    click.argument("task"),
    device,
    click.option("--seed", default=0, type=integer(0, 2**32 - 1),
                 help="Seed of everything random.", show_default=True),
    pipelines,
    click.option("--split", help="Split of the task; by default, its first."),
    click.option("--out", type=path, help="Folder for the results."),
    data_home,
    click.option("--set", "changes", multiple=True, metavar="STEP__PARAM=VALUE",
                 help="Change a parameter of the pipelines; can be repeated."),
    generated,
    click.option("--track", metavar="URI",
                 help="Also log the results to this MLflow store, such as sqlite:///mlruns.db."),
)  # fmt: skip
"""The options that `run`, `compare`, `report` and `tune` share."""
_WHERE = "Cluster to run on: local, cuda or tcp://HOST:PORT."
on_cluster = several(
    click.option("--cluster", metavar="WHERE", help=_WHERE),
    click.option("--workers", type=integer(1), help="Workers of the cluster."),
)
"""The options that say whose workers run a command."""
accel_options = several(
    device,
    click.option("--strict", is_flag=True, help="Fail at a call that the engine does not support."),
    click.option("--verify", is_flag=True, help="Run plain scikit-learn too, and compare."),
    whole("--min-size", default=200_000, least=0,
          about="Leave tables with fewer values (rows × columns) to plain scikit-learn."),
)  # fmt: skip
"""The options of the command `accel` and of the magic ``%%pipeline``."""
