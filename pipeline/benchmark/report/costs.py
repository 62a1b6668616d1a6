"""What a run costs: its time at the price of an hour of this machine."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from math import inf

from pipeline.benchmark.judge.statistics import speed, time_ratio
from pipeline.benchmark.record.results import Price, Results
from pipeline.benchmark.report.table import ReportTable, Values, by_pair, pairs
from pipeline.errors import ConfigError
from pipeline.task.numerals import on_gpu, seconds

NOT_PRICED = "Not priced: --price '1.20 EUR' says what an hour of this machine costs."
_PRICE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([^\W\d_]+|[€$£¥])\s*")
_WHOLE = "Of the whole machine, for the time end to end, without its start and storage."
_HOW = (
    "At this price of an hour a machine without a GPU, as fast as this one is without its GPU, "
    "costs as much a run: this machine's price times the ratio of medians. Above it, a GPU pays."
)
_NO_GPU = (
    "A machine with a GPU is worth its price if its speed-up is at least its price over that of "
    "the machine without; here no run on a GPU stands beside one without."
)


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
    """Return what a thousand runs of each cell cost; no row where there is no price."""
    unit = results.price.currency if results.price else ""
    note = f"At {_told(results.price)}. {_WHOLE}" if results.price else NOT_PRICED
    head = "Median, s", f"Cost of 1,000 runs, {unit}"
    return by_pair("Cost", head, "rr", note)(_cost)(results)


def equal_price_table(results: Results) -> ReportTable:
    """Return the price of a machine without a GPU at which a run costs as much as on this one."""
    unit = results.price.currency if results.price else ""
    head = "Fastest without a GPU", f"Price of equal cost, {unit}/h", "Interval of that price"
    table = by_pair("When a GPU is worth its price", head, "lrl", _HOW)(_equal_price)(results)
    return table if table.rows else replace(table, note=_NO_GPU if results.price else "")


def cost_lines(results: Results) -> Iterator[str]:
    """Yield what the fastest run of each pipeline costs, where there is a price."""
    price, least = results.price, dict[str, float]()
    for pipeline, variant in pairs(results):
        if timed := speed(results, pipeline, variant):
            least[pipeline] = min(timed.median, least.get(pipeline, timed.median))
    if price and least:
        costs = ", ".join(
            f"{name} {_amount(price, 1_000 * taken)}" for name, taken in least.items()
        )
        yield f"1,000 runs of the fastest variant in {price.currency}, at {_told(price)}: {costs}"


def _cost(results: Results, pipeline: str, variant: str) -> Values | None:
    timed, price = speed(results, pipeline, variant), results.price
    return (
        (seconds(timed.median), _amount(price, 1_000 * timed.median)) if timed and price else None
    )


def _equal_price(results: Results, pipeline: str, variant: str) -> Values | None:
    """Set a run on a GPU beside the fastest without one; None where either is lacking."""
    price, on = results.price, {each.name: on_gpu(each.device) for each in results.variants}
    timed = {name: speed(results, pipeline, name) for name, gpu in on.items() if not gpu}
    medians = {name: each.median for name, each in timed.items() if each}
    if price is None or not medians or not on[variant]:
        return None
    fastest = min(medians, key=lambda name: medians[name])
    if (ratio := time_ratio(results, pipeline, variant, fastest)) is None:
        return None
    value, *ends = (_amount(price, 3600 * x) for x in (ratio.value, *(ratio.interval or ())))
    return fastest, value, ", ".join(filter(None, ("–".join(ends), ratio.note)))


def _amount(price: Price, taken: float) -> str:
    """Write what these seconds cost."""
    value = taken / 3600 * price.per_hour
    return f"{value:.3g}" if value < 1_000 else f"{value:,.0f}"


def _told(price: Price) -> str:
    return f"{price.per_hour:g} {price.currency} an hour"
