from __future__ import annotations

import numpy as np
import pytest

from pipeline.data import checks
from pipeline.errors import DataError


def test_distinct_integers_stay_distinct_as_floats_or_are_refused() -> None:
    bound = 2**53
    values = checks.as_floats(np.array([3, -1, bound - 1, bound, 2**60]), "x")
    assert (values.dtype, values.tolist()) == ("float64", [3, -1, bound - 1, bound, 2**60])
    with pytest.raises(DataError, match=f"'x' holds {bound} and {bound + 1}, which are one"):
        checks.as_floats(np.array([bound + 1, 0, bound]), "x")


@pytest.mark.parametrize(
    ("array", "has_missing", "dtype"),
    [([1, 2], False, "int64"), ([1, 2], True, "float64"), ([True], False, "float64")],
)
def test_categories_have_the_type_of_the_column(
    array: list[int], has_missing: bool, dtype: str
) -> None:
    assert checks.as_seen(np.array(array), "x", has_missing=has_missing).dtype == dtype


def test_missing_dates_are_refused() -> None:
    dates = np.array(["2020-01-01"], dtype="datetime64[s]")
    assert checks.as_seen(dates, "x", has_missing=False) is dates
    with pytest.raises(DataError, match="'x' holds missing dates.*CalendarFeatures"):
        checks.as_seen(dates, "x", has_missing=True)
