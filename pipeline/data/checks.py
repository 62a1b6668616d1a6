"""What the values of a column must be, and the errors where they are not."""

from __future__ import annotations

from types import ModuleType

import numpy as np

from pipeline.errors import DataError
from pipeline.typing import Array, DType, Name

_ENCODE = "convert it (astype), encode it (OneHotEncoder, OrdinalEncoder, TargetEncoder)"
_SUGGESTIONS = {
    "M": "take its parts (CalendarFeatures), count the time from a day (subtract it)",
    "m": "count it in a unit (.dt.total_seconds())",
}


def no_numbers(name: Name, dtype: DType) -> DataError:
    """Return the error for a column that holds no numbers where they are needed.

    >>> str(no_numbers("gap", np.dtype("timedelta64[s]")))[:59]
    "column 'gap' holds timedelta64[s] values where numbers are "
    """
    suggestion = f"{_SUGGESTIONS.get(dtype.kind, _ENCODE)} or leave it out"
    return DataError(f"column {name!r} holds {dtype} values where numbers are needed; {suggestion}")


class CellTypeError(DataError, TypeError):
    """A cell holds what a step does not take; scikit-learn's error is a `TypeError` as well."""


def not_uniform(cells: np.ndarray, name: Name) -> CellTypeError:
    """Return the error for objects that no encoder tells apart, in scikit-learn's words."""
    types = sorted({type(cell).__qualname__ for cell in cells})
    return CellTypeError(
        "Encoders require their input argument must be uniformly strings or numbers. Got "
        f"{types} in the column {name!r}; make it one type (astype('str')) or leave it out"
    )


def missing_dates(name: Name) -> DataError:
    """Return the error for missing dates where categories are needed."""
    return DataError(
        f"column {name!r} holds missing dates, which no encoder of scikit-learn takes; "
        "fill them, or take parts of the dates (CalendarFeatures)"
    )


def is_finite(values: Array, xp: ModuleType) -> bool:
    """Return True only where no number is missing or infinite; False may be for too large a sum.

    >>> is_finite(np.array([1.0, 2.0]), np), is_finite(np.array([1.0, np.nan]), np)
    (True, False)
    """
    # A sum is infinite, or no number, where a value is; and it needs no memory.
    with np.errstate(over="ignore", invalid="ignore"):
        return values.dtype.kind != "f" or bool(xp.isfinite(values.sum()))


def infinite_numbers(name: Name, infinite: Array) -> DataError:
    """Return the error for a column in which some numbers, which are marked, are infinite."""
    return DataError(
        f"column {name!r} holds infinite values; replace them by numbers or by missing values "
        f"(the first is in row {int(infinite.argmax())})"
    )


def as_floats(values: np.ndarray, name: Name) -> np.ndarray:
    """Return distinct numbers as float64, in which they are still distinct.

    Raises
    ------
    DataError
        Two integers would become one number.
    """
    floats = values.astype("float64")
    order = np.argsort(floats, kind="stable")
    same = np.flatnonzero(np.diff(floats[order]) == 0)
    if len(same):
        a, b = sorted(values[order[same[0] : same[0] + 2]].tolist())
        raise DataError(
            f"column {name!r} holds {a} and {b}, which are one number as float64, the type of "
            "integers with missing values in scikit-learn; make the column text "
            "(astype('string')), or int64 if nothing is missing"
        )
    return floats


def as_seen(values: np.ndarray, name: Name, *, has_missing: bool) -> np.ndarray:
    """Return declared categories in the type that scikit-learn gives their column.

    Raises
    ------
    DataError
        Dates are missing, or two integers would become one number.
    """
    kind = values.dtype.kind
    if kind in "mM" and has_missing:
        raise missing_dates(name)
    return as_floats(values, name) if kind == "b" or kind in "iu" and has_missing else values
