"""The order of timed runs: everything once a round, shuffled in each."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


def turns(lanes: Sequence[T], rounds: int, seed: int) -> Iterator[T]:
    """Yield everything once a round, in a random order that the seed fixes.

    So a machine that grows slower or busier does so for all, and nobody always follows the same
    neighbour.

    Parameters
    ----------
    lanes : sequence
    rounds, seed : int

    Examples
    --------
    >>> order = list(turns("ab", 3, seed=0))
    >>> [sorted(order[i : i + 2]) for i in (0, 2, 4)]
    [['a', 'b'], ['a', 'b'], ['a', 'b']]
    """
    shuffler, order = random.Random(seed), list(lanes)
    for _ in range(rounds):
        shuffler.shuffle(order)
        yield from order
