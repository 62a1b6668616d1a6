"""A block: some rows of some columns, in the form that the next transformer works on.

`Numbers` is a matrix with NaN for missing; `Categories` is codes and their distinct values;
`Dates` is points in time; `Indicators` is the positions of the ones in a one-hot matrix,
which is not expanded before it is written; `Sparse` is rows of a sparse matrix; `Objects` is
the output of scikit-learn's own transformer on the host; `Joined` is blocks side by side;
`Unread` is columns of the table that nothing has read yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from types import ModuleType
from typing import Any, Protocol

import numpy as np

from pipeline.errors import ConfigError
from pipeline.table import encode, frames
from pipeline.typing import Array, Table

Rows = Any
"""Some rows of a table: a `Part`, which reads its columns as blocks."""


class Block(Protocol):
    """What every form can do."""

    @property
    def width(self) -> int:
        """Number of output columns."""

    def write(self, out: Array, start: int = 0) -> None:
        """Fill columns of ``out``, rows of a matrix of zeros, casting to its dtype."""


@dataclass(frozen=True)
class Matrix:
    """Values, shape (n_rows, width)."""

    values: Any

    @property
    def width(self) -> int:
        """Number of columns."""
        return int(self.values.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        return np.dtype(self.values.dtype)


class Numbers(Matrix):
    """A matrix of numbers, in the type the columns have together."""

    def write(self, out: Array, start: int = 0) -> None:
        """Copy the values."""
        values = self.values
        into = out[:, start : start + values.shape[1]]
        if by_columns(out):
            into, values = into.T, values.T
        into[...] = values


@dataclass(frozen=True)
class Categories:
    """Columns of codes; each with the distinct values its codes point to."""

    columns: Sequence[encode.Coded]

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.columns)

    def write(self, out: Array, start: int = 0) -> None:
        """Raise an error: only an encoder turns categories into numbers."""
        raise ConfigError(
            "a step that needs numbers gets categories; put OneHotEncoder, OrdinalEncoder or "
            "TargetEncoder before it"
        )


@dataclass(frozen=True)
class Objects:
    """Rows of a frame, or of a matrix of any type, of the host."""

    whole: Any
    """All rows of the table."""
    rows: slice

    @property
    def width(self) -> int:
        """Number of columns."""
        return int(self.whole.shape[1])

    @property
    def values(self) -> np.ndarray:
        """The values as scikit-learn makes a matrix of them."""
        rows = self.whole.iloc if frames.is_frame(self.whole) else self.whole
        return np.asarray(rows[self.rows])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        return np.asarray(self.whole[:1]).dtype

    def write(self, out: Array, start: int = 0) -> None:
        """Copy the values; what is no number has a place in a matrix of objects alone."""
        out[:, start : start + self.width] = self.values


class Dates(Matrix):
    """Points in time: nanoseconds since 1970, or `MISSING`."""

    def write(self, out: Array, start: int = 0) -> None:
        """Raise an error: only a transformer of dates turns them into numbers."""
        raise ConfigError("a step that needs numbers gets dates; put CalendarFeatures before it")


@dataclass(frozen=True)
class Unread:
    """Columns of the table as they are: the next twin reads them in its own form."""

    names: Sequence[Any]

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.names)

    def write(self, out: Array, start: int = 0) -> None:
        """Raise an error: they must be read first, by `as_numbers`."""
        raise RuntimeError(f"the columns {list(self.names)} were not read as numbers")


@dataclass(frozen=True)
class Indicators:
    """One-hot columns: per input column, which of `widths` columns holds the one; -1 for none."""

    positions: Sequence[Any]
    widths: Sequence[int]
    dtype: Any = np.float64
    """What scikit-learn would hold the ones in."""

    @property
    def width(self) -> int:
        """Number of output columns."""
        return sum(self.widths)

    def write(self, out: Array, start: int = 0) -> None:
        """Set the ones; zeros are there already."""
        xp, (zero, one) = frames.xp(out), np.arange(2).astype(self.dtype).tolist()
        if out.dtype == object:  # where 0 and 0.0 are two values
            out[:, start : start + self.width] = zero
        cells = np.arange(len(out)) * out.shape[1] if xp is np else None
        for positions, width in zip(self.positions, self.widths, strict=True):
            if cells is None:
                _compare(out[:, start : start + width], positions, xp)
            else:  # a value a row is touched
                places = cells + (positions + start)
                if (positions < 0).any():
                    places = places[positions >= 0]
                out.reshape(-1)[places] = one
            start += width


def _compare(into: Array, positions: Any, xp: ModuleType) -> None:
    """Write all columns at once: one kernel that makes nothing else, and no wait for the GPU."""
    rows, columns = positions[:, None], xp.arange(into.shape[1])
    if by_columns(into):
        into, rows, columns = into.T, rows.T, columns[:, None]
    xp.equal(rows, columns, out=into)


@dataclass(frozen=True)
class Sparse(Matrix):
    """Rows of a CSR matrix: of SciPy, or of CuPyX on a GPU."""

    def write(self, out: Array, start: int = 0) -> None:
        """Set the cells that are there."""
        cells = self.values.tocoo()
        if not self.values.has_canonical_format:
            cells.sum_duplicates()
        out[cells.row, cells.col + start] = cells.data


def by_columns(out: Array) -> bool:
    """Return whether the columns of a matrix are contiguous; CuPy goes along its last axis.

    >>> import numpy as np
    >>> by_columns(np.zeros((9, 2))), by_columns(np.zeros((9, 2), order="F"))
    (False, True)
    """
    return bool(out.strides[0] < out.strides[1])


@dataclass(frozen=True)
class Joined:
    """Blocks of the same rows, side by side; `join` makes it."""

    blocks: Sequence[Block]
    """None of them is a `Joined`."""

    @property
    def width(self) -> int:
        """Number of output columns."""
        return sum(map(attrgetter("width"), self.blocks))

    def write(self, out: Array, start: int = 0) -> None:
        """Write each block into its own columns."""
        for block in self.blocks:
            block.write(out, start)
            start += block.width


def join(blocks: Iterable[Block]) -> Joined:
    """Return blocks side by side.

    >>> len(join([Unread(["a"]), join([Unread(["b"]), Unread(["c"])])]).blocks)
    3
    """
    parts: list[Block] = []
    for block in blocks:
        parts += block.blocks if isinstance(block, Joined) else (block,)
    return Joined(parts)


def flat(block: Block) -> Sequence[Block]:
    """Return the blocks side by side that a block is made of."""
    return block.blocks if isinstance(block, Joined) else [block]


def take_columns(kept: np.ndarray, rows: Rows, block: Block) -> Joined:
    """Return some columns of a block, each as it is: those of the table stay unread.

    >>> take_columns(np.array([1, 2]), None, join([Unread(["a", "b"]), Unread(["c"])]))
    Joined(blocks=[Unread(names=['b']), Unread(names=['c'])])
    """
    parts = flat(block)
    ends = np.cumsum([part.width for part in parts])
    chosen = []
    for part, end in zip(parts, ends, strict=True):
        here = kept[(kept >= end - part.width) & (kept < end)] - (end - part.width)
        if len(here):
            chosen.append(_pick(part, here, rows))
    return Joined(chosen)


def _pick(block: Block, here: np.ndarray, rows: Rows) -> Block:
    if isinstance(block, Unread):
        return Unread([block.names[j] for j in here])
    if isinstance(block, Objects):
        whole = block.whole
        return Objects(
            whole.iloc[:, here] if frames.is_frame(whole) else whole[:, here], block.rows
        )
    if isinstance(block, Sparse):
        return Sparse(block.values[:, here])
    values = as_numbers(block, rows).values
    return Numbers(values.take(frames.to_device_of(here, values), axis=1))


def fill_missing(values: Array, missing: Array, fill: Any, xp: ModuleType) -> Any:
    """Return a matrix with a value, or one a column, where it is missing.

    >>> import numpy as np
    >>> fill_missing(np.array([[1.0, 2.0]]), np.array([[False, True]]), 0.5, np).tolist()
    [[1.0, 0.5]]
    """
    if xp is not np:
        # To ask first whether any is missing would be to wait for the GPU.
        return xp.where(missing, fill, values)
    if not missing.any():
        return values
    values = values.copy(order="K")
    np.copyto(values, fill, where=missing)
    return values


_letter = attrgetter("kind")


def common_type(blocks: Sequence[Block]) -> np.dtype[Any]:
    """Return the type that holds the numbers of blocks side by side, as `numpy.hstack` does it.

    >>> import numpy as np
    >>> ints, floats = Numbers(np.ones((1, 1), "int32")), Numbers(np.ones((1, 1), "float32"))
    >>> common_type([ints]), common_type([ints, floats])
    (dtype('int32'), dtype('float64'))
    """
    known: list[Any] = []
    for block in blocks:
        if isinstance(block, Numbers | Indicators | Sparse | Objects):
            known.append(np.dtype(block.dtype))
    if not {*map(_letter, known)} <= {*"iufb"}:
        return known[0] if len({*known}) == 1 else np.dtype(object)
    return np.result_type(*known) if known else np.dtype("float64")


def as_numbers(block: Block, rows: Rows) -> Numbers:
    """Return a block as one matrix, in the type that its columns have together."""
    if isinstance(block, Numbers):
        return block
    if isinstance(block, Unread):
        return rows.read(block.names, Numbers)
    parts = [as_numbers(part, rows) if isinstance(part, Unread) else part for part in flat(block)]
    values = rows.xp.zeros((rows.n_rows, block.width), dtype=common_type(parts))
    Joined(parts).write(values)
    return Numbers(values)


def as_categories(block: Block, rows: Rows) -> Categories:
    """Return a block as codes; each column of numbers is coded by its distinct values."""
    if isinstance(block, Categories):
        return block
    if isinstance(block, Unread):
        return rows.read(block.names, Categories)
    if isinstance(block, Joined):
        parts = [as_categories(part, rows) for part in block.blocks]
        return Categories([column for part in parts for column in part.columns])
    values = as_numbers(block, rows).values
    return Categories(encode.all_coded(values.T))


def as_dates(block: Block, rows: Rows) -> Dates:
    """Return a block of dates, unless a step before has made numbers or categories of them."""
    if isinstance(block, Dates):
        return block
    if isinstance(block, Unread):
        return rows.read(block.names, Dates)
    raise ConfigError(
        "CalendarFeatures needs dates, but an earlier step has converted them; put it first in its "
        "pipeline"
    )


def holds_others(block: Block, X: Table) -> bool:
    """Return whether a block holds anything but numbers."""
    if isinstance(block, Unread):
        return not all(frames.is_numeric(frames.column(X, name).dtype) for name in block.names)
    if isinstance(block, Objects):
        return block.dtype.kind not in "iufb"
    return isinstance(block, Categories | Dates)
