"""Rows of a table as a list of their positions, so that fits on the same rows are recognized."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import uuid
import weakref
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import Any

import joblib
import numpy as np

from pipeline.errors import ConfigError, DataError
from pipeline.system import gpu, hardware
from pipeline.system.cache import Cache
from pipeline.system.memory import is_exhausted
from pipeline.table import frames
from pipeline.trace import record
from pipeline.typing import Names, Table

PART = 4
"""By default, shared results may fill a PART-th of the available memory."""


class SharedTable:
    """A table, and the results that fits have computed from its rows.

    Another process reads it from a file, once, and has a cache of its own.
    """

    def __init__(self, X: Table, room_bytes: int | None, token: str = "") -> None:
        self.X, self.room_bytes, self.token = X, room_bytes, token or uuid.uuid4().hex
        self.limit_bytes: int | None = None
        """What this process may take of the machine's memory, where something says so."""
        self._caches: dict[str, Cache] = {}
        self._lock = RLock()
        _HERE[self.token] = self

    def cache(self, device: str = "cpu") -> Cache:
        """Return what is kept on a device."""
        if device not in self._caches:
            room = self.room_bytes
            if room is None:
                known = [each.memory_bytes for each in gpu.probe().devices if each.memory_bytes]
                free = hardware.memory()[1]
                free = min(free, self.limit_bytes or free)
                room = (min(known) if device == "cuda" and known else free) // PART
            self._caches[device] = Cache(room, device)
        return self._caches[device]

    def on(self, device: str, rows: Table, take: Callable[[Table], Any]) -> Any:
        """Return the whole table on a device, where it is copied to once; None where it is not.

        `rows` are some as a model takes them, and `take` returns any rows so. What it makes of the
        whole table must be of the same types, or the rows would differ from those made alone.
        """
        cache, key = self.cache(device), ("table", _form(rows))
        with self._lock:
            if (kept := cache.get(key)) is None:
                whole = self._copied(device, key, take)
                kept = (whole,)  # which may be None
                cache.put(key, kept, 0 if whole is None else frames.nbytes(whole))
            return kept[0]

    def _copied(self, device: str, key: tuple[str, Any], take: Callable[[Table], Any]) -> Any:
        room = self.cache(device).room_bytes // 2  # What is made of it needs the rest.
        try:
            whole = take(self.X)
            if _form(whole) != key[1] or frames.nbytes(whole) > room:
                return None
            with record("input", "copy", device, "all rows, once"):
                return frames.to_device(whole, device)
        except Exception as error:
            if not isinstance(error, DataError) and not is_exhausted(error):
                raise
            return None

    @cached_property
    def file(self) -> str:
        """The file that other processes read the table from; it goes when the table goes."""
        folder = tempfile.mkdtemp(prefix="shared-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        path = Path(folder, "table")
        joblib.dump(self.X, path)
        return str(path)

    def __reduce__(self) -> Any:
        """Return how to open the table in another process."""
        return _open, (self.token, self.file, self.room_bytes)


_HERE: weakref.WeakValueDictionary[str, SharedTable] = weakref.WeakValueDictionary()
"""The tables of this process, by token."""
_LAST: list[SharedTable] = []
"""The table that was opened last, which the next task of a worker will want again."""


def _open(token: str, file: str, room_bytes: int | None) -> SharedTable:
    table = _HERE.get(token)
    if table is None:
        if not Path(file).exists():
            raise DataError(
                f"{file}: the file of a shared table was removed, or is on another machine; pass X "
                "instead of shared(X)"
            )
        table = SharedTable(joblib.load(file), room_bytes, token)
        table.file = file
        _LAST[:] = [table]
    return table


class SharedRows:
    """A handle to rows of one table, as `shared` returns it.

    A selection of its rows is a handle, too; selected columns, and values, are those of the table.
    """

    def __init__(self, table: SharedTable, positions: np.ndarray | None = None) -> None:
        self.table, self.positions = table, positions

    def __len__(self) -> int:
        """Return the number of rows."""
        return int(self.table.X.shape[0]) if self.positions is None else len(self.positions)

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""
        return (len(self), *self.table.X.shape[1:])

    @property
    def ndim(self) -> int:
        """Number of dimensions of the table."""
        return len(self.shape)

    @property
    def columns(self) -> Names:
        """The names of the columns of a frame."""
        names: Names = self.table.X.columns
        return names

    @property
    def index(self) -> Any:
        """The labels of the rows of a frame."""
        labels, here = self.table.X.index, frames.device_of(self.table.X)
        return labels if self.positions is None else labels[frames.to_device(self.positions, here)]

    def __getitem__(self, rows: Any) -> Any:
        """Return a handle to some rows; by the names of columns, the columns themselves."""
        if isinstance(rows, tuple) and len(rows) == 2 and rows[1] is Ellipsis:
            rows = rows[0]
        names = isinstance(rows, list) and bool(rows) and isinstance(rows[0], str)
        if names or isinstance(rows, str | tuple):
            return self.rows()[rows]
        chosen = np.arange(len(self))[rows]
        if chosen.ndim == 0:
            return frames.at(self.rows(), chosen)
        return SharedRows(self.table, chosen if self.positions is None else self.positions[chosen])

    def take(self, rows: Any, axis: int = 0) -> Any:
        """Return a handle to some rows, by position."""
        return self[np.asarray(rows)] if axis == 0 else self.rows().take(rows, axis=axis)

    @property
    def iloc(self) -> Any:
        """Selection of rows by position, as for a frame."""
        return _Positions(self) if hasattr(self.table.X, "iloc") else self.table.X.iloc

    loc = iloc
    """Searches select by it with masks alone."""

    def copy(self, deep: bool = True) -> Any:
        """Return a copy of the rows themselves, which may be changed."""
        return self.rows().copy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Return the values."""
        return np.asarray(frames.to_device(self.rows(), "cpu"), dtype=dtype)

    @cached_property
    def key(self) -> str:
        """The same text for all handles to the same rows."""
        if self.positions is None:
            return f"{self.table.token} all"
        positions = np.ascontiguousarray(self.positions, dtype="int64")
        return f"{self.table.token} {hashlib.blake2b(positions.data, digest_size=16).hexdigest()}"

    def rows(self) -> Any:
        """Return the rows themselves, in the table's own type."""
        X = self.table.X
        if self.positions is None:
            return X
        return frames.at(X, frames.to_device(self.positions, frames.device_of(X)))


def _form(X: Table) -> Any:
    """Return what rows must have in common to be part of one table."""
    if frames.is_frame(X):
        return tuple(zip(X.columns, X.dtypes, strict=True))
    return type(X).__name__, str(X.dtype), getattr(X, "name", None)


def table_of(X: Table) -> Any:
    """Return all of the table of a handle, and anything else as it is."""
    return X.table.X if isinstance(X, SharedRows) else X


class _Positions:
    def __init__(self, rows: SharedRows) -> None:
        self.rows = rows

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, tuple):
            return self.rows.rows().iloc[key]
        return self.rows[np.asarray(key) if not isinstance(key, slice) else key]


