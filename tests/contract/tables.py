"""A stand-in for cuDF: pandas inside, cuDF's manners outside.

It knows what of cuDF's treatment of missing values our code can meet: NaN
becomes null on the way in, codes of nulls are null, pandas' nullable types
keep their names and have no direct way to CuPy. Some rows of a column are a
view of it, which shows in three places: how much memory they are said to take,
what is null once text has become categories, and what is null to whoever reads
their memory.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from tests.contract import arrays
from tests.contract.recorder import RECORDER, OnDevice, Refused, operator, recorded
from tests.contract.verify import frozen

OPERATORS = "add sub mul truediv floordiv mod pow and or eq ne lt le gt ge neg invert"
SCALARS = bool | int | float | str | np.generic | type(pd.NA) | type(pd.NaT)


View = tuple[pd.Series, int]
"""The whole column that some rows are a view of, and the place of the first of them."""


class Memory:
    """The device's memory: an address that is freed is given out again, and holds what it held."""

    def __init__(self) -> None:
        self.held: list[np.ndarray] = []
        self._free: list[int] = []

    def place(self, owner: object, values: np.ndarray) -> int:
        """Return the address of values that are freed with their owner."""
        address = self._free.pop() if self._free else len(self.held)
        self.held[address : address + 1] = [values]
        weakref.finalize(owner, self._free.append, address)
        return address


MEMORY = Memory()
"""Where `__cuda_array_interface__` of a column points."""


def view(column: pd.Series, rows: slice, of: View | None) -> View | None:
    """Return what some rows of a column are a view of; None where they are copied, or none."""
    start, stop, step = rows.indices(len(column))
    whole, first = of or (column, 0)
    return (whole, first + start) if step == 1 and start < stop else None


def held(column: pd.Series, of: View | None) -> int:
    """Return the bytes that cuDF says a column takes: of text and of times, all that are behind.

    Follows `cudf.core.column.column.ColumnBase._plc_memory_usage_buffers`.
    """
    fixed = column.dtype.kind in "iufb" or str(column.dtype) == "category"
    return memory(column if of is None or fixed else of[0])


def masked_from_the_start(cast: pd.Series, of: View) -> pd.Series:
    """Return categories that have the null mask of the whole column, read from its first bit.

    Follows `cudf.core.column.column.ColumnBase.as_categorical_column`, which sets the mask of
    the view, but not its offset, on codes.
    """
    return cast.mask(of[0].isna().to_numpy()[: len(cast)])


def as_host(column: pd.Series, plain: Any) -> pd.Series:
    """Return a column as `to_pandas` makes it: nulls turn bools into objects, integers into floats.

    `plain` is the type of a column that pandas can only hold with a mask.
    """
    if plain is None:
        return column.copy()
    if not column.hasnans:
        return column.astype(plain)
    if plain.kind == "b":
        return column.astype(object).where(column.notna(), None)
    return column.astype("float64")


def memory(host: Any) -> int:
    """Return the bytes of a table as `pipeline.table.frames` counts them."""
    if isinstance(host, pd.Index):
        return int(host.memory_usage(deep=True))
    return int(np.sum(host.memory_usage(index=False)))


def as_counts(host: pd.Series) -> pd.Series:
    """Return dates or durations as counts of their unit; null where they are missing.

    Follows `cudf.core.column.temporal_base.as_numerical_column`; pandas refuses NaT.
    """
    if isinstance(host.dtype, pd.DatetimeTZDtype):
        host = host.dt.tz_convert(None)
    counts = host.to_numpy().view("int64")
    return pd.Series(pd.arrays.IntegerArray(counts, host.isna().to_numpy()), index=host.index)


def wrap(result: Any) -> Any:
    """Return a pandas result as cuDF would: tables on the device, single values on the host."""
    for kind, standin in ((pd.DataFrame, DataFrame), (pd.Series, Series), (pd.Index, Index)):
        if isinstance(result, kind):
            return standin(result)
    if isinstance(result, np.ndarray):
        return arrays.ndarray(result)
    if isinstance(result, tuple):
        return tuple(map(wrap, result))
    if isinstance(result, SCALARS):
        RECORDER.copied("host", "scalar", 8)
        return result
    if result is None:
        return None
    raise Refused(f"the stand-in of cuDF knows no {type(result).__name__}")


def unwrap(value: Any) -> Any:
    """Return an argument for pandas."""
    if isinstance(value, _Table | arrays.ndarray):
        return value._host
    if isinstance(value, pd.DataFrame | pd.Series | np.ndarray):
        raise Refused(f"cuDF takes no {type(value).__name__} from the host here")
    if isinstance(value, list | tuple):
        return type(value)(map(unwrap, value))
    return value


