"""Columns as codes: integers that point to the distinct values, and -1 for missing values.

Text gets its codes from Arrow, without a Python object per row.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from pipeline import trace
from pipeline.errors import DataError
from pipeline.table import frames
from pipeline.table.datetimes import MISSING, dates_of, ticks
from pipeline.typing import Array, Column, Name, Names, Table

LARGE = 2**20
"""Bytes whose copy from a GPU takes longer than the wait for it: they need not come with others."""
SAMPLE_ROWS = 2**17
"""Rows that tell whether most numbers of a column are distinct."""


class Coded(NamedTuple):
    """A column of categories as integers."""

    codes: Any
    """Positions in `values`, on the frame's device; -1 is missing."""
    values: np.ndarray
    """The distinct values, without missing; on the host."""


class CodedObjects(Coded):
    """A column of Python's objects: NaN alone is missing, and None is one of the values."""


def categories(X: Table, name: Name) -> Coded:
    """Return any column as codes into its distinct values.

    `DataError` says that values are infinite, that dates are missing, or that integers would fall
    together as float64, the type of those with missing values.
    """
    series = frames.column(X, name)
    if series.dtype.kind in "iufb":
        return _apart(series, name, coded(frames.values_of(series, name)))
    known = _other_categories(series, name)
    none = frames.library(X) == "pandas" and X.attrs.get(frames.NONE)
    if not none or not (missing := known.codes < 0).any():
        return known
    # Of objects None is one where a value is missing.
    codes = np.where(missing, len(known.values), known.codes).astype("int32")
    return CodedObjects(codes, np.append(known.values.astype(object), np.array([None])))


def all_categories(X: Table, names: Names) -> list[Coded]:
    """Return columns as `categories` does; distinct numbers on a GPU come together."""
    numeric = {n: each for n in names if (each := frames.column(X, n)).dtype.kind in "iufb"}
    known = all_coded(frames.values_of(series, name) for name, series in numeric.items())
    pairs = zip(numeric.items(), known, strict=True)
    of_numbers = {name: _apart(series, name, each) for (name, series), each in pairs}
    return [of_numbers[n] if n in of_numbers else categories(X, n) for n in names]


def _apart(series: Column, name: Name, known: Coded) -> Coded:
    """Return the codes of a column of numbers, of which none is infinite and none have merged."""
    if known.values.dtype.kind != "f":
        return known
    if np.isinf(known.values).any():
        raise frames.infinite_numbers(name, abs(frames.values_of(series, name)) == np.inf)
    if series.dtype.kind in "iu" and (abs(known.values) >= 2**53).any():
        plain = "uint64" if series.dtype.kind == "u" else "int64"
        exact = getattr(series.fillna(0).astype(plain), frames.TO_ARRAY[frames.library(series)])()
        as_floats(coded(exact).values, name)
    return known


def _other_categories(series: Column, name: Name) -> Coded:
    """Return the codes of a column of anything but numbers."""
    if series.dtype.kind in "mM":
        counts, unit = ticks(series)
        known = coded(counts)
        if len(known.values) and known.values[0] == MISSING:
            raise missing_dates(name)
        return Coded(known.codes, dates_of(known.values, unit, series.dtype))
    kind = frames.library(series)
    if kind not in frames.FRAMES:
        return coded(series)
    if isinstance(series.dtype, pd.StringDtype) and kind == "pandas":
        return encode_text(series)
    if series.dtype == object and kind == "pandas":
        return encode_objects(series.to_numpy(), name)
    declared = str(series.dtype) == "category"
    if declared and kind == "pandas":
        return encode_declared(series.array, name)
    if declared:
        codes = series.cat.codes.fillna(-1).to_cupy()
        return _as_declared(codes, host_index(series.cat.categories), series.hasnans, name)
    if kind == "cudf":
        # As categories, text in some rows of a table would have the nulls of its first rows.
        codes, values = series.factorize()
        return Coded(codes.astype("int32"), host_index(values))
    known = _used(series.astype("category").array)
    return known._replace(values=known.values.astype(object))


