"""What a run costs: a machine's price by the hour, from a table with dates and sources."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from datetime import date
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec.structs import asdict

from pipeline.benchmark.report.costs import gpus
from pipeline.benchmark.results import Price
from pipeline.errors import ConfigError, clean
from pipeline.system.atomic import write_text

TABLE = Path(__file__).with_name("prices.toml")
_PRICE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Z]{3})\s*")
_HEADER = "# Prices of machines by the hour: `pipeline report TASK --machine NAME --prices FILE`.\n"
_START = "[[price]]"
_STRING = re.compile(r'"(?:\\.|[^"\\])*"|\'[^\']*\'')

_Amount = Annotated[float, msgspec.Meta(gt=0, lt=1e12)]  # No price is infinite.


class _Row(msgspec.Struct, forbid_unknown_fields=True):
    """A price as the file has it."""

    machine: str
    per_hour: _Amount
    currency: str
    date: date
    source: str
    provider: str = ""
    vcpus: _Amount | None = None
    gpu: str = ""
    gpus: Annotated[float, msgspec.Meta(ge=0, lt=1e12)] = 0.0
    region: str = ""
    commit: str = ""

    def __post_init__(self) -> None:
        if bool(self.gpu) != bool(self.gpus):
            raise ValueError("`gpu` is the name of a GPU and `gpus` how many: give both or none")


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
        Its name, or PROVIDER/NAME where several providers have one of that name.
    path : Path, optional
        By default the table that comes with the package.

    Raises
    ------
    ConfigError
        The table cannot be read, or does not have the machine, or has several of that name.

    Examples
    --------
    >>> find_price("lambda/gpu_1x_a6000").per_hour
    0.8
    """
    where = path or TABLE
    table = load_prices(where)
    found = [each for each in table if machine in (each.machine, _full_name(each))]
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(_full_name(each) for each in found)
        raise ConfigError(
            f"--machine {machine!r} is {len(found)} rows of {where.name}: {names}; write it as "
            "PROVIDER/NAME, and have one row of it"
        )
    there_are = ", ".join(each.machine for each in table) or "none"
    raise ConfigError(
        f"--machine {machine!r} is not in {where.name}, which has: {there_are}; add it to a "
        "copy and name that with --prices, or give --price '1.20 EUR'"
    )


def load_prices(path: Path | None = None) -> list[Price]:
    """Return the prices of a table, in its order.

    Parameters
    ----------
    path : Path, optional
        By default the table that comes with the package.

    Raises
    ------
    ConfigError
        The table cannot be read, or a row lacks a field or has a wrong one.
    """
    path = path or TABLE
    try:
        return _decode(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, msgspec.DecodeError) as error:
        raise ConfigError(
            f"--prices {path}: {error}; {TABLE.name} shows how to write it"
        ) from error


def _decode(text: str) -> list[Price]:
    table = msgspec.toml.decode(text, type=_Table)
    return [Price(**{**asdict(row), "date": row.date.isoformat()}) for row in table.price]


def cheapest_of_kinds(prices: Iterable[Price]) -> list[Price]:
    """Return the cheapest machine of each kind, the cheapest first.

    Machines with a GPU are of one kind where GPU and number are the same, those without where they
    have as many vCPUs. Currencies are not mixed.

    Examples
    --------
    >>> [price.machine for price in cheapest_of_kinds(load_prices()) if not price.gpu]
    ['cpu_4x_general', 'cpu-d3_16vcpu-64gb']
    """
    kinds: dict[tuple[object, ...], Price] = {}
    for price in sorted(prices, key=lambda price: price.per_hour):
        what = (price.gpu, price.gpus) if price.gpu else (price.vcpus,)
        kinds.setdefault((price.currency, *what), price)
    return list(kinds.values())


def merge_prices(path: Path, prices: Iterable[Price]) -> int:
    """Write prices into a table; a machine of the same provider and name is replaced.

    Parameters
    ----------
    path : Path
        Made if it does not exist. The text before the first row stays.
    prices : iterable of Price

    Returns
    -------
    int
        How many rows the table has now.

    Raises
    ------
    ConfigError
        The table cannot be read, or has comments between its rows, which would be lost.
    OutputError
        It cannot be written.
    """
    head, old = (_head(path), load_prices(path)) if path.exists() else (_HEADER, [])
    rows = {(each.provider, each.machine): each for each in (*old, *prices)}
    text = head.rstrip("\n") + "\n" + "".join(map(_written, rows.values()))
    write_text(path, text)
    return len(rows)


def _head(path: Path) -> str:
    load_prices(path)
    lines = path.read_text("utf-8").splitlines()
    start = next((i for i, line in enumerate(lines) if line.strip() == _START), len(lines))
    head, body = lines[:start], lines[start:]
    if any("#" in _STRING.sub("", line) for line in body):
        raise ConfigError(
            f"--to {path}: has comments between its rows, which would be lost; move them before "
            f"the first {_START}, or name another file"
        )
    if any(line.strip() and not line.lstrip().startswith("#") for line in head):
        raise ConfigError(f"--to {path}: write each of its rows as {_START}, or name another file")
    return "\n".join(head)


def _written(price: Price) -> str:
    """Write a row, without the fields that are empty."""
    values = {name: value for name, value in asdict(price).items() if value not in ("", 0, None)}
    lines = (f"{name} = {_value(name, value)}" for name, value in values.items())
    return "\n".join(("", _START, *lines, ""))


def _value(name: str, value: str | float) -> str:
    if isinstance(value, str):
        # A basic string of TOML is one of JSON, but for DEL.
        text = json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        return value if name == "date" else text
    return repr(int(value) if value == int(value) else float(value))


def list_lines(prices: Iterable[Price]) -> Iterator[str]:
    """Yield the lines of a listing, the sources below."""
    table = sorted(prices, key=lambda price: (price.provider, price.per_hour))
    sources = dict.fromkeys(map(_source, table))
    numbers = {source: number for number, source in enumerate(sources, 1)}
    head = "Machine", "Provider", "vCPUs", "GPU", "An hour", "Region", "Date", "Source"
    rows = [head, *((*_cells(price), f"[{numbers[_source(price)]}]") for price in table)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(map(str.ljust, row, widths)).rstrip()
    yield from (f"[{number}] {source}" for source, number in numbers.items())


def _cells(price: Price) -> tuple[str, ...]:
    vcpus = "" if price.vcpus is None else f"{price.vcpus:g}"
    amount = f"{price.per_hour:g} {price.currency}"
    texts = price.machine, price.provider, vcpus, gpus(price), amount, price.region, price.date
    return tuple(clean(" ".join(text.split())) for text in texts)


def _source(price: Price) -> str:
    commit = f", commit {price.commit}" if price.commit else ""
    return clean(" ".join(f"{price.source}{commit}".split()))


def _full_name(price: Price) -> str:
    return f"{price.provider}/{price.machine}"
