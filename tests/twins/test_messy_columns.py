"""Messy tables: what scikit-learn makes of them, we make, and so does the lifted model."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Callable
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
    TargetEncoder,
)

from pipeline import Accelerated

DAYS = [datetime.date(2020, 1, day) for day in (1, 2, 3, 4)]


class Kind(NamedTuple):
    """Values of a column, the last of which only new rows hold, and its type."""

    values: list[Any]
    dtype: Any = object
    missing: tuple[Any, ...] = ()


KINDS: dict[str, Kind] = {
    "text, missing": Kind(["b", "a", "nan", "Zé"], "str", (np.nan,)),
    "objects, NaN": Kind(["b", "a", "None", "z"], object, (np.nan,)),
    "objects, None and NaN": Kind(["b", "a", "c", "z"], object, (None, np.nan)),
    "bools, None": Kind([True, False], object, (None,)),
    "bools, NaN": Kind([True, False], object, (np.nan,)),
    "ints": Kind([3, 1, 2, 9], "int64"),
    "ints, None": Kind([3, 1, 2, 9], object, (None,)),
    "ids, None": Kind([2**60, 2**60 + 1, 2**60 + 2, 2**60 + 3], object, (None,)),
    "beyond 64 bits": Kind([2**70, 2**70 + 1, 5, 2**80]),
    "floats": Kind([1.5, -2.0, 0.1, 9.5], "float64", (np.nan,)),
    "float16": Kind([1.5, -2.0, 0.1, 9.5], "float16", (np.nan,)),
    "objects of floats": Kind([1.5, -2.0, 0.1, 9.5], object, (None, np.nan)),
    "bytes, None": Kind([b"b", b"a", b"", b"z"], object, (None,)),
    "mixed, None": Kind([1, "a", True, 0], object, (None,)),
    "dates, NaT": Kind(["2020-01-01", "2020-01-02", "2021-01-01", "NaT"], "M8[s]", (pd.NaT,)),
    "zoned": Kind(["2020-01-01", "2020-01-02", "2021-01-01", "2022-01-01"], "M8[ns, Asia/Tokyo]"),
    "objects of dates, None": Kind(DAYS, object, (None,)),
    "Arrow dates": Kind(DAYS, pd.ArrowDtype(pa.date32())),
    "decimals, None": Kind(
        [Decimal("1.5"), Decimal(2), Decimal("-3"), Decimal(9)], object, (None,)
    ),
    "categories, missing": Kind(["b", "a", "z"], pd.CategoricalDtype(["b", "a", "z"]), (np.nan,)),
    "ordered": Kind(["low", "high", "top"], pd.CategoricalDtype(["low", "high", "top"], True)),
    "categories of ints, missing": Kind([3, 1], pd.CategoricalDtype([9, 3, 2, 1]), (np.nan,)),
    "categories of bools": Kind([True, False], pd.CategoricalDtype([True, False])),
    "Int64, NA": Kind([3, 1, 2, 9], "Int64", (pd.NA,)),
    "boolean, NA": Kind([True, False], "boolean", (pd.NA,)),
    "string, NA": Kind(["b", "a", "", "z"], "string", (pd.NA,)),
    "objects, NA": Kind(["b", "a", "", "z"], object, (pd.NA,)),
    "Arrow text": Kind(["b", "a", "", "z"], pd.ArrowDtype(pa.string())),
    "nothing": Kind([np.nan], "float64"),
    "nothing, text": Kind([np.nan], "str"),
}


FOLDS = {"cv": 2, "shuffle": False}
LEAVES: list[Any] = [
    SimpleImputer(strategy="most_frequent", keep_empty_features=True),
    SimpleImputer(strategy="most_frequent", missing_values=None),
    SimpleImputer(strategy="constant", fill_value="none", add_indicator=True),
    SimpleImputer(),
    MissingIndicator(),
    OneHotEncoder(handle_unknown="ignore", sparse_output=False),
    OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=3, sparse_output=False),
    OneHotEncoder(drop="first", handle_unknown="ignore", sparse_output=False),
    OneHotEncoder(max_categories=2, handle_unknown="warn", sparse_output=False),
    OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
    OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=np.nan, encoded_missing_value=-2
    ),
    OrdinalEncoder(encoded_missing_value=-1, max_categories=2, dtype="float32"),
    TargetEncoder(**FOLDS),
    FunctionTransformer(feature_names_out="one-to-one"),
    "passthrough",
]
"""What is tried alone, behind another step, and on some of the columns."""

IMPUTE = [SimpleImputer(strategy="most_frequent"), SimpleImputer(strategy="constant")]
PROGRAMS: list[Callable[[Any], Any]] = [
    lambda leaf: leaf,
    lambda leaf: make_pipeline(IMPUTE[0], leaf),
    lambda leaf: make_pipeline(IMPUTE[1], leaf),
    lambda leaf: make_pipeline(leaf, OneHotEncoder(handle_unknown="ignore", sparse_output=False)),
    lambda leaf: make_column_transformer((leaf, ["c"]), remainder="passthrough"),
    lambda leaf: make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="most_frequent"), leaf), ["c"]),
        (StandardScaler(), ["n"]),
    ),
    lambda leaf: make_column_transformer((leaf, ["c", "n"])),
    lambda leaf: make_union(leaf, MissingIndicator(features="all")),
]


class Case(NamedTuple):
    """A program, the rows it is fitted on, and new ones."""

    program: Any
    X: pd.DataFrame
    new: pd.DataFrame
    framed: bool
    what: str


def is_alike(kind: str, leaf: Any) -> bool:
    """Return whether we make of a column what scikit-learn makes of it.

    Arrow text and nullable booleans that are handed on come out as text and as numbers.
    """
    handed_on = leaf == "passthrough" or isinstance(leaf, FunctionTransformer)
    return not (handed_on and kind in ("Arrow text", "boolean", "boolean, NA"))


def sparse(program: Any) -> list[str]:
    """Return the parameters that ask for sparse rows."""
    return [name for name in program.get_params() if name.endswith("sparse_output")]


def column(draw: st.DrawFn, kind: Kind, n_rows: int, *, new: bool) -> pd.Series:
    """Return a column of some values, in which some are missing."""
    known = kind.values[:-1] if len(kind.values) > 2 and not new else kind.values
    cells = draw(
        st.lists(st.sampled_from([*known, *kind.missing]), min_size=n_rows, max_size=n_rows)
    )
    return series(cells, kind)


def series(cells: list[Any], kind: Kind) -> pd.Series:
    """Return a column of some cells."""
    if isinstance(kind.dtype, str) and kind.dtype.startswith("M8[ns,"):
        return pd.Series(pd.to_datetime(cells)).dt.tz_localize(kind.dtype[7:-1])
    return pd.Series(cells, dtype=kind.dtype)


@st.composite
def cases(draw: st.DrawFn, kinds: dict[str, Kind] = KINDS) -> Case:
    """Return a program for tables of a messy column and a tidy one."""
    name = draw(st.sampled_from(sorted(kinds)))
    leaf = draw(st.sampled_from(LEAVES))
    shape = draw(st.sampled_from(PROGRAMS))
    assume(is_alike(name, leaf))
    if shape is PROGRAMS[0] and (leaf == "passthrough" or isinstance(leaf, FunctionTransformer)):
        shape = PROGRAMS[4]
    if shape is PROGRAMS[3] and isinstance(leaf, TargetEncoder):
        shape = PROGRAMS[1]  # In names, numbers have all their digits.
    framed = draw(st.booleans())
    program = clone(shape(leaf))
    if framed or shape is PROGRAMS[3]:
        program.set_params(**dict.fromkeys(sparse(program), False))
    if framed:
        program.set_output(transform="pandas")
    tables = []
    for new in (False, True):
        n_rows = draw(st.integers(4, 12))
        X = pd.DataFrame({"c": column(draw, kinds[name], n_rows, new=new)})
        X["n"] = np.arange(n_rows) % 3 / 2
        index = draw(st.sampled_from([range(n_rows), range(5, n_rows + 5), [7] * n_rows]))
        tables.append(X.set_axis(index))
    return Case(program, *tables, framed, f"{name}: {program}")


def answers(model: Any, case: Case) -> list[Any]:
    """Return what a model makes of the rows, or the classes of its errors."""
    y = np.arange(len(case.X)) * 7 % 5 % 2
    return [
        attempt(lambda: read(model.fit_transform(case.X, y))),
        attempt(lambda: read(model.transform(case.X))),
        attempt(lambda: read(model.transform(case.new))),
        attempt(lambda: list(model.get_feature_names_out())),
    ]


def attempt(call: Callable[[], Any]) -> Any:
    """Return what a call returns or raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call()
        except Exception as error:
            return error


