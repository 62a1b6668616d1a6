"""Cells are read as the values that a person would read, and what does not fit is named."""

from __future__ import annotations

import datetime
import re
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from msgspec import structs

from pipeline.errors import DataError
from pipeline.files.notations import read_cells
from pipeline.files.table_format import ColumnFormat, Date, Duration, Number, Text, Time

NUMBERS: dict[str, tuple[Number, list[str | None], list[float | None]]] = {
    "plain": (
        Number(),
        ["1", " 2.5", "-.5", "+3", "1e3", "1.5E-3"],
        [1, 2.5, -0.5, 3, 1e3, 1.5e-3],
    ),
    "commas": (Number(thousands=","), ["1,234.5", "999", "12,345,678"], [1234.5, 999, 12345678]),
    "points": (Number(decimal=",", thousands="."), ["1.234,5", "-1.000"], [1234.5, -1000]),
    "blanks": (
        Number(decimal=",", thousands=" "),
        ["1 234,5", "1\u00a0234,5", "1\u202f234,5", "1\u2009234,5"],
        [1234.5] * 4,
    ),
    "apostrophes": (Number(thousands="'"), ["1'234.5", "1\u2019234"], [1234.5, 1234]),
    "as in India": (Number(thousands=","), ["1,23,456.5", "12,34,56,789"], [123456.5, 123456789]),
    "dollars": (
        Number(thousands=",", unit="$"),
        ["$1,234.50", "-$5", "$-5", "($5)", "5 $", "7", "$ 8"],
        [1234.5, -5, -5, -5, 5, 7, 8],
    ),
    "a unit with a digit": (Number(unit="m2"), ["5 m2", "12m2"], [5, 12]),
    "accounts": (Number(thousands=","), ["(1,234.50)", "5-", "( 3 )"], [-1234.5, -5, -3]),
    "other signs": (Number(), ["\u22125", "\ufeff5", "5\u200b", "- 5"], [-5, 5, 5, -5]),
    "infinite": (Number(), ["inf", "-Infinity", "INF", "∞"], [np.inf, -np.inf, np.inf, np.inf]),
    "gaps": (Number(missing=("?", "-")), ["?", "-", None, " ", "", "NA", "5"], [None] * 6 + [5]),
}


@pytest.mark.parametrize("case", NUMBERS)
def test_numbers_are_read(case: str):
    format, cells, expected = NUMBERS[case]
    assert read_cells(pa.array(cells, pa.string()), format, "x").to_pylist() == expected


NO_NUMBERS = {
    "1,5": Number(),
    "1,23": Number(thousands=","),
    "0,123": Number(thousands=","),
    "1234,567": Number(thousands=","),
    "5 kg": Number(unit="g"),
    "5,- €": Number(decimal=",", unit="€"),
    "--5": Number(),
    "(-5)": Number(),
    "10-20": Number(),
    "1_0": Number(),
    "1.2.3": Number(),
    "$": Number(unit="$"),
    "31.02.2018": Date(format="%d.%m.%Y"),
    "201821": Date(format="%Y%m%d"),
    "9999-12-31": Date(format="%Y-%m-%d"),
    "24:30": Time(format="%H:%M"),
    "5": Duration(),
    "soon": Duration(),
}


@pytest.mark.parametrize("value", NO_NUMBERS)
def test_what_does_not_fit_is_refused_by_name_or_missing(value: str):
    format = NO_NUMBERS[value]
    cells = pa.chunked_array([[None, ""], [value, value]], pa.string())
    words = re.escape(f"new.csv: column 'x' holds {value!r} in row 12, ") + ".*2 values.*missing"
    with pytest.raises(DataError, match=words):
        read_cells(cells, format, "new.csv: column 'x'", 10)
    lenient = structs.replace(format, stray="missing")
    with pytest.warns(UserWarning, match=r"x: 2 of 4 values are not .* in row 2$"):
        assert read_cells(cells, lenient, "x").null_count == 4


