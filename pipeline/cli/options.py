"""What the commands were given, checked before any data are read."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from pipeline.errors import ConfigError


def shared(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that `run`, `compare` and `report` share."""
    options = (
        click.argument("task"),
        click.option("--device", default="auto", help="auto, cpu or cuda.", show_default=True),
        click.option("--seed", default=0, type=click.IntRange(0, 2**32 - 1),
                     help="For everything random.", show_default=True),
        click.option("--specs", default="", help="Programs, with commas; all by default."),
        click.option("--split", default=None, help="A split of the task; its first by default."),
        click.option("--out", type=click.Path(path_type=Path), help="Folder for the results."),
        click.option("--home", type=click.Path(path_type=Path), default=Path("data"),
                     help="Folder of the data.", show_default=True),
        click.option("--set", "changes", multiple=True, metavar="STEP__PARAM=VALUE",
                     help="Change a parameter of the specs; may be repeated."),
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


def prepared(
    task: str,
    *,
    device: str,
    seed: int,
    specs: str,
    split: str | None,
    home: Path,
    changes: Sequence[str],
    **asked: Any,
) -> tuple[Any, Any, list[str]]:
    """Check everything that can be checked before data is read; then verify the data."""
    from pipeline.benchmark.measure import Job
    from pipeline.benchmark.task import load
    from pipeline.planning import lower
    from pipeline.system import devices

    choice = devices.choose(device)
    what = load(task)
    what.split(split)
    chosen = listed(specs, what.specs)
    parsed = dict(change(text) for text in changes)
    for name in chosen:
        lower.lower(what.spec(name, seed, parsed), choice.name, fallback=device == "auto")
    path = what.data(home, **asked)
    return what, Job(task, chosen[0], device, path, seed, split, parsed), chosen


def listed(text: str, known: Any) -> list[str]:
    """Return the names in a list with commas; all that are known for an empty one."""
    from pipeline.benchmark.task import pick

    names = [name.strip() for name in text.split(",") if name.strip()]
    return list(dict.fromkeys(pick(name, known, "spec") for name in names)) or list(known)


def change(text: str) -> tuple[str, Any]:
    """Return name and value of ``STEP__PARAM=VALUE``; what is no literal is text."""
    name, equals, value = text.partition("=")
    if not equals:
        raise ConfigError(f"--set {text}: write it as STEP__PARAM=VALUE")
    try:
        return name.strip(), ast.literal_eval(value.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return name.strip(), value.strip()


def count(text: str) -> int:
    """Return a whole number, be it written as a power of ten.

    >>> count("1e6"), count("250_000")
    (1000000, 250000)
    """
    number = float(text)
    if number != int(number):
        raise ValueError(f"{text!r} is not a whole number")
    return int(number)
