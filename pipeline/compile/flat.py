"""A fitted tree as a flat list of calls, by which new rows are transformed block by block.

What does not depend on the rows is decided once, when the list is created: which steps pass their
input on, which columns they pick, and where a step may have returned infinite numbers.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import pandas as pd

from pipeline.blocks.block import (
    Block,
    Categories,
    Dates,
    Joined,
    Numbers,
    Unread,
    as_categories,
    as_dates,
    as_numbers,
    join,
    take_columns,
)
from pipeline.blocks.table import FEW_ROWS, Part, Read, Table
from pipeline.errors import DataError
from pipeline.table import frames
from pipeline.twins.twin import Twin
from pipeline.typing import Form

CONVERT: dict[type, Callable[[Block, Part], Any]] = {
    Numbers: as_numbers,
    Categories: as_categories,
    Dates: as_dates,
}
"""Form of a block -> what brings any block into it."""


class Call(NamedTuple):
    """A call of the list: it computes a block from rows and earlier blocks."""

    function: Callable[..., Any]
    """Called with the rows, and with the blocks."""
    takes: tuple[int, ...]
    """The places of the blocks."""
    out: int
    """The place of its result."""


class Worker(Protocol):
    """What transforms all rows of a table at once."""

    def read_new(self, table: Table, read: Read, form: Form) -> Read:
        """Return what reads the rows that it makes, given what reads those that come in."""


class Flattens(Protocol):
    """A fitted tree."""

    def flatten(self, flat: FlatProgram, takes: int, sparse: Callable[[], bool]) -> int:
        """Add its calls, given the place of what comes in; return that of what they make."""


class WholeCall(NamedTuple):
    """A call that needs all rows of a table at once, before any block is computed."""

    node: Worker
    takes: tuple[int, ...]
    out: int
    sparse: Callable[[], bool]
    """Returns whether the rows of scikit-learn's step before it would be sparse."""
    few: Sequence[Call] = ()
    """What makes the same of few rows, sooner; empty where nothing does."""
    types: Sequence[tuple[Any, Any]] = ()
    """Columns and their types, for which `few` makes the same bits."""
    warnings: Sequence[str] = ()
    """What scikit-learn warns of whenever it makes these."""


class FlatProgram:
    """The calls that a fitted tree makes for new rows, in order.

    `head` is a row of the table that the tree was fitted on.

    >>> import numpy as np
    >>> from sklearn.preprocessing import StandardScaler
    >>> from pipeline.compile.program import Program
    >>> program = Program(StandardScaler()).fit(np.array([[1.0], [3.0]]))
    >>> len(program.flat.calls)
    1
    """

    def __init__(self, node: Flattens, head: pd.DataFrame) -> None:
        self.names = head.columns.tolist()
        self.dtypes = dict(zip(self.names, frames.types(head), strict=True))
        self.known: list[Any] = [Unread(self.names)]
        self.calls: list[Any] = []
        self.last = node.flatten(self, 0, bool)
        by_blocks = WholeCall not in map(type, self.calls)
        self._read = _reader(self.known, self.calls, self.last) if by_blocks else None
        """What reads the rows of any table; None where a call needs all rows at once."""

    def columns(self, names: Sequence[Any]) -> int:
        """Return the place of columns of the table."""
        self.known.append(Unread(names))
        return len(self.known) - 1

    def add(self, function: Callable[..., Any], *takes: int) -> int:
        """Add a call, and return the place of its result."""
        self.known.append(None)
        self.calls.append(Call(function, takes, len(self.known) - 1))
        return len(self.known) - 1

    def add_whole(self, node: Worker, takes: int, sparse: Callable[[], bool]) -> int:
        """Add a call that needs all rows at once."""
        self.known.append(None)
        self.calls.append(WholeCall(node, (takes,), len(self.known) - 1, sparse))
        return len(self.known) - 1

    def add_for_few(self, node: Flattens, takes: int, out: int, twins: Iterable[Any]) -> None:
        """Let twins that make the same as the last call, which needs all rows, do it for few."""
        whole: WholeCall = self.calls.pop()
        n_calls = len(self.calls)
        place = node.flatten(self, takes, bool)
        few = [*self.calls[n_calls:], Call(_same, (place,), out)]
        given = self.known[takes]
        types = [(n, self.dtypes[n]) for n in (self.names if given is None else given.names)]
        self.calls[n_calls:] = [whole._replace(few=few, types=types, warnings=warnings_of(twins))]

    def add_twin(self, twin: Twin[Any], form: type, takes: int) -> int:
        """Add the call of a twin."""
        if twin.keeps_columns():
            return takes
        if (kept := twin.picks()) is not None:
            return self.add(partial(take_columns, kept), takes)
        given = self.known[takes]
        if given is not None:  # columns of the table, which is checked as it comes in
            return self.add(partial(_apply_to_columns, twin, form, given.names))
        return self.add(partial(_apply, twin, form), takes)

    def bind(self, table: Table) -> Read:
        """Return what reads the rows of a table; calls that need all of them run now.

        `DataError` says that the step before returned other columns than in fit.
        """
        if table.names != self.names:
            raise DataError(
                f"the step before returned other columns than in fit ({len(table.names)}, not "
                f"{len(self.names)}; new: {[n for n in table.names if n not in self.names]}); let "
                "it return the same ones"
            )
        if self._read is not None:
            return self._read
        calls = []
        for call in self.calls:
            if not isinstance(call, WholeCall):
                calls.append(call)
            elif call.few and table.n_rows < FEW_ROWS and table.has(call.types):
                warn(call.warnings)
                calls += call.few
            else:
                before = _reader(self.known, calls, *call.takes)
                read = call.node.read_new(table, before, "sparse" if call.sparse() else "dense")
                calls.append(Call(read, (), call.out))
        return _reader(self.known, calls, self.last)


def warnings_of(twins: Iterable[Twin[Any]]) -> list[str]:
    """Return what scikit-learn warns of whenever it does what these twins do."""
    return [said for twin in twins if (said := twin.warning())]


def warn(said: Iterable[str]) -> None:
    """Warn once for all blocks, as scikit-learn does."""
    for each in said:
        warnings.warn(each, UserWarning, stacklevel=3)


def _reader(known: Sequence[Any], calls: Sequence[Call], place: int) -> Read:
    """Return what makes the block of a place, by no more calls than it needs."""
    needed, used = {place}, []
    for call in reversed(calls):
        if call.out in needed:
            needed.update(call.takes)
            used.append(call)
    if used and not used[0].takes and len(used) == 1:
        return used[0].function
    return partial(_make, known, used[::-1], place)


def _make(known: Sequence[Any], calls: Sequence[Call], place: int, part: Part) -> Any:
    """Return the block of a place for some rows."""
    made = [*known]
    for function, takes, out in calls:
        made[out] = function(part, *map(made.__getitem__, takes))
    return made[place]


def _apply_to_columns(twin: Twin[Any], form: type, names: Sequence[Any], part: Part) -> Block:
    return twin.apply(part.read(names, form))


def _apply(twin: Twin[Any], form: type, part: Part, block: Block) -> Block:
    block = block if isinstance(block, form) else CONVERT[form](block, part)
    return twin.apply(twin.refuse_infinite(block))


def _same(part: Part, block: Block) -> Block:
    return block


def side_by_side(part: Part, *blocks: Block) -> Joined:
    """Return blocks side by side."""
    return join(blocks)
