"""A frame cut into blocks of rows, and the loop that runs over them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from threading import Lock
from typing import Any, Protocol, TypeVar

import numpy as np

from pipeline.data import frames
from pipeline.preprocessing.engine.blocks import Categories, Dates, Numbers
from pipeline.system.threads import each, pieces

T = TypeVar("T")

CHUNK_ROWS = 16_384
"""Rows a CPU thread works on at a time: a block of 20 float64 columns is 2.6 MB,
which stays in the caches between the steps."""

CHUNK_CELLS = CHUNK_ROWS * 64
"""Where there are more than 64 columns, blocks have fewer rows, so that they stay as small."""

GPU_CELLS = 2**24
"""Cells that a GPU works on at a time: enough to keep it busy for much longer than the launch of
a kernel takes, and as float64 128 MiB, so that what the steps make of a block needs little room
beside the table and the matrix."""

FEW_ROWS = 2_048
"""Rows of which the columns are read sooner than threads are started."""

READERS: dict[type, Callable[[Any, Any], Any]] = {
    Numbers: frames.numbers,
    Categories: frames.categories,
    Dates: frames.datetimes,
}
"""Form of a block -> what makes an array, or `frames.Coded`, of a column."""


Brought = dict[int, tuple[Any, Any]]
"""What stands for arrays elsewhere, by their ids; an array is held, lest another gets its id."""


def once(brought: Brought, bring: Callable[[Any], Any], arrays: Sequence[Any]) -> list[Any]:
    """Return what stands for arrays elsewhere; one that several steps share is brought once.

    >>> brought, array = {}, [1]
    >>> once(brought, list, [array])[0] is once(brought, list, [array])[0]
    True
    """
    for array in arrays:
        if id(array) not in brought:
            brought[id(array)] = array, bring(array)
    return [brought[id(array)][1] for array in arrays]


class Data(Protocol):
    """What a program is fitted on: the rows of one table, or of many."""

    @property
    def like(self) -> Any:
        """A frame or an array with the columns and types of the table."""

    def first(self) -> Part:
        """Return the first row."""

    def widen(self, width: int) -> None:
        """Make room for blocks that are wider than the table: they have fewer rows."""

    def narrowed(self, names: Sequence[Any]) -> Data:
        """Return the rows of which nothing but these columns will be read."""

    def bring(self, aligned: Sequence[Any]) -> list[Any]:
        """Return host arrays with one entry a row in a place from where parts can take theirs."""

    def reduce(self, partial: Callable[[Part], T], merge: Callable[[T, T], T]) -> T:
        """Merge the statistics of all parts."""


class Table:
    """The columns of a frame as arrays, converted when first read and cut into blocks by rows.

    Parameters
    ----------
    X : frame or array, shape (n_rows, n_columns)
        Where it lives is where the blocks live.
    own : sequence of array
        The entries for these rows in arrays of which `Cut` names one.
    """

    def __init__(self, X: Any, own: Sequence[Any] = ()) -> None:
        self.X, self.own = X, own
        self.device = frames.device_of(X)
        self.xp = frames.array_module(self.device)
        self.n_rows = int(X.shape[0])
        self.widest = max(1, int(X.shape[1]))
        self._columns: dict[type, dict[Any, Any]] = {form: {} for form in READERS}
        self._brought: Brought = {}
        self._lock = Lock()

    @property
    def like(self) -> Any:
        """A frame or an array with the columns and types of the table."""
        return self.X

    def columns(self, form: type, names: Sequence[Any]) -> list[Any]:
        """Return whole columns as arrays; each is converted once, whichever thread asks."""
        store = self._columns[form]
        with self._lock:
            new = [name for name in names if name not in store]
            store.update(zip(new, self._made(form, new), strict=True))
        return [store[name] for name in names]

    def _made(self, form: type, names: Sequence[Any]) -> Iterable[Any]:
        """Return whole columns; a GPU is waited for once for what is to be known of all."""
        if self.device == "cpu":
            apply = map if self.n_rows < FEW_ROWS else each
            return apply(lambda name: READERS[form](self.X, name), names)
        if form is Categories:
            return map(_small, frames.all_categories(self.X, names))
        made = [self._number(name) for name in names]
        for j in frames.any_of([infinite for _, infinite in made]):
            frames.numbers(self.X, names[j])
        return [column for column, _ in made]

    def _number(self, name: Any) -> tuple[Any, Any]:
        """Return a column on a GPU, or None; and whether some numbers of it are infinite.

        cuDF makes a copy of a column that it fills, even where nothing is missing. Once all of it
        was looked at, each block makes its own; but where it has another type, rows with and
        without missing values would differ.
        """
        column = frames.unchecked(self.X, name)
        own = frames.is_frame(self.X) and column.dtype == frames.column(self.X, name).dtype
        floats = column.dtype.kind == "f"
        infinite = self.xp.isinf(column).any() if floats else self.xp.zeros((), dtype=bool)
        return None if own else column, infinite

    def first(self) -> Part:
        """Return the first row."""
        return Part(self, slice(0, min(1, self.n_rows)))

    def widen(self, width: int) -> None:
        """Make room for blocks that are wider than the table: they have fewer rows."""
        self.widest = max(self.widest, width)

    def narrowed(self, names: Sequence[Any]) -> Table:
        """Return the table itself: a column that is not read costs nothing."""
        return self

    def parts(self, width: int = 0) -> list[Part]:
        """Return the blocks' rows.

        Parameters
        ----------
        width : int
            Columns that are made of the table, where they are more than it has; for a GPU.
        """
        step = self._step(width)
        edges = range(0, self.n_rows, step)
        return [Part(self, slice(i, min(i + step, self.n_rows))) for i in edges]

    def _step(self, width: int) -> int:
        if self.device == "cpu":
            return max(1, min(CHUNK_ROWS, CHUNK_CELLS // self.widest))
        n_parts = pieces() * -(-self.n_rows * max(self.widest, width) // GPU_CELLS)
        return max(1, -(-self.n_rows // max(1, n_parts)))

    def each(self, function: Callable[[Part], T], width: int = 0) -> Iterator[T]:
        """Call a function for each block, in order.

        On the CPU all cores do. A GPU takes one block after another, since each has all of it
        and needs room.
        """
        return (map if self.device == "cuda" else each)(function, self.parts(width))

    def bring(self, aligned: Sequence[Any]) -> list[Any]:
        """Return host arrays with one entry a row where the table is."""
        return once(self._brought, lambda array: frames.to_device(array, self.device), aligned)

    def reduce(self, partial: Callable[[Part], T], merge: Callable[[T, T], T]) -> T:
        """Merge the statistics of all blocks, in order, whatever thread made them.

        Each is let go once it is merged: those of encoders are as long as their dictionaries.
        """
        return reduce(merge, self.each(partial))


@dataclass(frozen=True)
class Cut:
    """Stands for an array with one entry a row, of which every partition has its own entries."""

    number: int


@dataclass(frozen=True)
class Part:
    """Some rows of a table."""

    table: Table
    rows: slice

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.rows.stop - self.rows.start)

    @property
    def xp(self) -> Any:
        """NumPy or CuPy: where the table lives."""
        return self.table.xp

    def read(self, names: Sequence[Any], form: type) -> Any:
        """Return the rows of some columns as a block."""
        if form is Dates and self.table.device == "cuda":
            # A slice of a cuDF frame is no copy, and as integers all rows would stay in memory.
            rows = self.table.X[self.rows]
            return Dates(side_by_side([frames.datetimes(rows, n) for n in names], self.table.xp))
        columns = self.table.columns(form, names)
        if form is Categories:
            return Categories([frames.Coded(c.codes[self.rows], c.values) for c in columns])
        pairs = zip(names, columns, strict=True)
        return form(side_by_side([self._rows(name, c) for name, c in pairs], self.table.xp))

    def _rows(self, name: Any, column: Any) -> Any:
        if column is None:
            return frames.values_of(frames.column(self.table.X, name).iloc[self.rows])
        return column[self.rows]

    def of(self, aligned: Sequence[Any]) -> list[Any]:
        """Return the entries of these rows in arrays as long as the whole table."""
        return [frames.to_device(self._of(array), self.table.device) for array in aligned]

    def _of(self, array: Any) -> Any:
        if isinstance(array, Cut):
            return self.table.own[array.number][self.rows]
        return array[self.rows]


def _small(column: frames.Coded) -> frames.Coded:
    """Return codes that take as little room as they can: they stay as long as the table does."""
    small = np.min_scalar_type(-1 - len(column.values))
    return frames.Coded(column.codes.astype(small, copy=False), column.values)


def side_by_side(columns: Sequence[Any], xp: Any) -> Any:
    """Return columns as a matrix in which each is contiguous.

    >>> side_by_side([np.array([1, 2]), np.array([3, 4])], np).tolist()
    [[1, 3], [2, 4]]
    """
    # Integers stay integers: as floats, large ones would fall together.
    dtype = np.result_type(*(column.dtype for column in columns))
    values = xp.empty((len(columns), columns[0].shape[0]), dtype=dtype)
    for j, column in enumerate(columns):
        values[j] = column
    return values.T
