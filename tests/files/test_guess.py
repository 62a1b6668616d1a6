"""What the cells of a column stand for is guessed from all of them, said, or left as text."""

from __future__ import annotations

import re
from datetime import datetime

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pipeline.errors import DataError
from pipeline.files.csv import infer
from pipeline.files.guess import sniff_columns
from pipeline.files.notations import CLOCKS, DAYS, NUMBERS, read_cells
from pipeline.files.table_format import ColumnFormat, Date, Duration, Number, Text, Time
from pipeline.files.text_column import Options
from tools import docs

N = 40
"""How many rows the columns have, of which a case gives the first."""


def column(*cells: str | None) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array([cells[i % len(cells)] for i in range(N)], pa.string())])


def guess(
    *cells: str | None, name: str = "x", **options: object
) -> tuple[ColumnFormat | None, list[str]]:
    formats, notes = sniff_columns(pa.table({name: column(*cells)}), Options(**options))  # type: ignore[arg-type]
    return formats.get(name), notes


READ: dict[str, tuple[list[str | None], ColumnFormat, list[object]]] = {
    "decimal comma": (["1,5", "2,25", "3"], Number(decimal=","), [1.5, 2.25, 3]),
    "comma, three digits and none": (["1,234", "0,5"], Number(decimal=","), [1.234, 0.5]),
    "thousands": (["1,234.5", "999"], Number(thousands=","), [1234.5, 999]),
    "points and comma": (["1.234,5", "7"], Number(decimal=",", thousands="."), [1234.5, 7]),
    "metres": (["5 m", "12 m"], Number(unit="m"), [5, 12]),
    "thousands of all": (["1.2k", "0.9k"], Number(unit="k"), [1.2, 0.9]),
    "blanks": (["1 234", "12"], Number(thousands=" "), [1234, 12]),
    "dollars": (["$1,234.50", "($7)"], Number(thousands=",", unit="$"), [1234.5, -7]),
    "square metres": (["12 m2", "5 m2"], Number(unit="m2"), [12, 5]),
    "a question mark": (["5", "?", "6"], Number(missing=("?",)), [5, None, 6]),
    "dashes": (["5.5", "-", "--"], Number(missing=("-", "--")), [5.5, None, None]),
    "blank cells": (["5", "  "], Number(), [5, None]),
    "points between": (["01.02.2018", "13.02.2018"], Date(format="%d.%m.%Y"), ["0201", "0213"]),
    "day first": (["01/02/2018", "13/02/2018"], Date(format="%d/%m/%Y"), ["0201", "0213"]),
    "month first": (["01/02/2018", "01/13/2018"], Date(format="%m/%d/%Y"), ["0102", "0113"]),
    "year first": (["2018/02/01", "2018/02/13"], Date(format="%Y/%m/%d"), ["0201", "0213"]),
    "short year": (["1-Feb-18", "13-Mar-18"], Date(format="%d-%b-%y"), ["0201", "0313"]),
    "AM and PM": (
        ["2/13/2018 12:05 AM", "2/1/2018 12:00 am"],
        Date(format="%m/%d/%Y %I:%M %p"),
        ["0213 00:05", "0201"],
    ),
    "two digits of the year first": (
        ["18-02-01", "18-02-13", "18-11-25", "18-12-31", "18-01-30"],
        Date(format="%y-%m-%d"),
        ["0201", "0213", "1125", "1231", "0130"],
    ),
    "times in two forms": (
        ["9:05 AM", "9 AM"],
        Time(format=("%I:%M %p", "%I %p")),
        ["1970-01-01 9:05", "1970-01-01 9:00"],
    ),
    "beyond a day": (["1:23:45", "26:00:00"], Duration(), [5025, 93600]),
    "codes": (["00123", "90210"], Text(), ["00123", "90210"]),
    "long codes": (["9007199254740993", "1"], Text(), ["9007199254740993", "1"]),
    "beyond 64 bits": (["18446744073709551617", "1"], Text(), ["18446744073709551617", "1"]),
    "a mark among words": (["a", "b", "?"], Text(missing=("?",)), ["a", "b", None]),
}