def member(owner: str, host: Any, name: str, wrap: Callable[[Any], Any] = wrap) -> Any:
    """Return an attribute, or a method that records its calls; only what the real class has."""
    if name.startswith("_") or not frozen().has(owner, name):
        raise AttributeError(f"{owner!r} object has no attribute {name!r}")
    found = getattr(host, name)
    if callable(found):
        return recorded(owner, name, found, wrap, unwrap)
    RECORDER.call(owner, name)
    return wrap(found)


class _Table(OnDevice):
    """What frames, series and indexes share."""

    OWNER = ""
    _host: Any

    def __init__(self, host: Any) -> None:
        self._host = host

    def __getattr__(self, name: str) -> Any:
        return member(self.OWNER, self._host, name, self._wrap)

    def _wrap(self, result: Any) -> Any:
        return wrap(result)

    def _call(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        return recorded(self.OWNER, name, function, self._wrap, unwrap)

    @property
    def shape(self) -> tuple[int, ...]:
        return self._host.shape

    @property
    def index(self) -> Index:
        RECORDER.call(self.OWNER, "index")
        return Index(self._host.index)

    @property
    def iloc(self) -> Rows:
        return Rows(self, "iloc")

    @property
    def loc(self) -> Rows:
        return Rows(self, "loc")

    def to_pandas(self, **options: Any) -> Any:
        RECORDER.call(self.OWNER, "to_pandas", (), options)
        RECORDER.copied("host", "explicit", memory(self._host))
        return self._as_pandas()

    def _as_pandas(self) -> Any:
        return self._host.copy()

    def _cut(self, result: Any, rows: slice) -> Any:
        """Return some rows, given what pandas returns for them."""
        return self._wrap(result)

    def __len__(self) -> int:
        return len(self._host)

    def __getitem__(self, key: Any) -> Any:
        RECORDER.call(self.OWNER, "__getitem__", (key,))
        found = self._host[unwrap(key)]
        return self._cut(found, key) if isinstance(key, slice) else self._wrap(found)

    def __bool__(self) -> bool:
        raise ValueError(f"the truth value of a {self.OWNER} is ambiguous")

    def __iter__(self) -> Iterator[Any]:
        raise Refused(f"{self.OWNER} is not iterable")


for _name in OPERATORS.split():
    setattr(_Table, f"__{_name}__", operator(f"__{_name}__"))


class Index(_Table):
    __module__ = "cudf.core.index"
    OWNER = "cudf.Index"

    @property
    def dtype(self) -> Any:
        return self._host.dtype

    def equals(self, other: Any) -> bool:
        """Compare with another index of cuDF; one of pandas is never equal."""
        RECORDER.call(self.OWNER, "equals", (other,))
        return isinstance(other, Index) and wrap(self._host.equals(other._host))


class Series(_Table):
    """The stand-in of `cudf.Series`.

    A column of a plain type with a null mask is a masked pandas column beside its plain `dtype`.
    """

    __module__ = "cudf.core.series"
    OWNER = "cudf.Series"

    def __init__(
        self,
        host: pd.Series | arrays.ndarray,
        dtype: np.dtype | None = None,
        view: View | None = None,
    ) -> None:
        if isinstance(host, arrays.ndarray):
            host = pd.Series(host._host)
        super().__init__(host)
        masked = isinstance(host.dtype, pd.api.extensions.ExtensionDtype)
        self._plain = dtype if masked and dtype and host.dtype.kind == dtype.kind else None
        self._view = view

    @property
    def dtype(self) -> Any:
        return self._plain or self._host.dtype

    def _wrap(self, result: Any) -> Any:
        return Series(result, self._plain) if isinstance(result, pd.Series) else wrap(result)

    def _cut(self, result: pd.Series, rows: slice) -> Series:
        return Series(result, self._plain, view(self._host, rows, self._view))

    def _as_pandas(self) -> pd.Series:
        return as_host(self._host, self._plain)

    def memory_usage(self, index: bool = True, deep: bool = False) -> int:
        RECORDER.call(self.OWNER, "memory_usage", (index, deep))
        return held(self._host, self._view)

    def to_pylibcudf(self) -> tuple[Any, dict[str, Any]]:
        """Return libcudf's column, of which our code asks where in its memory it begins."""
        RECORDER.call(self.OWNER, "to_pylibcudf", ())
        first = self._view[1] if self._view else 0
        return SimpleNamespace(offset=lambda: first), {}

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The values from the first row on, and the null mask from the first bit of the column.

        Follows `cudf.core.column.column.ColumnBase.__cuda_array_interface__`.
        """
        values = self._host.to_numpy(self.dtype, na_value=np.nan if self.dtype.kind == "f" else 0)
        shape = {"shape": values.shape, "version": 3}
        data = {"data": (MEMORY.place(self, values), False), "typestr": self.dtype.str}
        if not self._host.hasnans:
            return shape | data
        whole, _ = self._view or (self._host, 0)
        bits = {"data": (MEMORY.place(self, whole.notna().to_numpy()), True), "typestr": "|u1"}
        return shape | data | {"mask": SimpleNamespace(__cuda_array_interface__=shape | bits)}

    @property
    def hasnans(self) -> bool:
        """Whether there are nulls, whose number cuDF keeps, or NaN, which it has to look for."""
        RECORDER.call(self.OWNER, "hasnans")
        if self.dtype.kind == "f":
            RECORDER.copied("host", "scalar", 8)
        return bool(self._host.hasnans)

    @property
    def values(self) -> arrays.ndarray:
        """The values; nulls become NaN, and what holds them float64."""
        RECORDER.call(self.OWNER, "values")
        if self._plain is None and not isinstance(self.dtype, np.dtype) and self._host.hasnans:
            raise ValueError(f"cannot convert to {self.dtype} NumPy array with missing values")
        with RECORDER.paused():
            return self.to_cupy()

    @property
    def str(self) -> Accessor:
        return Accessor("cudf.Series.str", self._host.str)

    @property
    def dt(self) -> Accessor:
        return Accessor("cudf.Series.dt", self._host.dt)

    def unique(self) -> Series:
        """Return a series, where pandas returns an array."""
        RECORDER.call(self.OWNER, "unique", ())
        return Series(pd.Series(self._host.unique()))

    @property
    def cat(self) -> Categories:
        return Categories("cudf.Series.cat", self._host.cat)

    def factorize(self, *args: Any, **kwargs: Any) -> tuple[arrays.ndarray, Index]:
        """Return codes and distinct values, which cuDF finds in any order."""
        RECORDER.call(self.OWNER, "factorize", args, kwargs)
        codes, values = self._host.factorize(*args, **kwargs)
        codes = np.where(codes < 0, -1, len(values) - 1 - codes)
        return arrays.ndarray(codes), Index(values[::-1])

    def astype(self, *args: Any, **kwargs: Any) -> Series:
        """Cast; dates become counts of their unit, and categories have the mask of the view."""
        if self.dtype.kind in "mM" and args == ("int64",):
            RECORDER.call(self.OWNER, "astype", args, kwargs)
            return Series(as_counts(self._host), np.dtype("int64"))
        cast = member(self.OWNER, self._host, "astype", self._wrap)(*args, **kwargs)
        if str(cast.dtype) == "category" != str(self.dtype) and self._view:
            return Series(masked_from_the_start(cast._host, self._view))
        return cast

    def to_cupy(self, *args: Any, **kwargs: Any) -> arrays.ndarray:
        """Return the values; nulls must be told what to become."""
        RECORDER.call(self.OWNER, "to_cupy", args, kwargs)
        dtype, na_value = kwargs.get("dtype"), kwargs.get("na_value")
        if self.dtype.kind not in "iufb":
            raise NotImplementedError(f"CuPy does not support {self.dtype}")
        if not isinstance(self.dtype, np.dtype):
            # cudf.core.frame.Frame.to_cupy asks numpy.can_cast, which knows NumPy's types only.
            raise TypeError(f"Cannot interpret {self.dtype!r} as a data type")
        if na_value is None and self._host.hasnans and self.dtype.kind == "b":
            raise ValueError(f"Column must have no nulls for dtype={self.dtype}")
        holds = self.dtype.kind == "f" or not self._host.hasnans
        plain = self.dtype if holds else np.result_type(self.dtype, "float64")
        missing = np.nan if na_value is None else na_value
        # `fillna` makes a copy, whether anything is missing or not.
        filled = na_value is not None
        if filled and self._host.hasnans and np.result_type(na_value) > self.dtype:
            # Follows `cudf.core.column.numerical.NumericalColumn.can_cast_safely`.
            RECORDER.copied("host", "scalar", 8)
        return arrays.ndarray(self._host.to_numpy(dtype or plain, copy=filled, na_value=missing))

    def to_numpy(self, *args: Any, **kwargs: Any) -> np.ndarray:
        RECORDER.call(self.OWNER, "to_numpy", args, kwargs)
        RECORDER.copied("host", "explicit", memory(self._host))
        return self._host.to_numpy(*args, **kwargs)


class Accessor:
    def __init__(self, owner: str, host: Any) -> None:
        self._owner, self._host = owner, host

    def __getattr__(self, name: str) -> Any:
        return member(self._owner, self._host, name)


class Categories(Accessor):
    __module__ = "cudf.core.accessors.categorical"

    @property
    def codes(self) -> Series:
        """Codes with nulls where the values are null; pandas has -1 there."""
        RECORDER.call(self._owner, "codes")
        codes = self._host.codes
        masked = codes.astype(f"Int{8 * codes.dtype.itemsize}")
        return Series(masked.mask(codes < 0, pd.NA), codes.dtype)

    @property
    def categories(self) -> Index:
        RECORDER.call(self._owner, "categories")
        return Index(self._host.categories)


class Rows:
    def __init__(self, table: _Table, name: str) -> None:
        RECORDER.call(table.OWNER, name)
        self._table, self._host = table, getattr(table._host, name)
        self._by_position = name == "iloc"

    def __getitem__(self, key: Any) -> Any:
        found = self._host[unwrap(key)]
        cut = isinstance(key, slice) and self._by_position
        return self._table._cut(found, key) if cut else self._table._wrap(found)


class DataFrame(_Table):
    __module__ = "cudf.core.dataframe"
    OWNER = "cudf.DataFrame"

    def __init__(
        self,
        data: pd.DataFrame | arrays.ndarray,
        plain: dict[Any, np.dtype] | None = None,
        views: dict[Any, View | None] | None = None,
        **options: Any,
    ) -> None:
        if isinstance(data, arrays.ndarray):
            RECORDER.call(self.OWNER, "__init__", (data,), options)
            given = {name: unwrap(value) for name, value in options.items()}
            data = pd.DataFrame(data._host, **given)
        super().__init__(data)
        self._plain = plain or {}
        self._views = views or {}

    def _as_pandas(self) -> pd.DataFrame:
        made = {name: as_host(self._host[name], self._plain.get(name)) for name in self._host}
        return pd.DataFrame(made, index=self._host.index, columns=self._host.columns)

    def _cut(self, result: pd.DataFrame, rows: slice) -> DataFrame:
        views = {name: view(self._host[name], rows, self._views.get(name)) for name in self._host}
        return DataFrame(result, self._plain, views)

    def memory_usage(self, index: bool = True, deep: bool = False) -> Series:
        RECORDER.call(self.OWNER, "memory_usage", (index, deep))
        taken = {name: held(self._host[name], self._views.get(name)) for name in self._host}
        return Series(pd.Series(taken, dtype="int64"))

    def copy(self, deep: bool = True) -> DataFrame:
        """Copy; rows that were a view have memory of their own afterwards."""
        RECORDER.call(self.OWNER, "copy", (), {"deep": deep})
        return DataFrame(self._host.copy(deep=deep), self._plain, None if deep else self._views)

    def astype(self, dtype: Any, **options: Any) -> DataFrame:
        """Cast some columns, or all."""
        RECORDER.call(self.OWNER, "astype", (dtype,), options)
        wanted = dtype if isinstance(dtype, dict) else dict.fromkeys(self._host, dtype)
        made = self.copy(deep=False)
        for name, kind in wanted.items():
            made[name] = self[name].astype(kind)
        return made

    @property
    def columns(self) -> pd.Index:
        RECORDER.call(self.OWNER, "columns")
        return self._host.columns

    @property
    def dtypes(self) -> pd.Series:
        RECORDER.call(self.OWNER, "dtypes")
        columns = ((name, self._wrap(self._host[name])) for name in self._host)
        return pd.Series({name: column.dtype for name, column in columns}, dtype=object)

    def _wrap(self, result: Any) -> Any:
        if isinstance(result, pd.Series) and result.name in self._host.columns:
            return Series(result, self._plain.get(result.name))
        return DataFrame(result, self._plain) if isinstance(result, pd.DataFrame) else wrap(result)

    def __getitem__(self, key: Any) -> Any:
        made = super().__getitem__(key)
        if isinstance(made, Series) and key in self._host.columns:
            made._view = self._views.get(key)
        elif isinstance(key, list):
            made._views = {name: self._views.get(name) for name in key}
        return made

    def __setitem__(self, name: Any, column: Series | arrays.ndarray) -> None:
        RECORDER.call(self.OWNER, "__setitem__", (name, column))
        self._host[name] = unwrap(column)
        self._plain = {**self._plain, name: getattr(column, "_plain", None)}
        self._views = {**self._views, name: getattr(column, "_view", None)}

    def __iter__(self) -> Iterator[Any]:
        return iter(self._host.columns)

    def to_cupy(self, *args: Any, **kwargs: Any) -> arrays.ndarray:
        """Return a matrix; columns with nulls must be told what they become."""
        RECORDER.call(self.OWNER, "to_cupy", args, kwargs)
        with RECORDER.paused():
            columns = [self[name].to_cupy(**kwargs)._host for name in self]
        return arrays.ndarray(np.stack(columns, axis=1))
