"""Columns as codes."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from pipeline.errors import DataError
from pipeline.table import encode, frames
from tests.strategies import tables
from tests.table.test_frames import DATES, EVERY, HUGE
from tests.twins.columns import frame


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_huge_integers_are_categories_of_their_own(dtype: str) -> None:
    found = encode.categories(pd.DataFrame({"x": np.array(HUGE, dtype=dtype)}), "x")
    assert found.values.tolist() == HUGE
    assert found.codes.tolist() == [0, 1]


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([*HUGE, None], dtype="Int64"),
        pd.Series(HUGE, dtype="UInt64"),
        pd.Series([*HUGE, None], dtype=pd.ArrowDtype(pa.int64())),
        pd.Series([*HUGE, None], dtype="Int64").astype("category"),
    ],
    ids=["missing", "unsigned", "arrow", "category"],
)
def test_integers_that_would_fall_together_are_refused(column: pd.Series) -> None:
    with pytest.raises(
        DataError, match=f"'x' holds {HUGE[0]} and {HUGE[1]}, which become the same number"
    ):
        encode.categories(pd.DataFrame({"x": column}), "x")


def test_huge_integers_that_stay_apart_are_taken() -> None:
    X = pd.DataFrame({"x": pd.Series([2**53, None, 2**60], dtype="Int64")})
    codes, values = encode.categories(X, "x")
    assert codes.tolist() == [0, -1, 1]
    assert values.tolist() == [2.0**53, 2.0**60]


TIMES = {
    "us": DATES,
    "s": DATES.astype("datetime64[s]"),
    "zone": DATES.dt.tz_localize("Europe/Berlin"),
    "duration": DATES - pd.Timestamp("2020-01-01"),
    "category": DATES.astype("category"),
}


@pytest.mark.parametrize("kind", TIMES)
@pytest.mark.parametrize("encoder", [OneHotEncoder(sparse_output=False), OrdinalEncoder()])
def test_dates_are_the_categories_that_sklearn_sees(kind: str, encoder: Any) -> None:
    X = TIMES[kind].to_frame("x")
    codes, values = encode.categories(X, "x")
    theirs = encoder.fit(X).categories_[0]
    np.testing.assert_array_equal(np.sort(values), theirs)
    assert values.dtype == theirs.dtype
    assert (values[codes] == X["x"].to_numpy()).all()


def test_an_hour_that_comes_twice_is_two_categories() -> None:
    utc = pd.Series(pd.to_datetime(["2020-10-25 00:30", "2020-10-25 01:30"]).tz_localize("UTC"))
    X = utc.dt.tz_convert("Europe/Berlin").to_frame("x")
    assert encode.categories(X, "x").codes.tolist() == [0, 1]
    assert len(set(frames.datetimes(X, "x").tolist())) == 1


@pytest.mark.parametrize("kind", TIMES)
def test_missing_dates_are_no_category(kind: str) -> None:
    X = TIMES[kind].mask([False, True, False]).to_frame("x")
    with pytest.raises(DataError, match="column 'x' holds missing dates"):
        encode.categories(X, "x")


@pytest.mark.parametrize("kind", EVERY)
def test_categories_stand_for_the_values(kind: str) -> None:
    X = frame(kind, EVERY)
    codes, values = encode.categories(X, kind)
    cells = X[kind].astype(object).to_numpy()
    none = [X[kind].dtype == object and cell is None for cell in cells]
    missing = X[kind].isna().to_numpy() & ~np.array(none)
    np.testing.assert_array_equal(codes < 0, missing)
    assert (values[codes[~missing]] == cells[~missing]).all()
    assert not pd.isna([value for value in values if value is not None]).any()
    assert "unused" in kind or len(set(values.tolist())) == len(values)


@given(X=tables())
def test_any_column_is_its_codes(X: pd.DataFrame) -> None:
    ways = (
        [encode.categories(X, name) for name in X],
        map(encode.encode_few, frames.arrays(X)),
    )
    for name, known in zip([*X, *X], chain(*ways), strict=True):
        if known is None:  # of few rows, anything but text
            continue
        codes, values = known
        missing = X[name].isna().to_numpy()
        np.testing.assert_array_equal(codes < 0, missing)
        assert values[codes[~missing]].tolist() == X[name].astype(object)[~missing].tolist()
