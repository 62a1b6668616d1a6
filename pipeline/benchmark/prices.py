"""What a run costs: a machine's price by the hour, from a table with dates and sources."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec.structs import asdict

from pipeline.benchmark.results import Price
from pipeline.errors import ConfigError

TABLE = Path(__file__).with_name("prices.toml")
_PRICE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Z]{3})\s*")


class _Row(msgspec.Struct, forbid_unknown_fields=True):
    """A price as the file has it."""

    machine: str
    per_hour: Annotated[float, msgspec.Meta(gt=0, lt=1e12)]  # No price is infinite.
    currency: str
    date: date
    source: str


class _Table(msgspec.Struct, forbid_unknown_fields=True):
    price: list[_Row] = []


def parse_price(text: str) -> Price:
    """Return a price that the user named.

    Parameters
    ----------
    text : str
        Amount and currency of an hour.

    Raises
    ------
    ConfigError
        It is not written so.

    Examples
    --------
    >>> parse_price("1.20 EUR").per_hour
    1.2
    """
    match = _PRICE.fullmatch(text)
    if not match:
        raise ConfigError(f"--price {text!r}: write the price of an hour as '1.20 EUR'")
    return Price(
        machine="this machine",
        per_hour=float(match[1]),
        currency=match[2],
        date=date.today().isoformat(),
        source="given with --price",
    )


def find_price(machine: str, path: Path | None = None) -> Price:
    """Return a machine's price from a table.

    Parameters
    ----------
    machine : str
    path : Path, optional
        By default the table that comes with the package.

    Raises
    ------
    ConfigError
        The table cannot be read, or does not have the machine.
    """
    where = path or TABLE
    prices = {price.machine: price for price in _table(where)}
    if machine not in prices:
        there_are = ", ".join(prices) or "none"
        raise ConfigError(
            f"--machine {machine!r} is not in {where.name}, which has: {there_are}; add it to a "
            "copy and name that with --prices, or give --price '1.20 EUR'"
        )
    return prices[machine]


def _table(path: Path) -> list[Price]:
    try:
        table = msgspec.toml.decode(path.read_text("utf-8"), type=_Table)
    except (OSError, UnicodeDecodeError, msgspec.DecodeError) as error:
        raise ConfigError(
            f"--prices {path}: {error}; {TABLE.name} shows how to write it"
        ) from error
    return [Price(**{**asdict(row), "date": row.date.isoformat()}) for row in table.price]
