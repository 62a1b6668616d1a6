"""What a run costs: its time at the price of an hour of this machine."""

from __future__ import annotations

import re
from math import inf

from pipeline.benchmark.judge.statistics import speed
from pipeline.benchmark.record.results import Price, Results
from pipeline.benchmark.report.table import ReportTable, Values, by_pair
from pipeline.errors import ConfigError
from pipeline.task.numerals import seconds

_PRICE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([^\W\d_]+|[€$£¥])\s*")


def parse_price(text: str) -> Price:
    """Return a price from its amount and currency.

    Raises
    ------
    ConfigError
        It is not written so, or the amount is not positive and finite.

    Examples
    --------
    >>> parse_price("1.20 EUR")
    Price(per_hour=1.2, currency='EUR')
    """
    match = _PRICE.fullmatch(text)
    if match is None or not 0 < float(match[1]) < inf:
        raise ConfigError(f"--price {text!r}: write the price of an hour, above 0, as '1.20 EUR'")
    return Price(per_hour=float(match[1]), currency=match[2])


def cost_table(results: Results) -> ReportTable:
    """Return what a thousand runs of each cell cost."""
    price = results.price
    unit = f"{price.currency}" if price else ""
    told = f"{price.per_hour:g} {unit} an hour" if price else ""

    def write(results: Results, pipeline: str, variant: str) -> Values | None:
        timed = speed(results, pipeline, variant)
        if timed is None or price is None:
            return None
        cost = 1e3 * timed.median / 3600 * price.per_hour
        return seconds(timed.median), f"{cost:.3g}" if cost < 1_000 else f"{cost:,.0f}"

    return by_pair(
        "Cost",
        ("Median, s", f"Cost of 1,000 runs, {unit}"),
        "rr",
        f"At {told}, of the whole machine, for the time end to end, without its start and storage. "
        "A GPU pays where it is faster by a larger factor than a machine with it costs more.",
    )(write)(results)
