"""A block: some rows of some columns, in the form the next twin works on.

`Numbers` is a matrix with NaN for missing; `Categories` is codes beside their
distinct values; `Indicators` is the positions of the ones in a one-hot matrix,
kept unexpanded until it is written; `Joined` is blocks side by side; `Scaled` is
a block times a number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, Protocol

from pipeline import frames
from pipeline.errors import ConfigError


class Block(Protocol):
    """What every form can do."""

    @property
    def width(self) -> int:
        """Number of output columns."""

    def write(self, out: Any) -> None:
        """Fill ``out``, an array of shape (n_rows, width), casting to its dtype."""


@dataclass(frozen=True)
class Numbers:
    """A matrix of numbers, shape (n_rows, width), in the type the columns have together."""

    values: Any

    @property
    def width(self) -> int:
        """Number of columns."""
        return int(self.values.shape[1])

    def write(self, out: Any) -> None:
        """Copy the values."""
        out[...] = self.values


@dataclass(frozen=True)
class Categories:
    """Columns of codes; each with the distinct values its codes point to."""

    columns: Sequence[frames.Coded]

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.columns)

    def write(self, out: Any) -> None:
        """Refuse: only an encoder gives categories a place in a matrix."""
        raise ConfigError(
            "categories reach a step that takes numbers; put OneHotEncoder, OrdinalEncoder or "
            "TargetEncoder before it"
        )


@dataclass(frozen=True)
class Indicators:
    """One-hot columns: per input column, which of `widths` columns holds the one; -1 for none."""

    positions: Sequence[Any]
    widths: Sequence[int]

    @property
    def width(self) -> int:
        """Number of output columns."""
        return sum(self.widths)

    def write(self, out: Any) -> None:
        """Compare each position with its column numbers, straight into the output."""
        xp = frames.array_module(frames.device_of(out))
        edges = accumulate(self.widths, initial=0)
        for positions, (start, stop) in zip(self.positions, pairwise(edges), strict=True):
            xp.equal(positions[:, None], xp.arange(stop - start), out=out[:, start:stop])


@dataclass(frozen=True)
class Joined:
    """Blocks of the same rows, side by side."""

    blocks: Sequence[Block]

    @property
    def width(self) -> int:
        """Number of output columns."""
        return sum(block.width for block in self.blocks)

    def write(self, out: Any) -> None:
        """Write each block into its own columns."""
        edges = accumulate((block.width for block in self.blocks), initial=0)
        for block, (start, stop) in zip(self.blocks, pairwise(edges), strict=True):
            block.write(out[:, start:stop])


@dataclass(frozen=True)
class Scaled:
    """A block whose values are multiplied by a number when they are written."""

    block: Block
    weight: float

    @property
    def width(self) -> int:
        """Number of output columns."""
        return self.block.width

    def write(self, out: Any) -> None:
        """Write the block and multiply in place."""
        self.block.write(out)
        out *= self.weight


def scaled(block: Block, weight: float | None) -> Block:
    """Return a block times a weight; None leaves it as it is.

    >>> import numpy as np
    >>> scaled(Numbers(np.array([[1, 2]])), 3).values.tolist()
    [[3, 6]]
    """
    if weight is None:
        return block
    if isinstance(block, Numbers):
        return Numbers(block.values * weight)
    if isinstance(block, Joined):
        return Joined([scaled(part, weight) for part in block.blocks])
    return Scaled(block, weight)


def as_numbers(block: Block, n_rows: int, xp: Any) -> Numbers:
    """Return a block as a matrix; float64 unless it is one already."""
    if isinstance(block, Numbers):
        return block
    values = xp.empty((n_rows, block.width), dtype="float64")
    block.write(values)
    return Numbers(values)


def as_categories(block: Block, n_rows: int, xp: Any) -> Categories:
    """Return a block as codes; each column of numbers is coded by its distinct values."""
    if isinstance(block, Categories):
        return block
    if isinstance(block, Joined):
        parts = [as_categories(part, n_rows, xp) for part in block.blocks]
        return Categories([column for part in parts for column in part.columns])
    values = as_numbers(block, n_rows, xp).values
    return Categories([frames.coded(values[:, j]) for j in range(block.width)])