def as_values(values: list[object]) -> list[object]:
    return [
        pd.Timestamp(f"2018{each}" if each[4:5] != "-" else each) if isinstance(each, str) else each
        for each in values
    ]


@pytest.mark.quick(20)
@pytest.mark.parametrize("case", READ)
def test_a_column_is_read_as_a_person_would(case: str):
    cells, format, expected = READ[case]
    found, notes = guess(*cells)
    assert found == format
    assert any("'x'" in note for note in notes)
    values = read_cells(column(*cells), found, "x")[: len(cells)].to_pylist()
    is_date = isinstance(format, Date | Time)
    assert values == (as_values(expected) if is_date else expected)


@pytest.mark.parametrize("form", ["%Y%m", "%Y.%m", "%m.%Y"])
def test_months_that_are_numbers_are_dates_by_name_or_by_many(form: str):
    months = [datetime(2017 + i // 12, i % 12 + 1, 1) for i in range(24)]
    cells = [each.strftime(form) for each in months]
    assert guess(*cells)[0] == guess(*cells[:3], name="month")[0] == Date(format=form)
    assert guess(*cells[:3])[0] is None
    assert guess(*cells, "201713", "2017.13", "13.2017")[0] != Date(format=form)


TEXTS = {
    "prose": ["It was a bright cold day in April", "and the clocks were striking 13", "and so on"],
    "phone numbers with blanks": ["600 123 456", "601 555 777"],
    "phone numbers abroad": ["+49 170 123 456", "+33 612 345 678"],
    "versions": ["1.2.3", "1.10.2", "3.0.1"],
    "addresses of machines": ["192.168.0.1", "10.0.0.17"],
    "scores": ["3-1", "2-0"],
    "coordinates": ["48.85° N", "33.92° S"],
    "postcodes": ["SW1A 1AA", "EC2A 4NE"],
    "ranges": ["10-20", "20-30"],
    "ids": ["A12", "A13"],
    "ordinals": ["1st", "2nd", "3rd"],
    "pressures": ["120/80", "130/85"],
    "censored": ["<5", "<10", ">20"],
    "yes and no": ["yes", "no"],
    "codes by capitals": ["a", "A"],
    "sodium": ["Na", "K"],
    "heights": ["5'11\"", "6'2\""],
}


@pytest.mark.quick(18)
@pytest.mark.parametrize("case", TEXTS)
def test_what_only_looks_like_numbers_or_dates_stays_text(case: str):
    format, _ = guess(*TEXTS[case])
    assert format is None
    assert pa.types.is_string(infer(column(*TEXTS[case])).type)


PLAIN = {
    "integers": ["1", "2", None],
    "decimals": ["1.5", "-2", "1e3"],
    "three decimals": ["0.234", "2.345"],
    "dates": ["2018-02-01", None],
    "truth values": ["True", "False"],
    "nothing": [None],
    "signs": ["-1", "0", "1"],
    "degrees": [*map(str, range(-3, 20))],
    "zero and much more": ["0", *map(str, range(300, 900, 10))],
    "percent": [*map(str, range(62, 100))],
    "words": ["red", "blue", None],
}


@pytest.mark.parametrize("case", PLAIN)
def test_what_the_plain_rules_read_needs_no_word(case: str):
    assert guess(*PLAIN[case]) == (None, [])


STRAYS: dict[str, tuple[list[str], list[str], type]] = {
    "numbers": ([str(i) for i in range(100)], ["oops", "12a", "n.a.!"], Number),
    "dollars": ([f"${i},000.5" for i in range(1, 100)], ["£5", "free"], Number),
    "dates": ([f"{i % 28 + 1:02}.03.2018" for i in range(100)], ["31.02.2018", "soon"], Date),
    "times": ([f"{i % 24}:30" for i in range(100)], ["25:30", "noon"], Time),
    "lengths": ([f"26:{i % 60:02}:00" for i in range(100)], ["long"], Duration),
}


@pytest.mark.parametrize("case", STRAYS)
def test_a_few_other_cells_are_missing_and_named_or_refused(case: str):
    cells, strays, kind = STRAYS[case]
    table = pa.table({"x": cells[:7] + strays + cells[7:]})
    formats, notes = sniff_columns(table)
    assert isinstance(formats["x"], kind)
    assert getattr(formats["x"], "stray") == "missing"  # noqa: B009
    said = next(note for note in notes if " are " in note and "read as missing" in note)
    assert all(str(7 + i) in said and repr(each) in said for i, each in enumerate(strays))
    values = read_cells(table["x"], formats["x"], "x")
    assert values.null_count == len(strays)


def test_more_than_a_few_other_cells_make_text_and_that_is_said():
    table = pa.table({"x": ["1.5"] * 90 + ["2.5"] * 3 + ["a", "b"] * 5})
    formats, notes = sniff_columns(table)
    assert formats == {}
    assert "'x' is text, but its values look like numbers" in notes[0]
    assert sniff_columns(pa.table({"x": ["31.12.2018"] * 92 + ["soon"] * 8}))[0] == {}


UNDECIDED = {
    "slashes": ["02/01/2018", "03/04/2018"],
    "dashes": ["02-01-2018", "03-04-2018"],
    "two digits": ["02/01/18", "03/04/18"],
    "with a time": ["02/01/2018 10:00", "03/04/2018 11:00"],
}


@pytest.mark.parametrize("case", UNDECIDED)
def test_day_or_month_first_is_asked_for_where_no_cell_tells(case: str):
    cells = UNDECIDED[case]
    with pytest.raises(DataError, match=r"a\.csv: column 'x' .*'02.01.*--dates day-first"):
        guess(*cells, source="a.csv")
    for first, month in ((True, 1), (False, 2)):
        format, notes = guess(*cells, day_first=first)
        assert format is not None
        assert read_cells(column(*cells), format, "x")[0].as_py().month == month
        assert ("day first" if first else "month first") in notes[0]


@pytest.mark.parametrize(("other", "month"), [("13/02/2018", 1), ("02/13/2018", 2)])
def test_another_column_tells_whether_the_day_comes_first(other: str, month: int):
    table = pa.table({"x": column("02/01/2018", "03/04/2018"), "y": column(other)})
    formats, notes = sniff_columns(table)
    assert read_cells(table["x"], formats["x"], "x")[0].as_py().month == month
    assert any("other columns" in note for note in notes)


@pytest.mark.parametrize(
    ("cells", "other", "expected"),
    [
        (["1,234", "2,345"], ["1,5"], 1.234),
        (["1,234", "2,345"], ["1,234.5"], 1234),
        (["1,234", "2,345"], ["1.5"], 1234),
        (["1.234", "2.345"], ["1,5"], 1234),
        (["1.234", "2.345", "?"], ["1,5"], 1234),
        (["1.234", "2.345"], ["1.234,5"], 1234),
    ],
)
def test_another_column_tells_what_a_comma_is(cells: list[str], other: list[str], expected: float):
    table = pa.table({"x": column(*cells), "y": column(*other)})
    formats, _ = sniff_columns(table)
    assert read_cells(table["x"], formats["x"], "x")[0].as_py() == expected


ASKED = {
    "a comma": (["1,234", "2,345"], Number(thousands=","), Number(decimal=",")),
    "a comma beside integers": (["1,234", "1234"], Number(thousands=","), Number(decimal=",")),
    "a comma beside short integers": (["1,234", "12"], Number(thousands=","), Number(decimal=",")),
    "a point": (["1.234", "23.456"], None, Number(decimal=",", thousands=".")),
    "a point beside a mark": (
        ["1.234", "23.456", "?"],
        Number(missing=("?",)),
        Number(decimal=",", thousands=".", missing=("?",)),
    ),
}


@pytest.mark.parametrize("case", ASKED)
def test_a_mark_of_decimals_or_of_thousands_is_asked_for(case: str):
    cells, point, comma = ASKED[case]
    with pytest.raises(DataError, match=r"a\.csv: column 'x' .*'1.234', whose .*--decimal ,"):
        guess(*cells, source="a.csv")
    assert guess(*cells, decimal=".")[0] == point
    assert guess(*cells, decimal=",")[0] == comma


@pytest.mark.parametrize("name", ["id", "customer_id", "userId", "ID", "zip", "Phone Number"])
def test_numbers_that_name_something_are_text(name: str):
    format, notes = guess("10", "20", name=name)
    assert format == Text()
    assert "as its name suggests" in notes[0]


@pytest.mark.parametrize("name", ["paid", "PAID", "grid", "zipper", "phone_calls", "idle", "x"])
def test_names_that_hold_the_letters_of_another_name_nothing(name: str):
    assert guess("10", "20", name=name) == (None, [])


def test_eight_digits_are_dates_by_name_or_by_many():
    assert guess("20180201", "20181231", name="date")[0] == Date(format="%Y%m%d")
    assert guess("20180201", "20181231")[0] is None
    assert guess(*(f"2018{i:02}15" for i in range(1, 13)), *(f"201902{i}" for i in range(10, 20)))[
        0
    ] == Date(format="%Y%m%d")
    assert guess("20180201", "20181331", name="date")[0] is None
    assert guess("20180201", "21010201", name="date")[0] is None


def test_a_day_that_varies_no_less_than_the_year_is_first():
    cells = ("13-02-18", "14-03-19", "15-04-20", "16-05-21", "13-06-22")
    assert guess(*cells)[0] == Date(format="%d-%m-%y")


@pytest.mark.parametrize("cells", [["yes", "no"], ["y", "n", "Y"], ["7", "8", "10"]])
def test_names_of_classes_stay_words(cells: list[str]):
    assert guess(*cells, labels=("x",))[0] is None


CAUTIONS = {
    "infinite numbers": (["1.5", "1e309", "2"], "8 more are infinite and read as missing"),
    "quarters": (["2015Q2", "2016Q1"], "as '2015Q2', read as 2015-04-01 (a month, quarter or week"),
    "some without an offset": (["2018-02-01 10:00+01:00", "2018-02-01 10:00"], "offset are UTC"),
    "some without a unit": (["12%", "5 %", "0.5"], "13 values without '%'"),
    "a dash among words": (["red", "blue", "-"], "'-' (13 values) is kept as a value"),
}


@pytest.mark.quick(13)
@pytest.mark.parametrize("case", CAUTIONS)
def test_what_may_mean_something_else_is_said(case: str):
    cells, words = CAUTIONS[case]
    assert words in "\n".join(guess(*cells)[1])


UNREAD = {
    "of a spreadsheet": (['="12"', '="7.5"'], "to_numeric"),
    "units": (["12 kg", "500 g"], "to_numeric"),
    "footnotes": (["1,234[1]", "2,500,000 [2]"], "to read only their digits"),
    "bounds": (["<5", "7", "65+"], "to_numeric"),
    "other months": (["1. Februar 2018", "2. März 2018"], "to_datetime"),
    "both orders": (["13/02/2018", "02/13/2018"], "pd.to_datetime(table['x'], format='mixed'"),
}


@pytest.mark.parametrize("case", UNREAD)
def test_what_is_not_understood_stays_text_with_one_note_and_the_line_of_pandas(case: str):
    cells, line = UNREAD[case]
    format, notes = guess(*cells)
    assert format is None
    assert len(notes) == 1
    assert line in notes[0]


def test_a_column_with_gaps_and_powers_of_ten_may_end_the_table():
    assert sniff_columns(pa.table({"n": ["1e3", None, "2.5e6", "1e4", "2e4"] * 3})) == ({}, [])


UNITS = ["{}", "${}", "{} €", "{}%", "CHF {}", "{} kg", "{} km/h"]
DATES = {pd.Timestamp("2018-02-13 19:35:05", tz="UTC").strftime(each): each for each in DAYS}
SPELLED = {
    "2018Q3": "2018-07-01",
    "Q3 2018": "2018-07-01",
    "2018-W05": "2018-01-29",
    "1st Sept. 2018": "2018-09-01",
    "13/Mar/2018:19:35:00 +0000": "2018-03-13 19:35Z",
    "2018-03-13 at 7:35 p.m.": "2018-03-13 19:35",
}


def test_the_documentation_shows_what_is_tested():
    assert {*docs.spelled()["dates"]} <= {*DATES, *SPELLED}


@pytest.mark.parametrize("cell", [*DATES, *SPELLED])
def test_a_date_is_read_as_it_is_guessed(cell: str):
    format = DATES.get(cell, "")
    wanted = pd.to_datetime(cell, format=format) if format else pd.Timestamp(SPELLED[cell])
    found, _ = guess(cell, name="date", day_first=format[:2] == "%d")
    if cell == "18-02-13":
        return  # One cell does not tell it from other dates.
    values = read_cells(column(cell), found, "x") if found else infer(column(cell))
    assert pd.Timestamp(values[0].as_py()) == wanted


@given(
    st.lists(st.integers(-(10**9), 10**9), min_size=2, max_size=30),
    st.integers(0, 3),
    st.sampled_from(NUMBERS),
    st.sampled_from(UNITS),
)
def test_numbers_written_in_any_notation_come_back(
    values: list[int], decimals: int, format: Number, unit: str
):
    exact = [each / 10**decimals for each in values]
    marks = {44: format.thousands, 46: format.decimal}
    cells = pa.array(
        "-" * (v < 0) + unit.format(f"{abs(v):,.{decimals}f}".translate(marks)) for v in exact
    )
    try:
        formats, _ = sniff_columns(pa.table({"x": cells}))
    except DataError:
        assert decimals in (0, 3)
        formats, _ = sniff_columns(pa.table({"x": cells}), Options(decimal=format.decimal))
    found = read_cells(cells, formats["x"], "x") if "x" in formats else infer(cells)
    assert found.to_pylist() == [float(f"{each:.{decimals}f}") for each in exact]


@given(
    st.lists(st.datetimes(datetime(1970, 1, 1), datetime(2068, 12, 31)), min_size=2, max_size=30),
    st.sampled_from([each for each in DAYS if "%H" not in each]),
    st.sampled_from(["", *(f" {each}" for each in CLOCKS)]),
)
def test_dates_written_in_any_notation_come_back(times: list[datetime], day: str, clock: str):
    format = day + clock if "%d" in day else day
    cells = pa.array([each.strftime(format) for each in times])
    table = pa.table({"x": cells})
    assume(infer(cells).type == pa.string())
    try:
        formats, notes = sniff_columns(table)
    except DataError:
        assert {"%d", "%m"} <= {*re.findall("%.", format)}
        formats, notes = sniff_columns(table, Options(day_first=format.startswith("%d")))
    found = read_cells(cells, formats["x"], "x").to_pandas().tolist()
    meant = [datetime.strptime(each, format) for each in cells.to_pylist()]
    told = "as is usual with dots" in notes[0] or "as " not in notes[0].partition("(")[2]
    assert found == meant or (told and "%y" in format) or "usual with dots" in notes[0]


@given(st.lists(st.text("0123456789.,-/: $%AMP'()+e?", max_size=10), min_size=1, max_size=12))
def test_whatever_is_guessed_of_what_looks_like_numbers_reads_it(values: list[str]):
    table = pa.table({"x": pa.array(values)})
    for format in sniff_columns(table, Options(day_first=True, decimal="."))[0].values():
        assert len(read_cells(table["x"], format, "x")) == len(values)


def test_columns_that_have_a_type_pass():
    table = pa.table({"n": [1.5, None], "b": [True, False], "c": pa.array(["1,5", "2"])})
    assert list(sniff_columns(table)[0]) == ["c"]


TYPED: dict[str, tuple[list[str], ColumnFormat | None, str]] = {
    "dates": (["2021-03-01", "2021-04-02"], Date(format="%Y-%m-%d"), "dates such as"),
    "moments": (["2021-03-01T00:00:00.000"], Date(format="%Y-%m-%dT%H:%M:%S.%f"), "dates such as"),
    "decimals": (["0.5", "12.25"], Number(), "read as 0.5"),
    "whole numbers": (["1", "2", "3"], Number(), "read as 1"),
    "words": (["a", "b"], None, ""),
}


@pytest.mark.parametrize("case", TYPED)
def test_where_columns_have_types_text_that_holds_values_is_told(case: str):
    cells, format, said = TYPED[case]
    found, notes = guess(*cells, typed=True)
    assert found == format
    assert said in "".join(notes)


def test_classes_that_are_numbers_beyond_float64_pass():
    assert guess("242481548426186138", "242481548426186139", labels=("x",)) == (None, [])
