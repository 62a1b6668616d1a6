"""Random numbers that depend only on (seed, stream, row).

NumPy's Philox is a function of a key and a counter: the key is the seed and the stream, the
counter is the row, so any range of rows can be drawn by itself. The bits are processed only with
arithmetic that IEEE 754 rounds the same way everywhere, and with tables of quantiles rounded well
above the precision of any C library.
"""

from __future__ import annotations

from functools import cache
from math import log
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

KNOTS = 4096
_WORDS = 4


def bits(seed: int, stream: int, start: int, stop: int) -> NDArray[np.uint64]:
    """Return 64 random bits for each row from `start` to before `stop`.

    >>> bool((bits(0, 1, 5, 9) == bits(0, 1, 0, 9)[5:]).all())
    True
    """
    skipped = start % _WORDS
    counter = np.array([start // _WORDS, 0, 0, 0], np.uint64)
    source = np.random.Philox(key=np.array([seed, stream], np.uint64), counter=counter)
    return np.asarray(source.random_raw(stop - start + skipped)[skipped:], np.uint64)


def uniform(seed: int, stream: int, start: int, stop: int) -> Floats:
    """Return a number in [0, 1) with 53 random bits for each row of a range."""
    whole = bits(seed, stream, start, stop) >> np.uint64(11)
    return np.asarray(whole * 2.0**-53, np.float64)


def quantile(ranks: Floats, shape: str) -> Floats:
    """Return the quantiles of a distribution for ranks in [0, 1), linear between 4,096 knots.

    The shapes are "normal", "skewed" (exponential) and "heavy" (a signed square of the logistic).

    >>> quantile(np.array([0.5]), "normal").tolist()
    [0.0]
    """
    table, place = _table(shape), ranks * KNOTS
    knot = place.astype(np.int64)
    low = table[knot]
    return np.asarray(low + (table[knot + 1] - low) * (place - knot), np.float64)


@cache
def _table(shape: str) -> Floats:
    # The ends are infinite: the outermost knots stand half a step inside.
    inside = [min(max(k, 0.5), KNOTS - 0.5) / KNOTS for k in range(KNOTS + 1)]
    return np.array([round(_exact(rank, shape), 9) for rank in inside])


def _exact(rank: float, shape: str) -> float:
    if shape == "normal":
        return NormalDist().inv_cdf(rank)
    if shape == "skewed":
        return -log(1 - rank)
    logistic = log(rank / (1 - rank))
    return logistic * abs(logistic)


@cache
def zipf_edges(levels: int) -> Floats:
    """Return the cumulative probabilities of levels of which level k has weight 1 / (k + 1)."""
    total = np.cumsum(1.0 / np.arange(1, levels + 1))
    return np.asarray(total / total[-1], np.float64)


def zipf(ranks: Floats, levels: int) -> NDArray[np.int32]:
    """Return a level, from 0, the most frequent, for each rank in [0, 1).

    >>> zipf(np.array([0.6, 0.7]), 2).tolist()
    [0, 1]
    """
    return np.searchsorted(zipf_edges(levels), ranks, side="right").astype(np.int32)