def read(made: Any) -> Any:
    """Return columns as lists of cells, and what else there is to see of a matrix or a frame."""
    made = made.toarray() if issparse(made) else made
    if isinstance(made, np.ndarray):
        return str(made.dtype), [[shown(v) for v in row] for row in made.tolist()]
    made = (
        made.sparse.to_dense() if any(isinstance(d, pd.SparseDtype) for d in made.dtypes) else made
    )
    held = {n: (str(made[n].dtype), [shown(v) for v in made[n].tolist()]) for n in made}
    return held, made.index.tolist(), type(made).__name__


def shown(value: Any) -> Any:
    """Return a value with its type, and of a number nine digits."""
    return (type(value).__name__, f"{value:.9g}" if isinstance(value, float) else repr(value))


def difference(ours: Any, theirs: Any) -> str:
    """Return how answers differ, or nothing."""
    if isinstance(theirs, Exception):
        if not isinstance(ours, Exception):
            if any(why in str(theirs) for why in MISSING_TOO):
                return ""
            return f"takes more, {type(theirs).__name__}: {str(theirs)[:150]}"
        same = isinstance(ours, builtin(type(theirs)))
        return "" if same else f"error {ours!r} for {theirs!r}"
    if isinstance(ours, Exception):
        return f"error {ours!r}"
    return "" if ours == theirs else f"{ours} for {theirs}"


