"""A stand-in for cuDF: pandas inside, cuDF's manners outside.

It knows what of cuDF's treatment of missing values our code can meet: NaN
becomes null on the way in, codes of nulls are null, pandas' nullable types
keep their names and have no direct way to CuPy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from tests.contract import arrays
from tests.contract.casts import as_counts, memory
from tests.contract.recorder import RECORDER, OnDevice, Refused
from tests.contract.verify import frozen

OPERATORS = "add sub mul truediv floordiv mod pow and or eq ne lt le gt ge neg invert"
SCALARS = bool | int | float | str | np.generic | type(pd.NA) | type(pd.NaT)


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
        return recorded(owner, name, found, wrap)
    RECORDER.call(owner, name)
    return wrap(found)


def recorded(
    owner: str, name: str, function: Callable[..., Any], wrap: Callable[[Any], Any] = wrap
) -> Callable[..., Any]:
    """Return a function that notes each call before it hands it to pandas."""

    def call(*args: Any, **kwargs: Any) -> Any:
        RECORDER.call(owner, name, args, kwargs)
        kwargs = {key: unwrap(value) for key, value in kwargs.items()}
        return wrap(function(*map(unwrap, args), **kwargs))

    return call


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
        """Copy to the host, on purpose."""
        RECORDER.call(self.OWNER, "to_pandas", (), options)
        RECORDER.copied("host", "explicit", memory(self._host))
        return self._host.copy()

    def __len__(self) -> int:
        return len(self._host)

    def __getitem__(self, key: Any) -> Any:
        RECORDER.call(self.OWNER, "__getitem__", (key,))
        return self._wrap(self._host[unwrap(key)])

    def __bool__(self) -> bool:
        raise ValueError(f"the truth value of a {self.OWNER} is ambiguous")

    def __iter__(self) -> Iterator[Any]:
        raise Refused(f"{self.OWNER} is not iterable")


def _operator(name: str) -> Callable[..., Any]:
    def method(self: _Table, *operands: Any) -> Any:
        return recorded(self.OWNER, name, getattr(self._host, name), self._wrap)(*operands)

    return method


for _name in OPERATORS.split():
    setattr(_Table, f"__{_name}__", _operator(f"__{_name}__"))


class Index(_Table):
    """The stand-in of `cudf.Index`."""

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

    def __init__(self, host: pd.Series, dtype: np.dtype | None = None) -> None:
        super().__init__(host)
        masked = isinstance(host.dtype, pd.api.extensions.ExtensionDtype)
        self._plain = dtype if masked and dtype and host.dtype.kind == dtype.kind else None

    @property
    def dtype(self) -> Any:
        return self._plain or self._host.dtype

    def _wrap(self, result: Any) -> Any:
        return Series(result, self._plain) if isinstance(result, pd.Series) else wrap(result)

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

    def astype(self, *args: Any, **kwargs: Any) -> Series:
        """Cast; dates become counts of their unit."""
        if self.dtype.kind not in "mM" or args != ("int64",):
            return member(self.OWNER, self._host, "astype", self._wrap)(*args, **kwargs)
        RECORDER.call(self.OWNER, "astype", args, kwargs)
        return Series(as_counts(self._host), np.dtype("int64"))

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
        plain = self.dtype if not self._host.hasnans else np.result_type(self.dtype, "float64")
        missing = np.nan if na_value is None else na_value
        return arrays.ndarray(self._host.to_numpy(dtype or plain, na_value=missing))

    def to_numpy(self, *args: Any, **kwargs: Any) -> np.ndarray:
        """Copy to the host, on purpose."""
        RECORDER.call(self.OWNER, "to_numpy", args, kwargs)
        RECORDER.copied("host", "explicit", memory(self._host))
        return self._host.to_numpy(*args, **kwargs)


class Accessor:
    """The stand-in of `cudf.Series.str` and `cudf.Series.dt`."""

    def __init__(self, owner: str, host: Any) -> None:
        self._owner, self._host = owner, host

    def __getattr__(self, name: str) -> Any:
        return member(self._owner, self._host, name)


class Categories(Accessor):
    """The stand-in of `cudf.Series.cat`."""

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
    """The stand-in of `iloc` and `loc`."""

    def __init__(self, table: _Table, name: str) -> None:
        RECORDER.call(table.OWNER, name)
        self._table, self._host = table, getattr(table._host, name)

    def __getitem__(self, key: Any) -> Any:
        return self._table._wrap(self._host[unwrap(key)])


class DataFrame(_Table):
    """The stand-in of `cudf.DataFrame`."""

    __module__ = "cudf.core.dataframe"
    OWNER = "cudf.DataFrame"

    def __init__(
        self,
        data: pd.DataFrame | arrays.ndarray,
        plain: dict[Any, np.dtype] | None = None,
        **options: Any,
    ) -> None:
        if isinstance(data, arrays.ndarray):
            RECORDER.call(self.OWNER, "__init__", (data,), options)
            given = {name: unwrap(value) for name, value in options.items()}
            data = pd.DataFrame(data._host, **given)
        super().__init__(data)
        self._plain = plain or {}

    @property
    def columns(self) -> pd.Index:
        """An index of pandas, as in cuDF."""
        RECORDER.call(self.OWNER, "columns")
        return self._host.columns

    @property
    def dtypes(self) -> pd.Series:
        """A series of pandas, as in cuDF."""
        RECORDER.call(self.OWNER, "dtypes")
        columns = ((name, self._wrap(self._host[name])) for name in self._host)
        return pd.Series({name: column.dtype for name, column in columns}, dtype=object)

    def _wrap(self, result: Any) -> Any:
        if isinstance(result, pd.Series) and result.name in self._host.columns:
            return Series(result, self._plain.get(result.name))
        return DataFrame(result, self._plain) if isinstance(result, pd.DataFrame) else wrap(result)

    def __setitem__(self, name: Any, column: Series) -> None:
        RECORDER.call(self.OWNER, "__setitem__", (name, column))
        self._host[name] = unwrap(column)
        self._plain = {**self._plain, name: column._plain}

    def __iter__(self) -> Iterator[Any]:
        return iter(self._host.columns)

    def to_cupy(self, *args: Any, **kwargs: Any) -> arrays.ndarray:
        """Return a matrix; columns with nulls must be told what they become."""
        RECORDER.call(self.OWNER, "to_cupy", args, kwargs)
        with RECORDER.paused():
            columns = [self[name].to_cupy(**kwargs)._host for name in self]
        return arrays.ndarray(np.stack(columns, axis=1))
