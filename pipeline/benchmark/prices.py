"""What a run costs: a machine's price by the hour, from a table with dates and sources."""

from __future__ import annotations

import re
import tomllib
from datetime import date
from pathlib import Path
from typing import Any

from pipeline.benchmark.results import Price
from pipeline.errors import ConfigError
from pipeline.typing import Params

TABLE = Path(__file__).with_name("prices.toml")
_PRICE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Z]{3})\s*")
_FIELDS: dict[str, Any] = {
    "machine": str,
    "per_hour": (int, float),
    "currency": str,
    "date": date,
    "source": str,
}


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
    found = _PRICE.fullmatch(text)
    if not found:
        raise ConfigError(f"--price {text!r}: write the price of an hour as '1.20 EUR'")
    return Price(
        machine="this machine",
        per_hour=float(found[1]),
        currency=found[2],
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
        rows = tomllib.loads(path.read_text("utf-8")).get("price", [])
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"--prices {path}: {error}") from error
    if not isinstance(rows, list):
        raise ConfigError(f"--prices {path}: write each machine under [[price]]")
    return [_price(path, number, row) for number, row in enumerate(rows, 1)]


def _price(path: Path, number: int, row: Params) -> Price:
    for name, kind in _FIELDS.items():
        if not isinstance(row.get(name), kind) or isinstance(row.get(name), bool):
            raise ConfigError(f"--prices {path}: price {number} has no valid {name!r}")
    if unknown := row.keys() - _FIELDS.keys():
        raise ConfigError(f"--prices {path}: price {number} has an unknown {min(unknown)!r}")
    if not 0 < row["per_hour"] < float("inf"):
        raise ConfigError(f"--prices {path}: price {number}: 'per_hour' is not above 0")
    return Price(**{**row, "per_hour": float(row["per_hour"]), "date": row["date"].isoformat()})