def builtin(kind: type) -> type:
    """Return the class of Python's own that an error is of."""
    return next(base for base in kind.__mro__ if base.__module__ == "builtins")


MISSING_TOO = ("contains NaN", "value of NA is ambiguous")
"""Errors of scikit-learn's where NaN or NA is not the marker; here it is missing all the same."""

STAGES = ["fit_transform", "transform", "of new rows", "names"]


def differences(case: Case) -> list[str]:
    """Return where scikit-learn differs from us, or the lifted model from scikit-learn."""
    plain = clone(case.program)
    expected = answers(plain, case)
    model = Accelerated(clone(case.program), device="cpu")
    found = answers(model, case)
    lifted = attempt(model.to_sklearn)
    pairs = zip(STAGES, found, expected, strict=True)
    if isinstance(expected[0], Exception):
        # We may take more.
        more = not isinstance(found[0], Exception)
        return [] if more else [how for how in [difference(found[0], expected[0])] if how]
    told = [f"{stage}: {how}" for stage, a, b in pairs if (how := difference(a, b))]
    if not isinstance(lifted, Exception):
        for stage, rows, theirs in zip(
            ("", " of new rows"), (case.X, case.new), expected[1:], strict=False
        ):
            how = difference(attempt(lambda rows=rows: read(lifted.transform(rows))), theirs)
            told += [f"lifted{stage}: {how}"] if how else []
    return told


@pytest.mark.slow
@given(case=cases())
@settings(max_examples=1_000)
def test_many_messy_columns_are_what_they_are_to_sklearn(case: Case) -> None:
    assert differences(case) == []
