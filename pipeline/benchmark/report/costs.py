"""What a run costs: its time at the price of an hour of this machine."""

from __future__ import annotations

import re
from math import inf

from pipeline.benchmark.judge.statistics import speed, time_ratio
from pipeline.benchmark.record.results import Price, Results
from pipeline.benchmark.report.table import ReportTable, Values, by_pair
from pipeline.errors import ConfigError
from pipeline.task.numerals import MISSING, on_gpu, seconds

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
    """Return what a thousand runs of each cell cost, and when a GPU is worth its price."""
    unit = results.price.currency if results.price else ""
    told = _told(results.price) if results.price else ""
    return by_pair(
        "Cost",
        ("Median, s", f"Cost of 1,000 runs, {unit}", f"Equal price without a GPU, {unit}/h"),
        "rrr",
        f"At {told}, of the whole machine, for the time end to end, without its start and storage. "
        "Equal price: at this price of an hour, a machine without a GPU, as fast as this one is "
        "without its GPU, costs as much a run; above it, the GPU pays.",
    )(_cost)(results)


def _cost(results: Results, pipeline: str, variant: str) -> Values | None:
    timed, price = speed(results, pipeline, variant), results.price
    if timed is None or price is None:
        return None
    cost = seconds(timed.median), _amount(price, 1e3 * timed.median)
    on = {each.name: on_gpu(each.device) for each in results.variants}
    others = {name: speed(results, pipeline, name) for name, gpu in on.items() if not gpu}
    medians = {name: each.median for name, each in others.items() if each}
    if not on[variant] or not medians:
        return *cost, MISSING
    ratio = time_ratio(results, pipeline, variant, min(medians, key=medians.__getitem__))
    if ratio is None:
        return *cost, MISSING
    value, *ends = (_amount(price, 3600 * x) for x in (ratio.value, *(ratio.interval or ())))
    return *cost, f"{value} ({', '.join(filter(None, ('–'.join(ends), ratio.note)))})"


def _amount(price: Price, taken: float) -> str:
    """Write what these seconds cost."""
    value = taken / 3600 * price.per_hour
    return f"{value:.3g}" if value < 1_000 else f"{value:,.0f}"


def _told(price: Price) -> str:
    return f"{price.per_hour:g} {price.currency} an hour"