DATES: dict[str, tuple[ColumnFormat, list[str | None], list[str | None]]] = {
    "points": (
        Date(format="%d.%m.%Y"),
        ["01.02.2018", "3.4.2018", None],
        ["2018-02-01", "2018-04-03", None],
    ),
    "months": (
        Date(format="%d %b %Y"),
        ["01 Feb 2018", "1 feb. 2018", "3rd Sept 2018"],
        ["2018-02-01", "2018-02-01", "2018-09-03"],
    ),
    "halves of a day": (
        Date(format="%m/%d/%Y %I:%M %p"),
        ["2/1/2018 9:05 PM", "2/1/2018 9:05pm", "2/1/2018 9:05 p.m."],
        ["2018-02-01 21:05"] * 3,
    ),
    "fractions": (
        Date(format="%Y/%m/%d %H:%M:%S.%f"),
        ["2018/02/01 01:02:03.5", "2018/02/01 01:02:03.123456789"],
        ["2018-02-01 01:02:03.5", "2018-02-01 01:02:03.123456789"],
    ),
    "offsets": (
        Date(format="%d.%m.%Y %H:%M%z"),
        ["01.02.2018 10:00+01:00", "01.02.2018 10:00Z", "01.02.2018 10:00 UTC"],
        ["2018-02-01 09:00Z", "2018-02-01 10:00Z", "2018-02-01 10:00Z"],
    ),
    "mixed": (
        Date(format=("%d.%m.%Y", "%Y-%m-%d")),
        ["01.02.2018", "2018-02-01"],
        ["2018-02-01"] * 2,
    ),
    "no marks": (Date(format="%Y%m%d"), ["20180201", "?"], ["2018-02-01", None]),
    "time": (
        Time(format=("%H:%M", "%H:%M:%S")),
        ["12:30", "0:05:07"],
        ["1970-01-01 12:30", "1970-01-01 00:05:07"],
    ),
}


@pytest.mark.parametrize("case", DATES)
def test_dates_are_read(case: str):
    format, cells, expected = DATES[case]
    if "?" in cells:
        format = Date(format="%Y%m%d", missing=("?",))
    values = read_cells(pa.array(cells, pa.string()), format, "x")
    zone = "UTC" if case == "offsets" else None
    assert values.type == pa.timestamp("ns", zone)
    assert values.to_pandas().tolist() == [pd.Timestamp(each) for each in expected]


DURATIONS = {
    "1:23:45": 5025,
    "26:10:05.5": 94205.5,
    "2 days 03:00:00": 183600,
    "1 day, 2:03:04": 93784,
    "1h30m": None,
    "-1:00:00": -3600,
    "P1DT2H": None,
    "PM10": None,
    "5": None,
}


def test_durations_are_seconds_or_missing():
    lenient = Duration(stray="missing")
    values = read_cells(pa.array([*DURATIONS, None]), lenient, "x")
    assert values.to_pylist() == [*DURATIONS.values(), None]


def test_texts_stay_as_they_are_but_for_marks():
    cells = pa.array(["yes ", "?", " ? ", "  ", None, " no"])
    format = Text(missing=("?", ""))
    assert read_cells(cells, format, "x").to_pylist() == ["yes ", None, None, None, None, " no"]
    assert read_cells(cells, Text(empty=True), "x").to_pylist()[4] == ""


TYPED: list[tuple[Any, ColumnFormat, list[Any]]] = [
    (pa.array([1, None]), Number(thousands=","), [1, None]),
    (pa.array([20180201]), Date(format="%Y%m%d"), [pd.Timestamp("2018-02-01")]),
    (pa.array([123, 7]), Text(), ["123", "7"]),
    (pa.array([123.0, None]), Text(), ["123", None]),
    (pa.array(["1,5", "1,5"]).dictionary_encode(), Number(decimal=","), [1.5, 1.5]),
    (pa.array(["1,5"], pa.large_string()), Number(decimal=","), [1.5]),
    (pa.array([datetime.timedelta(minutes=1)]), Duration(), [60.0]),
]


@pytest.mark.parametrize("case", range(len(TYPED)))
def test_what_has_the_type_passes_and_other_values_are_read_as_text(case: int):
    cells, format, expected = TYPED[case]
    assert read_cells(cells, format, "x").to_pylist() == expected
