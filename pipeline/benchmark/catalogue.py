"""Prices from a ``vms.csv`` of the SkyPilot catalogue, which says the prices of most clouds.

A row is a machine in a region; its columns are described in the README of
``github.com/skypilot-org/skypilot-catalog``. Amounts are in US dollars an hour. Spot prices, which
change by the hour, are not read.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from dataclasses import dataclass
from datetime import date
from math import isfinite
from pathlib import Path
from typing import NamedTuple

from pipeline.benchmark.results import Price
from pipeline.errors import ConfigError

COLUMNS = ("InstanceType", "AcceleratorName", "AcceleratorCount", "vCPUs", "Price", "Region")
REPOSITORY = "skypilot-org/skypilot-catalog"
MOST_NAMED = 5
"""Faulty lines, or regions, that a message names."""
_COMMIT = re.compile(r"[0-9a-f]{7,40}")
_MAKER = re.compile(r"'Manufacturer': '([^']*)'")
_OTHERS = re.compile(r"tpu|trainium|inferentia|gaudi|mi\d|radeon", re.IGNORECASE)
"""Accelerators that are no NVIDIA GPU; not every file says who made them."""

_Line = tuple[int, dict[str, str]]


@dataclass(frozen=True)
class Catalogue:
    """A file of the catalogue, with what its rows do not say.

    Parameters
    ----------
    path : Path
        A ``vms.csv``.
    commit : str
        Of the catalogue, 7 to 40 hexadecimal digits.
    date : str
        When the prices were looked up: ISO 8601.
    provider : str, default=""
        By default the folder, if the file lies as in the catalogue (``catalogs/v8/nebius``).
    source : str, default=""
        Where the file is from; by default the catalogue's repository and path.
    """

    path: Path
    commit: str
    date: str
    provider: str = ""
    source: str = ""

    def read(self, region: str = "") -> Imported:
        """Return the prices.

        Parameters
        ----------
        region : str, default=""
            The one whose prices are taken; by default the cheapest of each machine.

        Raises
        ------
        ConfigError
            The file cannot be read, rows are faulty, the region is not there, or something that
            the file does not say was not given.
        """
        provider, source = self.provider or self._folder(), self.source or self._source()
        self._require(provider)
        lines, counts, best = _lines(self.path), Counter[str](), dict[str, Price]()
        _require_machines(self.path, lines)
        faults: list[str] = []
        for number, cells in lines:
            try:
                price = _price(cells, provider, self.date, source, self.commit)
            except ValueError as error:
                faults.append(f"line {number}: {error}")
                continue
            kept = _why_left_out(cells, price, region)
            counts[kept] += 1
            known = best.get(cells["InstanceType"])
            if not kept and price and (known is None or price.per_hour < known.per_hour):
                best[price.machine] = price
        if faults:
            raise ConfigError(f"--import {self.path}: {_some(faults, '; ')}")
        _require_region(self.path, lines, region)
        imported = Imported([*best.values()], len(lines), region, counts)
        if not best:
            raise ConfigError(f"--import {self.path}: no price to take: {imported}")
        return imported

    def _folder(self) -> str:
        parts = self.path.resolve().parts
        return parts[-2] if len(parts) > 4 and parts[-4] == "catalogs" else ""

    def _source(self) -> str:
        parts = self.path.resolve().parts
        inside = parts[-4:] if len(parts) > 4 and parts[-4] == "catalogs" else parts[-1:]
        return f"{REPOSITORY}, {'/'.join(inside)}"

    def _require(self, provider: str) -> None:
        given = {"--provider": provider, "--commit": self.commit, "--date": self.date}
        lost = [name for name, value in given.items() if not value.strip()]
        if lost:
            raise ConfigError(
                f"--import {self.path}: the file does not say its {', '.join(lost)}: give "
                "--provider NAME, --commit HASH of the catalogue and --date YYYY-MM-DD, when it "
                "was looked up"
            )
        if not _COMMIT.fullmatch(self.commit):
            raise ConfigError(
                f"--commit {self.commit!r}: write 7 to 40 hexadecimal digits in lower case"
            )
        if not _is_date(self.date):
            raise ConfigError(f"--date {self.date!r}: write it as YYYY-MM-DD")


class Imported(NamedTuple):
    """Prices of a catalogue, and what was left out.

    Parameters
    ----------
    prices : list of Price
        One of each machine.
    rows : int
        Of the file.
    region : str
        As asked for.
    counts : Counter
        Why a row was left out -> how many were; empty for the rows that were read.
    """

    prices: list[Price]
    rows: int
    region: str
    counts: Counter[str]

    def __str__(self) -> str:
        where = f"in {self.region}" if self.region else "each in its cheapest region"
        left = "".join(f"; {count} left out: {why}" for why, count in self.counts.items() if why)
        return f"{self.rows} rows, {len(self.prices)} machines, {where}{left}"


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _lines(path: Path) -> list[_Line]:
    """Return the rows with the numbers of their last lines."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            lost = [name for name in COLUMNS if name not in (reader.fieldnames or ())]
            if lost:
                raise ConfigError(
                    f"--import {path}: has no column {', '.join(lost)}; a vms.csv of {REPOSITORY} "
                    f"has {', '.join(COLUMNS)}"
                )
            lines = [(reader.line_num, cells) for cells in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ConfigError(f"--import {path}: {error}") from error
    odd = [f"line {n}: not as many cells as the head" for n, cells in lines if _ragged(cells)]
    if odd:
        raise ConfigError(f"--import {path}: {_some(odd, '; ')}")
    return [(number, {k: v.strip() for k, v in cells.items()}) for number, cells in lines]


def _ragged(cells: dict[str, str]) -> bool:
    # csv.DictReader puts what is too much under None, and None where a cell is missing.
    return any(name is None or value is None for name, value in cells.items())


def _require_machines(path: Path, lines: list[_Line]) -> None:
    """Check that accelerators come with their machines, which could else be taken for CPUs."""
    for number, cells in lines:
        if not cells["InstanceType"] and cells["AcceleratorName"]:
            raise ConfigError(
                f"--import {path}: line {number} prices {cells['AcceleratorName']!r} without a "
                "machine, so that the file's machines are priced without their GPUs; add both up "
                "and write the machines that you need into a table for --prices"
            )


def _require_region(path: Path, lines: list[_Line], region: str) -> None:
    regions = dict.fromkeys(cells["Region"] for _, cells in lines)
    if region and region not in regions:
        raise ConfigError(f"--region {region!r} is not in {path}; it has: {_some([*regions])}")


def _price(
    cells: dict[str, str], provider: str, looked_up: str, source: str, commit: str
) -> Price | None:
    """Return the price of a row, or None where it has none."""
    amount = _number(cells, "Price")
    vcpus, gpus = _number(cells, "vCPUs"), _number(cells, "AcceleratorCount")
    machine, gpu = cells["InstanceType"], cells["AcceleratorName"]
    if not machine:
        raise ValueError("InstanceType is empty")
    if bool(gpu) != bool(gpus):
        raise ValueError(
            f"AcceleratorName is {gpu!r}, AcceleratorCount {cells['AcceleratorCount']!r}"
        )
    if not amount:
        return None
    return Price(
        machine=machine, per_hour=amount, currency="USD", date=looked_up, source=source,
        provider=provider, vcpus=vcpus or None, gpu=gpu, gpus=gpus, region=cells["Region"],
        commit=commit,
    )  # fmt: skip


def _number(cells: dict[str, str], column: str) -> float:
    """Return a cell's number, 0 where it is empty."""
    try:
        number = float(cells[column] or 0)
    except ValueError:
        number = -1.0
    if number < 0 or not isfinite(number):
        raise ValueError(f"{column} is {cells[column]!r}, which is no number from 0 up")
    return number


def _why_left_out(cells: dict[str, str], price: Price | None, region: str) -> str:
    maker = _MAKER.search(cells.get("GpuInfo", ""))
    foreign = maker[1].upper() != "NVIDIA" if maker else _OTHERS.match(cells["AcceleratorName"])
    if price is None:
        return "without a price"
    if foreign:
        return "with an accelerator that is not NVIDIA's"
    return "of other regions" if region and cells["Region"] != region else ""


def _some(texts: list[str], between: str = ", ") -> str:
    """Join the first of some texts, and say how many more there are."""
    more = len(texts) - MOST_NAMED
    return between.join(texts[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