def encode_declared(cells: pd.Categorical, name: Name) -> Coded:
    """Return the codes of declared categories.

    >>> encode_declared(pd.Categorical(["b", None, "a"], categories=["b", "a"]), "t").codes.tolist()
    [0, -1, 1]
    """
    codes, values = _used(cells)
    return _as_declared(codes, values, bool((codes < 0).any()), name)


def _used(cells: pd.Categorical) -> Coded:
    """Return codes and categories; of more categories than rows, only those that some row has."""
    codes, known = cells.codes, cells.categories
    if len(codes) < len(known):
        there = codes >= 0
        used, places = np.unique(codes[there], return_inverse=True)
        codes, known = np.full(len(codes), -1, dtype="int32"), known.take(used)
        codes[there] = places
    return Coded(codes, host_index(known))


def _as_declared(codes: Array, values: np.ndarray, missing: bool, name: Name) -> Coded:
    """Return the codes of declared categories, of the type that scikit-learn gives their column."""
    letter = values.dtype.kind
    if letter == "f" and np.isinf(values).any():
        infinite = frames.xp(codes).asarray(np.append(np.isinf(values), False))
        raise frames.infinite_numbers(name, infinite[codes])
    if letter in "mM" and missing:
        raise missing_dates(name)
    as_float = letter == "b" or (letter in "iu" and missing)
    return Coded(codes, as_floats(values, name) if as_float else values)


def coded(array: Array) -> Coded:
    """Return a 1-D array as codes into its sorted distinct values; NaN is missing."""
    return all_coded([array])[0]


def all_coded(arrays: Iterable[Any]) -> list[Coded]:
    """Return arrays as `coded` does; distinct numbers on a GPU come together."""
    distinct = [_distinct(array) for array in arrays]
    values, found = frames.all_to_host([each.values for each in distinct]), []
    for (codes, _), known in zip(distinct, values, strict=True):
        if known.dtype.kind == "f" and np.isnan(known[-1:]).any():
            codes = frames.xp(codes).where(codes == len(known) - 1, codes.dtype.type(-1), codes)
            known = known[:-1]
        found.append(Coded(codes, known))
    return found


def _distinct(array: Array) -> Coded:
    """Return codes and distinct values, NaN among them; few values are still on the device."""
    if array.dtype.kind not in "iufb":
        codes, values = pd.factorize(array, sort=True)
        return Coded(codes, np.asarray(values, dtype=object))
    if frames.device_of(array) == "cpu":
        return _hashed(array)
    values, codes = frames.xp(array).unique(sortable(array), return_inverse=True)
    # Those of all columns are there at once, so they are as small as they can be.
    codes = codes.astype(np.min_scalar_type(-1 - len(values)))
    return Coded(codes, values if values.nbytes < LARGE else frames.to_host(values))


def _hashed(array: np.ndarray) -> Coded:
    """Return the codes of numbers, found by their hashes: only the distinct ones are sorted."""
    first = array[:SAMPLE_ROWS]
    if array.dtype == "float16" or 2 * pc.count_distinct(pa.array(first)).as_py() > len(first):
        return Coded(*np.unique(array, return_inverse=True)[::-1])
    encoded = pa.array(array).dictionary_encode()
    # Both zeros are one value, and so is whatever is no number.
    values, ranks = np.unique(
        encoded.dictionary.to_numpy(zero_copy_only=False), return_inverse=True
    )
    ranks = ranks.astype(np.min_scalar_type(-1 - len(values)))
    return Coded(ranks[encoded.indices.to_numpy()], values)


def sortable(array: Array) -> Any:
    """Return an array in which NaN will be sorted last, as NumPy does it.

    CuPy sorts floats by their bits, so a NaN whose sign is set, such as 0/0 on x86, comes first.
    """
    if array.dtype.kind != "f" or (cupy := frames.xp(array)) is np:
        return array
    return cupy.where(cupy.isnan(array), cupy.nan, array)