def shared(X: Table, *, room_bytes: int | None = None) -> SharedRows:
    """Return a handle to a table, which any scikit-learn search accepts in place of the table.

    Fits of `Accelerated` on the same rows share their common first steps: the steps before the
    first one that differs are fitted once and transform the rows once. Steps that are random and
    have no seed are never shared.

    Parameters
    ----------
    X : table, shape (n_rows, n_columns)
        A pandas, Polars, Arrow or cuDF table, a NumPy, CuPy or SciPy sparse matrix, or a series of
        texts. Do not change it while the handle is in use.
    room_bytes : int, optional
        Memory for shared results in each process; the least recently used are dropped first. By
        default, a quarter of the available memory, and of a GPU's.

    Returns
    -------
    SharedRows

    Raises
    ------
    ConfigError
        X has an unsupported type, or `room_bytes` is negative.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import GridSearchCV
    >>> from pipeline import Accelerated
    >>> X, y = load_iris(return_X_y=True)
    >>> model = Accelerated(LogisticRegression(max_iter=1000), device="cpu")
    >>> search = GridSearchCV(model, {"estimator__C": [0.1, 1]}).fit(shared(X), y)
    >>> search.best_params_
    {'estimator__C': 1}
    """
    if isinstance(X, SharedRows):
        return X
    if frames.is_partitioned(X) or not hasattr(X, "shape"):
        why = "is partitioned" if frames.is_partitioned(X) else f"is a {type(X).__name__}"
        raise ConfigError(f"X {why}; pass a frame, an array, a sparse matrix or a series")
    if room_bytes is not None and room_bytes < 0:
        raise ConfigError(f"room_bytes={room_bytes!r} is negative; pass 0 or more")
    return SharedRows(SharedTable(X.tocsr() if frames.is_sparse(X) else X, room_bytes))
