"""Axes of the figures: values to per cent of the width, and round ticks."""

from __future__ import annotations

import math
from dataclasses import dataclass

MOST_TICKS = 7

_COARSE = tuple(lead * 10.0**power for power in range(-6, 7) for lead in (1, 2, 5))
_FINE = tuple(round(step / 10, 1) for step in range(2, 31))


@dataclass(frozen=True)
class Tick:
    """A mark on an axis, at a per cent of the width."""

    at: float
    label: str


def place(part: float) -> float:
    """Return the per cent of the width that shows a part, 0 to 1, of an axis."""
    return round(100 * part, 2)


@dataclass(frozen=True)
class Linear:
    """An axis from 0 to `upper`."""

    upper: float

    def __call__(self, value: float) -> float:
        """Return the per cent of the width for a value."""
        return place(value / self.upper if self.upper > 0 else 0.0)

    def ticks(self) -> tuple[Tick, ...]:
        """Return about five round values from 0 on.

        Examples
        --------
        >>> [tick.label for tick in Linear(2.3).ticks()]
        ['0', '0.5', '1', '1.5', '2']
        """
        if self.upper <= 0:
            return (Tick(self(0), "0"),)
        step = next(c for c in _decades(self.upper) if self.upper / c <= MOST_TICKS - 1)
        values = [step * i for i in range(int(self.upper / step + 1e-9) + 1)]
        return tuple(Tick(self(value), f"{value:.6g}") for value in values)


def _decades(upper: float) -> tuple[float, ...]:
    base = 10.0 ** math.floor(math.log10(upper))
    return tuple(base * factor for factor in (0.2, 0.5, 1, 2))


@dataclass(frozen=True)
class Span:
    """An axis over `low` to `high`, with some room, that need not hold 0."""

    low: float
    high: float

    def _ends(self) -> tuple[float, float]:
        room = 0.08 * (self.high - self.low) or 0.01 * abs(self.low) or 1.0
        return self.low - room, self.high + room

    def __call__(self, value: float) -> float:
        """Return the per cent of the axis for a value."""
        start, end = self._ends()
        return place((value - start) / (end - start))

    def ticks(self) -> tuple[Tick, ...]:
        """Return about five round values.

        Examples
        --------
        >>> [tick.label for tick in Span(0.781, 0.812).ticks()]
        ['0.78', '0.79', '0.8', '0.81']
        """
        start, end = self._ends()
        step = next(c for c in _decades(end - start) if (end - start) / c <= MOST_TICKS - 1)
        values = [step * i for i in range(math.ceil(start / step), math.floor(end / step) + 1)]
        return tuple(Tick(self(value), f"{value:.6g}") for value in values)


@dataclass(frozen=True)
class Logarithmic:
    """A logarithmic axis that holds `low`, `high` and 1, all greater than 0."""

    low: float
    high: float

    def _ends(self) -> tuple[float, float]:
        low, high = min(self.low, 1.0), max(self.high, 1.0)
        room = max((high / low) ** 0.08, 1.05)
        return math.log(low / room), math.log(high * room)

    def __call__(self, value: float) -> float:
        """Return the per cent of the width for a value."""
        start, end = self._ends()
        return place((math.log(value) - start) / (end - start))

    def ticks(self) -> tuple[Tick, ...]:
        """Return a few round values, 1 among them.

        Examples
        --------
        >>> [tick.label for tick in Logarithmic(0.04, 1.2).ticks()]
        ['0.05', '0.1', '0.2', '0.5', '1']
        """
        start, end = self._ends()
        within = [
            v for v in (_FINE if end - start < 1.5 else _COARSE) if start <= math.log(v) <= end
        ]
        every = math.ceil(len(within) / MOST_TICKS)
        kept = [v for i, v in enumerate(within) if (i - within.index(1.0)) % every == 0]
        return tuple(Tick(self(value), f"{value:g}") for value in kept)


@dataclass(frozen=True)
class Decades:
    """A logarithmic axis over `low` to `high`, both greater than 0, with some room."""

    low: float
    high: float

    def _ends(self) -> tuple[float, float]:
        room = max((self.high / self.low) ** 0.06, 1.1)
        return math.log(self.low / room), math.log(self.high * room)

    def __call__(self, value: float) -> float:
        """Return the per cent of the axis for a value."""
        start, end = self._ends()
        return place((math.log(value) - start) / (end - start))

    def ticks(self, most: int = MOST_TICKS) -> tuple[Tick, ...]:
        """Return round values, the fewer the longer the axis.

        Examples
        --------
        >>> [tick.label for tick in Decades(20_000, 300_000).ticks()]
        ['20k', '50k', '100k', '200k']
        >>> [tick.label for tick in Decades(0.2, 40).ticks()]
        ['0.3', '1', '3', '10', '30']
        """
        start, end = self._ends()
        for leads in ((1, 1.5, 2, 3, 4, 5, 6, 8), (1, 2, 5), (1, 3), (1,)):
            values = [lead * 10.0**power for power in range(-6, 12) for lead in leads]
            kept = [v for v in values if start <= math.log(v) <= end]
            if len(kept) <= most:
                break
        return tuple(Tick(self(value), short(value)) for value in kept)


def short(value: float) -> str:
    """Write a round number with k or M for thousands and millions.

    Examples
    --------
    >>> short(0.5), short(20_000), short(3e6)
    ('0.5', '20k', '3M')
    """
    for factor, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= factor:
            return f"{value / factor:g}{letter}"
    return f"{value:g}"