def host_index(index: Column) -> np.ndarray:
    """Return an index of category values as a NumPy array."""
    if frames.library(index) == "cudf":
        index = index.to_pandas()
        trace.record_transfer(to_host=int(index.memory_usage(deep=True)), what="state")
    values = index.to_numpy()
    return values if values.dtype.kind in "iufbmM" else values.astype(object)


def encode_objects(cells: np.ndarray, name: Name) -> CodedObjects:
    """Return the codes of Python's objects in the order in which they are met; NaN is missing.

    >>> codes, values = encode_objects(np.array(["b", None, np.nan], dtype=object), "t")
    >>> codes.tolist(), values.tolist()
    ([0, 1, -1], ['b', None])
    """
    try:
        codes, values = pd.factorize(cells)
    except TypeError as error:
        types = sorted({type(cell).__qualname__ for cell in cells})
        raise CellTypeError(
            "Encoders require their input argument must be uniformly strings or numbers. Got "
            f"{types} in the column {name!r}; convert it to one type (astype('str')) or drop it"
        ) from error
    holes = np.flatnonzero(codes < 0)
    none = holes[[cell is None for cell in cells[holes]]]
    if len(none):
        codes[none] = len(values)
        values = np.append(values, np.array([None], dtype=object))
    return CodedObjects(codes.astype("int32"), values)


def encode_text(series: pd.Series) -> Coded:
    """Return the codes of a series of one of pandas' types for text.

    The distinct values are in the order in which they are met.

    >>> codes, values = encode_text(pd.Series(["b", None, "a", "b"], dtype="str"))
    >>> codes.tolist(), values.tolist()
    ([0, -1, 1, 0], ['b', 'a'])
    """
    coded = pa.array(series).dictionary_encode()
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.unify_dictionaries().combine_chunks()
    values = coded.dictionary.to_numpy(zero_copy_only=False)
    return Coded(np.asarray(pc.fill_null(coded.indices, -1)), np.asarray(values, dtype=object))


def encode_few(cells: Any) -> Coded | None:
    """Return a few texts, or categories of text, as `encode_text` does; None for anything else.

    They become Python's objects, which is sooner done than Arrow begins to hash.

    >>> codes, values = encode_few(pd.array(["b", None, "a", "b"], dtype="str"))
    >>> codes.tolist(), values.tolist()
    ([0, -1, 1, 0], ['b', 'a'])
    """
    declared = isinstance(cells, pd.Categorical)
    known = cells.categories.array if declared else cells
    if not isinstance(known.dtype, pd.StringDtype):
        return None
    texts = pa.array(known)
    if declared:
        texts = [texts[j].as_py() if j >= 0 else None for j in cells.codes.tolist()]
    else:
        texts = texts.to_pylist()
    places = {None: -1}
    found = np.array([places.setdefault(text, len(places) - 1) for text in texts], dtype="int32")
    return Coded(found, np.array([*places][1:], dtype=object))


class CellTypeError(DataError, TypeError):
    """A cell holds what a step does not take; scikit-learn's error is a `TypeError` as well."""


def missing_dates(name: Name) -> DataError:
    """Return the error for missing dates where categories are needed."""
    return DataError(
        f"column {name!r} holds missing dates, which scikit-learn's encoders do not support; "
        "fill them, or use CalendarFeatures"
    )


def as_floats(values: np.ndarray, name: Name) -> np.ndarray:
    """Return distinct numbers as float64; reject integers that would become one number."""
    floats = values.astype("float64")
    order = np.argsort(floats, kind="stable")
    same = np.flatnonzero(np.diff(floats[order]) == 0)
    if len(same):
        a, b = sorted(values[order[same[0] : same[0] + 2]].tolist())
        raise DataError(
            f"column {name!r} holds {a} and {b}, which become the same number as float64, "
            "scikit-learn's type for integers with missing values; convert the column to text "
            "(astype('string')), or to int64 if nothing is missing"
        )
    return floats
