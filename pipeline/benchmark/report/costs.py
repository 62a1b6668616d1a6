"""What a run costs, and the speed-up at which a machine with a GPU pays."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.benchmark.report.format import on_gpu, seconds, times
from pipeline.benchmark.report.table import ReportTable, TableCell, Values, by_pair, pairs, row
from pipeline.benchmark.results import Price, Results
from pipeline.benchmark.statistics import speed

NOT_PRICED = (
    "Not priced: the price of this machine was not named. --machine NAME takes it from the table "
    "of prices (.venv/bin/python -m pipeline prices lists it); --price '1.20 EUR' gives it."
)
NOT_MEASURED = "not measured"
_LEFT_OUT = "The start of the machine and storage are left out."
_HOW = (
    "Pays from: the price of the machine with a GPU over that of the one without; a run that is so "
    "many times faster costs the same on both. Measured: the median of the fastest variant without "
    "a GPU over that of the fastest with one, end to end, both on this machine. Of each kind of "
    "machine, the cheapest in the table."
)


def cost_table(results: Results) -> ReportTable:
    """Return the cost of a run of each cell; no row where there is no price."""
    price = results.price

    def write(results: Results, *pair: str) -> Values | None:
        if price is None or (timed := speed(results, *pair)) is None:
            return None
        return seconds(timed.median), f"{cost(timed.median, price):.3g}"

    note = NOT_PRICED if price is None else " ".join(_about(results, price))
    head = ("Median, s", f"Cost of a run, {price.currency if price else ''}")
    return by_pair("Cost of a run", head, "rr", note)(write)(results)


def cost(taken: float, price: Price) -> float:
    """Return what a machine costs for a time.

    Parameters
    ----------
    taken : float
        Seconds.
    price : Price

    Returns
    -------
    float
        In the currency of the price.

    Examples
    --------
    >>> price = Price(machine="m", per_hour=1.8, currency="USD", date="2026-01-31", source="a bill")
    >>> cost(20.0, price)
    0.01
    """
    return taken * price.per_hour / 3600


def _about(results: Results, price: Price) -> Iterator[str]:
    """Yield what the price is of, and what speaks against it."""
    where = f" in {price.region}" if price.region else ""
    yield f"{_name(price)}{where}: {price.per_hour:g} {price.currency} an hour, {_source(price)}."
    yield "Of the whole machine, whatever part of it a variant used, and for the time end to end."
    yield _LEFT_OUT
    if price.gpu and not results.machine.gpus:
        yield "The price is of a machine with a GPU, which no run used here."
    elif price.vcpus is not None and price.vcpus != results.machine.cores:
        cores = results.machine.cores
        yield f"The price is of {price.vcpus:g} vCPUs; this machine has {cores} logical processors."


def break_even_table(results: Results) -> ReportTable:
    """Return from which speed-up on a machine with a GPU is worth its price.

    A row sets a machine with a GPU beside one without, one of which is this machine. Without a row
    the note says why; it is empty where this machine has no price, which the cost table tells.
    """
    sides = list(_sides(results))
    money = results.price.currency if results.price else ""
    head = ("Machine without a GPU", f"{money}/h", "Machine with a GPU", "GPU")
    return ReportTable(
        "The speed-up at which a machine with a GPU pays",
        (*head, f"{money}/h", "Pays from", "Measured"),
        "lrllrrl",
        tuple(row(*_compare(results, *each)) for each in sides),
        " ".join(_notes(results) if sides else _why_none(results)),
    )


def break_even(without: Price, with_gpu: Price) -> float:
    """Return the speed-up at which a run costs the same on a machine with a GPU.

    Parameters
    ----------
    without, with_gpu : Price
        In one currency.

    Examples
    --------
    >>> same = {"currency": "USD", "date": "2026-01-31", "source": "a bill"}
    >>> small = Price(machine="a", per_hour=0.4, **same)
    >>> break_even(small, Price(machine="b", per_hour=3.0, **same))
    7.5
    """
    return with_gpu.per_hour / without.per_hour


def _has_gpu(results: Results) -> bool:
    return bool(results.machine.gpus or (results.price and results.price.gpu))


def _others(results: Results) -> list[Price]:
    """Return the machines that could run what was measured, whatever their currency.

    Times without a GPU hold for as many processors only.
    """
    mine = results.price
    if mine is None:
        return []
    if not _has_gpu(results):
        return [other for other in results.other_prices if other.gpu]
    vcpus = mine.vcpus or results.machine.cores
    return [p for p in results.other_prices if not p.gpu and p.vcpus == vcpus and p != mine]


def _sides(results: Results) -> Iterator[tuple[Price, Price]]:
    """Yield a machine without a GPU and one with."""
    mine = results.price
    for other in sorted(_others(results), key=lambda price: price.per_hour):
        if mine is not None and other.currency == mine.currency:
            yield (other, mine) if _has_gpu(results) else (mine, other)


def _compare(results: Results, without: Price, with_gpu: Price) -> Values:
    limit = break_even(without, with_gpu)
    gpu = gpus(with_gpu) or ", ".join(each.name for each in results.machine.gpus)
    prices = f"{without.per_hour:g}", f"{with_gpu.per_hour:g}"
    named = _name(without), prices[0], _name(with_gpu), gpu, prices[1]
    return *named, times(limit), _judge(measured_gains(results), limit)


def gpus(price: Price) -> str:
    """Write the GPUs of a machine; nothing where it has none.

    Examples
    --------
    >>> same = {"currency": "USD", "date": "2026-01-31", "source": "a bill", "per_hour": 3.0}
    >>> gpus(Price(machine="a", gpu="H100", gpus=1.0, **same))
    'H100'
    >>> gpus(Price(machine="b", gpu="H100", gpus=8.0, **same))
    '8 × H100'
    """
    return price.gpu if price.gpus in (0, 1) else f"{price.gpus:g} × {price.gpu}"


def _judge(gains: dict[str, float], limit: float) -> TableCell:
    said = (f"{name} {times(x)}: {_word(x, limit)}" for name, x in gains.items())
    tones = {_word(x, limit) for x in gains.values()}
    tone = {"pays": "good", "does not pay": "bad"}[tones.pop()] if len(tones) == 1 else ""
    return TableCell("; ".join(said), tone) if gains else TableCell(NOT_MEASURED, "quiet")


def _word(gain: float, limit: float) -> str:
    return "pays" if gain > limit else "does not pay"


def measured_gains(results: Results) -> dict[str, float]:
    """Return by pipeline how many times faster the fastest variant on a GPU is than off it.

    Pipelines of which only one side ran are left out.
    """
    devices = {variant.name: variant.device for variant in results.variants}
    sides: dict[str, dict[bool, float]] = {}
    for pipeline, variant in pairs(results):
        if timed := speed(results, pipeline, variant):
            side, gpu = sides.setdefault(pipeline, {}), on_gpu(devices[variant])
            side[gpu] = min(timed.median, side.get(gpu, timed.median))
    return {p: side[False] / side[True] for p, side in sides.items() if len(side) == 2}


def _notes(results: Results) -> Iterator[str]:
    yield _HOW
    yield _LEFT_OUT
    mine = results.price
    other = sum(mine is not None and p.currency != mine.currency for p in _others(results))
    if other:
        yield f"Left out, as their prices are in another currency: {other}."
    shown = {f"{_source(p)}." for side in _sides(results) for p in side if p != mine}
    yield f"Prices: {' '.join(sorted(shown))}"


def _why_none(results: Results) -> Iterator[str]:
    """Yield why no machine is set beside this one."""
    mine = results.price
    if mine is None:
        return
    vcpus = f"{mine.vcpus or results.machine.cores:g} vCPUs and no GPU"
    wanted = vcpus if _has_gpu(results) else "a GPU"
    yield (
        "The speed-up at which a GPU pays is not known: the table of prices has no machine with "
        f"{wanted} in {mine.currency}, and currencies are not converted."
    )


def cost_lines(results: Results) -> Iterator[str]:
    """Yield the cost of each pipeline's cheapest run and the break-even, where there is a price."""
    mine = results.price
    if mine is None:
        return
    least: dict[str, float] = {}
    for pipeline, variant in pairs(results):
        if timed := speed(results, pipeline, variant):
            least[pipeline] = min(timed.median, least.get(pipeline, timed.median))
    told = ", ".join(f"{name} {cost(taken, mine):.3g}" for name, taken in least.items())
    if told:
        yield f"cost of the fastest run in {mine.currency}, on {_name(mine)}: {told}"
    if limits := [(break_even(*side), side) for side in _sides(results)]:
        limit, (without, with_gpu) = min(limits, key=lambda each: each[0])
        gains = [f"{name} {times(gain)}" for name, gain in measured_gains(results).items()]
        said = f"measured: {', '.join(gains)}" if gains else NOT_MEASURED
        yield (
            f"a GPU pays from a speed-up of {times(limit)} "
            f"({_name(with_gpu)} beside {_name(without)}); {said}"
        )


def _name(price: Price) -> str:
    return f"{price.provider}/{price.machine}" if price.provider else price.machine


def _source(price: Price) -> str:
    commit = f", commit {price.commit}, on demand, not spot" if price.commit else ""
    return f"{price.date}, {price.source}{commit}"
