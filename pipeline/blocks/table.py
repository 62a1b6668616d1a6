"""A table as programs read and write it: columns become blocks of rows, and blocks a matrix.

A column is converted once, when it is first read. The blocks are small enough to stay in a
processor's caches between the steps, or large enough to keep a GPU busy. The output is one
matrix, or a frame if `set_output` asks for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from itertools import filterfalse
from operator import attrgetter, is_, itemgetter
from threading import Lock
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa

from pipeline.blocks.block import (
    Block,
    Categories,
    Dates,
    Indicators,
    Numbers,
    Objects,
    Unread,
    as_numbers,
    by_columns,
    common_type,
    flat,
)
from pipeline.errors import DataError
from pipeline.system import devices, threads
from pipeline.system.threads import pieces
from pipeline.table import encode, frames, output
from pipeline.typing import Names

T = TypeVar("T")

Making = Callable[[tuple[int, int], Any], AbstractContextManager[Any]]

CHUNK_ROWS = 16_384
"""Rows a CPU thread works on at a time: a block of 20 float64 columns is 2.6 MB,
which stays in the caches between the steps."""

CHUNK_CELLS = CHUNK_ROWS * 64
"""Where there are more than 64 columns, blocks have fewer rows, so that they stay as small."""

GPU_CELLS = 2**27
"""The most cells that a GPU works on at a time, as float64 1 GiB: its work on them takes longer
than the hundreds of calls that ask for it."""

KEPT_CELLS = 2**16
"""The most cells of a table, and of a block of all its rows, that are kept while it is fitted."""

WIDE = 16
"""From this many columns on, reading and adding row by row is as fast as by column."""

FEW_CELLS = 32
"""Texts of a column that are encoded sooner as objects than by Arrow."""

FEW_ROWS = 2_048
"""Rows of which the columns are read sooner than threads are started."""


class Table:
    """The columns of a frame as arrays, converted when first read and cut into blocks by rows.

    The blocks live where X does. `own` are the entries for these rows in arrays that `Cut` numbers.
    """

    def __init__(self, X: Any, own: Sequence[Any] = ()) -> None:
        self.X = X
        self.like = self.top = X
        """With the columns and types of the table; and beginning with its first row."""
        self.framed = hasattr(X, "columns")
        self.names = X.columns.tolist() if self.framed else list(range(X.shape[1]))
        """Of the columns; their positions where they are not `framed`."""
        self.own = own
        self.xp = frames.xp(X)
        self.device = "cpu" if self.xp is np else "cuda"
        self.n_rows = int(X.shape[0])
        self.widest = max(1, int(X.shape[1]))
        """Columns of the widest block: wider ones have fewer rows."""
        self.keeps = False
        """While a program is fitted, what its steps make of all rows is kept for the next ones."""
        self._columns: dict[type, dict[Any, Any]] = {}
        self._lock = Lock()

    def columns(self, form: type, names: Sequence[Any]) -> list[Any]:
        """Return whole columns as arrays; each is converted once, whichever thread asks."""
        with self._lock:
            store = self._columns.setdefault(form, {})
            new = [*filterfalse(store.__contains__, names)]
            if new:
                store.update(zip(new, self._convert(form, new), strict=True))
        return list(map(store.__getitem__, names))

    def let_go(self) -> None:
        """Forget the columns that were converted; who reads them again converts them again."""
        with self._lock:
            self._columns.clear()
        # Arrow keeps what it has freed, and all of it was for codes.
        pa.default_memory_pool().release_unused()

    @cached_property
    def _held(self) -> dict[Any, Any]:
        """The columns as pandas holds them, not to be written to; empty for other tables."""
        if not isinstance(self.X, pd.DataFrame):
            return {}
        return dict(zip(self.names, frames.arrays(self.X), strict=True))

    @property
    def by_column(self) -> bool:
        """Whether each column lies in one piece."""
        first = self._held[self.names[0]] if self._held else self.X
        if type(first) is not np.ndarray:
            return self.framed
        return first.flags.c_contiguous if first.ndim == 1 else by_columns(first)

    @cached_property
    def by_row(self) -> np.ndarray | None:
        """The numbers, if they lie in the host's memory row by row, as one array; else None.

        Also None for narrow rows, which are added up faster by column.
        """
        n_columns = len(self.names)
        if self.n_rows * n_columns > KEPT_CELLS and n_columns < WIDE:
            return None
        if self.by_column or self.device == "cuda":
            return None
        if len({id(getattr(each, "base", each)) for each in self._held.values()}) > 1:
            return None  # several blocks of pandas, which would be copied to one
        values = np.asarray(self.X)
        if values.dtype.kind not in "iuf" or abs(values.strides[0]) <= abs(values.strides[1]):
            return None
        if values.dtype.kind == "f" and np.isinf(values).any():
            for name in self.names:
                frames.numbers(self.X, name)
        return values

    def _convert(self, form: type, names: Sequence[Any]) -> Iterable[Any]:
        """Return whole columns; a GPU is waited for once for what is to be known of all."""
        one_by_one = self.device == "cuda" or self.n_rows < FEW_ROWS
        apply = map if one_by_one else threads.each
        if form is Numbers and self.device == "cpu":
            return self._few_numbers(names) if one_by_one else apply(self._number, names)
        if form is Numbers:
            pairs = [self._number_on_gpu(name) for name in names]
            for j in frames.any_of([infinite for _, infinite in pairs]):
                frames.numbers(self.X, names[j])
            return [column for column, _ in pairs]
        if form is Categories and self.device == "cuda":
            return map(_small, encode.all_categories(self.X, names))
        if form is Categories:
            return apply(self._coded, names)
        return apply(partial(frames.datetimes, self.X), names)

    def _number(self, name: Any) -> np.ndarray:
        """Return a column of the host, no number of which is infinite."""
        column = self._plain(name)
        if column.dtype.kind == "f" and np.isinf(column).any():
            frames.numbers(self.X, name)
        return column

    def _few_numbers(self, names: Sequence[Any]) -> list[np.ndarray]:
        """Return columns as `_number` does, and look once whether a number is infinite."""
        columns = [self._plain(name) for name in names]
        floats = [column for column in columns if column.dtype.kind == "f"]
        if floats and np.isinf(np.concatenate(floats)).any():
            for name in names:
                frames.numbers(self.X, name)
        return columns

    def _plain(self, name: Any) -> np.ndarray:
        """Return a column of the host as numbers."""
        held = self._held.get(name)
        if isinstance(held, np.ndarray) and held.dtype.kind in "iufb":
            return held
        return frames.values_of(frames.column(self.X, name), name)

    def _coded(self, name: Any) -> encode.Coded:
        """Return a column of the host as codes."""
        cells = self._held.get(name)
        if cells is None or self.X.attrs.get(frames.NONE):
            return encode.categories(self.X, name)
        if self.n_rows <= FEW_CELLS and (few := encode.encode_few(cells)) is not None:
            return few
        if isinstance(cells, pd.Categorical):
            return encode.encode_declared(cells, name)
        return encode.categories(self.X, name)

    def _number_on_gpu(self, name: Any) -> tuple[Any, Any]:
        """Return a column, and whether some numbers of it are infinite.

        cuDF makes a copy of a column that it fills, even where nothing is missing. Once all of it
        was looked at, each block makes its own, for which None stands; but where it has another
        type, rows with and without missing values would differ.
        """
        series = self.X[name] if self.framed else self.X[:, name]
        column = frames.values_of(series, name)
        own = series is not column and column.dtype == series.dtype
        floats = column.dtype.kind == "f"
        infinite = self.xp.isinf(column).any() if floats else self.xp.zeros((), dtype=bool)
        return None if own else column, infinite

    def has(self, types: Sequence[tuple[Any, Any]]) -> bool:
        """Return whether columns have these types, or others of which the matrix has the same."""
        found = self.types([name for name, _ in types])
        fitted = [dtype for _, dtype in types]
        if all(map(is_, found, fitted)):
            return True
        return all(map(_alike, found, fitted)) and _common(found) == _common(fitted)

    def types(self, names: Sequence[Any]) -> list[Any]:
        """Return the types of columns."""
        held = self._held or self.X
        return [held[name].dtype if self.framed else self.X.dtype for name in names]

    def first(self) -> Part:
        """Return the first row; of a table that is one block, all of it, which is made anyway."""
        return Part(self, slice(0, self.n_rows if self.keeps else min(1, self.n_rows)))

    @property
    def whole(self) -> Part:
        """All rows."""
        return Part(self, slice(0, self.n_rows))

    def select(self, names: Sequence[Any]) -> Any:
        """Return columns as they are, as a frame or a matrix like the table."""
        if list(names) == self.names:
            return self.X
        return self.X[list(names)] if self.framed else self.X[:, list(names)]

    def narrowed(self, names: Sequence[Any]) -> Table:
        """Return the table itself: a column that is not read costs nothing."""
        return self

    def parts(self, width: int = 0) -> list[Part]:
        """Return the blocks' rows, fewer where more columns are made of the table than it has."""
        if self.device == "cpu":
            step = min(CHUNK_ROWS, CHUNK_CELLS // self.widest)
        else:
            n_parts = pieces() * -(-self.n_rows * max(self.widest, width) // gpu_cells())
            step = -(-self.n_rows // max(1, n_parts))
        if 0 < self.n_rows <= step:
            return [Part(self, slice(0, self.n_rows))]
        edges = range(0, self.n_rows, max(1, step))
        return [Part(self, slice(i, min(i + edges.step, self.n_rows))) for i in edges]

    def each(self, function: Callable[[Part], T], width: int = 0) -> Iterator[T]:
        """Call a function for each block, in order.

        On the CPU all cores do. A GPU takes one block after another, since each has all of it
        and needs room.
        """
        parts = self.parts(width)
        apply = map if self.device == "cuda" or len(parts) == 1 else threads.each
        return apply(function, parts)

    def bring(self, aligned: Sequence[Any]) -> list[Any]:
        """Return host arrays with one entry a row where the table is."""
        return [frames.to_device(array, self.device) for array in aligned]

    def reduce(self, function: Callable[[Part], T], merge: Callable[[T, T], T]) -> T:
        """Merge the statistics of all blocks, in order, whatever thread made them.

        Each is let go once it is merged: those of encoders are as long as their dictionaries.
        """
        return reduce(merge, self.each(function))


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
        everything = form is Numbers and list(names) == self.table.names
        if everything and self.table.by_row is not None:
            return Numbers(self.table.by_row[self.rows].copy())  # scikit-learn adds in this order
        columns = self.table.columns(form, names)
        if form is Categories and self.n_rows == self.table.n_rows:
            return Categories(columns)
        if form is Categories:
            return Categories([c._replace(codes=c.codes[self.rows]) for c in columns])
        if self.table.device == "cpu":
            return form(side_by_side([*map(itemgetter(self.rows), columns)], np))
        cut = [
            frames.values_of(self.table.X[name].iloc[self.rows], name)
            if column is None
            else column[self.rows]
            for name, column in zip(names, columns, strict=True)
        ]
        return form(side_by_side(cut, self.table.xp))

    def of(self, aligned: Sequence[Any]) -> list[Any]:
        """Return the entries of these rows in arrays as long as the whole table."""
        table = self.table
        whole = [table.own[each.number] if isinstance(each, Cut) else each for each in aligned]
        return [frames.to_device(each[self.rows], table.device) for each in whole]


Read = Callable[[Part], Block]
"""From rows of a table to a block. It holds no table, so it can be sent to where a part is."""


class Once:
    """Reads the rows of a table that keeps what is made of all of them, and makes it once.

    >>> read = Once(lambda part: Numbers(np.zeros((2, 1))))
    >>> table = Table(np.zeros((2, 1)))
    >>> table.keeps = True
    >>> read(table.whole) is read(table.whole)
    True
    """

    def __init__(self, read: Read) -> None:
        self.read = read
        self.kept: list[Block] = []

    def __call__(self, part: Part) -> Block:
        """Return the block of some rows."""
        if not part.table.keeps or part.rows.stop - part.rows.start < part.table.n_rows:
            return self.read(part)
        if self.kept:
            return self.kept[0]
        block = self.read(part)
        part.table.keeps = block.width * part.table.n_rows <= KEPT_CELLS
        if part.table.keeps:
            self.kept.append(block)
        return block


Reading = Callable[[Table], Read]
"""From a table to what reads its rows; a step that needs all of them takes them then."""


def gpu_cells() -> int:
    """Return the cells that a GPU works on at a time: as float64, a 64th of its free memory.

    What the steps make of a block then needs little room beside the table and the matrix. The
    number is a power of two, from 2**24 to `GPU_CELLS`.
    """
    share = devices.free_memory() // (64 * 8)
    return min(GPU_CELLS, 2 ** max(24, share.bit_length() - 1))


def _small(column: encode.Coded) -> encode.Coded:
    """Return codes that take as little room as they can: they stay as long as the table does."""
    small = np.min_scalar_type(-1 - len(column.values))
    return column._replace(codes=column.codes.astype(small, copy=False))


def _alike(dtype: Any, other: Any) -> bool:
    """Return whether types are equal, apart from what categories and how long integers they have.

    >>> [_alike(np.dtype(a), np.dtype(b)) for a, b in (("int8", "int64"), ("int8", "float64"))]
    [True, False]
    """
    if isinstance(dtype, pd.CategoricalDtype) and isinstance(other, pd.CategoricalDtype):
        return bool(dtype.categories.dtype == other.categories.dtype)
    return bool(dtype == other) or {*map(_kind, (dtype, other))} <= {*"iu"}


def _kind(dtype: Any) -> str:
    """Return the letter of one of NumPy's types; none of others."""
    return dtype.kind if isinstance(dtype, np.dtype) else ""


def _common(dtypes: Sequence[Any]) -> Any:
    """Return the type of a matrix of the numbers among columns."""
    return np.result_type(bool, *(dtype for dtype in dtypes if _kind(dtype) in [*"iufb"]))


def side_by_side(columns: Sequence[Any], xp: Any) -> Any:
    """Return columns as a matrix in which each is contiguous.

    >>> side_by_side([np.array([1, 2]), np.array([3, 4])], np).tolist()
    [[1, 3], [2, 4]]
    """
    # Integers stay integers: as floats, large ones would fall together.
    dtype = np.result_type(*map(attrgetter("dtype"), columns))
    values = xp.empty((len(columns), columns[0].shape[0]), dtype=dtype)
    for j, column in enumerate(columns):
        values[j] = column
    return values.T


def write_matrix(
    table: Table, read: Read, dtype: str, *, order: str = "C", making: Making | None = None
) -> Any:
    """Return the blocks of a table as one matrix, shape (n_rows, width).

    The type "auto" is the one that the columns have together. The order "A" is that of the table,
    unless there are indicators, as in scikit-learn. `making` returns the context in which the
    matrix is made, given its shape and type.
    """
    seen = seen_part(table)
    first = blocks_to_write(read, seen)
    kind = common_type(first)
    if dtype != "auto" and kind.kind != "O":
        kind = np.dtype(dtype)
    if not first:
        return table.xp.zeros((table.n_rows, 0), dtype=kind)
    if order == "A":
        order = "F" if table.by_column and Indicators not in map(type, first) else "C"
    context: AbstractContextManager[Any] = nullcontext()
    if making is not None:
        context = making((table.n_rows, sum(map(attrgetter("width"), first))), kind)
    with context:
        return _write(table, read, seen, first, [kind] * len(first), order=order)[kind]


def seen_part(table: Table) -> Part:
    """Return the part that the widths are read from: a single one is made once, for its values."""
    parts = table.parts()
    return parts[0] if len(parts) == 1 else table.first()


def _write(
    table: Table,
    read: Read,
    seen: Part,
    first: Sequence[Block],
    kinds: Sequence[Any],
    *,
    order: str = "C",
    choose: Callable[[Read, Part], list[Block]] | None = None,
) -> dict[Any, Any]:
    """Return a matrix of each type, given the blocks of a part and the type of each."""
    starts: list[int] = []
    widths: Counter[Any] = Counter()
    for block, kind in zip(first, kinds, strict=True):
        starts.append(widths[kind])
        widths[kind] += block.width
    # Zeros that the system provides cost no more than memory that holds anything.
    out = {}
    for kind, width in widths.items():
        out[kind] = table.xp.zeros((table.n_rows, width), dtype=kind, order=order)

    def fill(part: Part, blocks: Sequence[Block] | None = None) -> None:
        blocks = (choose or blocks_to_write)(read, part) if blocks is None else blocks
        for block, kind, start in zip(blocks, kinds, starts, strict=True):
            block.write(out[kind][part.rows], start)

    if seen.rows.stop == table.n_rows:
        fill(seen, first)
    else:
        # One-hot columns take no room before they are written.
        expanded = sum(block.width for block in first if not isinstance(block, Indicators))
        for _ in table.each(fill, expanded):
            pass
    return out


def _made_blocks(read: Read, part: Part) -> list[Block]:
    """Return the blocks of a part that a frame does not take over as they are."""
    return [each for each in flat(read(part)) if not isinstance(each, Unread | Objects)]


def blocks_to_write(read: Read, part: Part) -> list[Block]:
    """Return the blocks of a part that have a place in a matrix."""
    blocks = flat(read(part))
    if Unread not in map(type, blocks):
        return list(blocks)
    return [_as_written(block, part) if isinstance(block, Unread) else block for block in blocks]


def _as_written(block: Unread, part: Part) -> Block:
    """Return columns of the table as numbers, or as they are where some are none."""
    table = part.table
    if table.device == "cuda" or all(map(frames.is_numeric, table.types(block.names))):
        return as_numbers(block, part)
    return Objects(table.select(block.names), part.rows)


def write_frame(table: Table, read: Read, dtype: str, names: Names) -> Any:
    """Return the blocks of a table as a frame with the given column names.

    Numbers have the type that is asked for, or each the one that scikit-learn's transformer gives
    it; columns that were passed on are as they were.
    """
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise DataError(f"several columns are named {twice[0]!r}; rename them before this step")
    made, kept, objects = split_names(read(table.first()), names)
    seen = seen_part(table)
    first = _made_blocks(read, seen)
    kinds = [common_type([each]) if dtype == "auto" else np.dtype(dtype) for each in first]
    of_columns = np.repeat(np.arange(len(first)), [block.width for block in first])
    matrices = {
        kind: (values, [n for n, j in zip(made, of_columns, strict=True) if kinds[j] == kind])
        for kind, values in _write(table, read, seen, first, kinds, choose=_made_blocks).items()
    }
    matrices |= dict(enumerate(objects))
    nothing: tuple[Any, list[Any]] = (table.xp.zeros((table.n_rows, 0)), [])
    return output.beside(list(matrices.values()) or [nothing], table.X, kept)[list(names)]


def split_names(block: Block, names: Names) -> tuple[list[Any], dict[Any, Any], list[Any]]:
    """Return the names of a frame's columns: those made, those of the table, those of objects."""
    made: list[Any] = []
    kept: dict[Any, Any] = {}
    objects: list[tuple[Any, list[Any]]] = []  # all rows of a frame or matrix, and its names
    start = 0
    for part in flat(block):
        here = list(names[start : start + part.width])
        start += part.width
        if isinstance(part, Unread):
            kept.update(zip(here, part.names, strict=True))
        elif isinstance(part, Objects):
            objects.append((part.whole, here))
        else:
            made += here
    return made, kept, objects
