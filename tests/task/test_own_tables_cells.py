"""Cells as people write them: numbers, dates, times, marks and blanks, with a known truth.

A column comes out with the values that it stands for, or a sentence says what became of it.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pipeline.errors import ConfigError, DataError
from tests.names import one_in
from tests.task.nasty import (
    ROWS,
    attempt,
    predicted,
    same,
    spelled,
    take,
    workspace,
    written,
)

__all__ = ["workspace"]

draw = np.random.default_rng(21)
AMOUNTS = draw.gamma(2, 900, ROWS).round(2)
SIGNED = draw.normal(0, 3000, ROWS).round(2)
SHARES = draw.integers(0, 101, ROWS) / 2
WHOLE = draw.integers(-4_000_000, 9_000_000, ROWS)
OTHER = draw.normal(size=ROWS).round(3)
GAPS = np.arange(ROWS) % 11 == 4
DAYS = pd.to_datetime("2017-01-01") + pd.to_timedelta(draw.integers(0, 1400, ROWS), "D")
MOMENTS = DAYS + pd.to_timedelta(draw.integers(0, 24 * 60, ROWS), "min")


def german(value: float) -> str:
    """Return a number with commas and points changed places."""
    return f"{value:,.2f}".translate(str.maketrans(",.", ".,"))


def english(value: float) -> str:
    return f"{value:,.2f}"


def parted(by: str, decimal: str = ".") -> object:
    return lambda value: f"{value:,.2f}".replace(".", "·").replace(",", by).replace("·", decimal)


NUMBERS = [
    ("decimal commas", AMOUNTS, lambda v: f"{v:.2f}".replace(".", ","), ";"),
    ("points and a comma", AMOUNTS, german, ";"),
    ("commas and a point", AMOUNTS, english, ","),
    ("whole, with commas", WHOLE, lambda v: f"{v:,}", ","),
    ("blanks and a comma", AMOUNTS, parted(" ", ","), ";"),
    ("apostrophes", AMOUNTS, parted("'"), ","),
    ("dollars before", AMOUNTS, lambda v: f"${v:,.2f}", ","),
    ("euros behind", AMOUNTS, lambda v: f"{german(v)} €", ";"),
    ("percent", SHARES, lambda v: f"{v:g}%", ","),
    ("square metres", AMOUNTS.round(1), lambda v: f"{v:.1f}m²", ","),
    ("blanks around", SIGNED, lambda v: f"  {v:.2f} ", ","),
    ("accountants' negatives", SIGNED, lambda v: f"({-v:,.2f})" if v < 0 else f"{v:,.2f}", ","),
    ("text of a spreadsheet", AMOUNTS, lambda v: f'="{v}"', ","),
    ("multipliers", WHOLE, lambda v: f"{v / 1e6}M" if v % 2 else f"{v / 1e3}k", ","),
]  # fmt: skip


@pytest.mark.quick(4)
@pytest.mark.parametrize(("values", "cell", "delimiter"), [case[1:] for case in NUMBERS],
                         ids=[case[0] for case in NUMBERS])  # fmt: skip
def test_a4_numbers_as_people_write_them(workspace, values, cell, delimiter) -> None:
    truth = pd.Series(values).mask(GAPS)
    cells = ["" if gap else cell(value) for gap, value in zip(GAPS, values, strict=True)]
    point = "," if delimiter == ";" else "."
    plain = [[f"{v:.3f}".replace(".", point) for v in each] for each in (OTHER, 2 * values + OTHER)]
    own = take(written({"Betrag": cells, "x": plain[0], "y": plain[1]}, delimiter=delimiter))
    assert own.task.kind == "regression"
    same(own.stored["Betrag"], truth)
    same(own.read["Betrag"], truth)
    same(own.stored["y"], np.round(2 * values + OTHER, 3))
    assert "Betrag" in own.task.columns


DATES = [
    ("ISO", DAYS, "%Y-%m-%d"),
    ("German", DAYS, "%d.%m.%Y"),
    ("British", DAYS, "%d/%m/%Y"),
    ("American", DAYS, "%m/%d/%Y"),
    ("month as text first", DAYS, "%b %d, %Y"),
    ("weekday before", DAYS, "%a, %d %b %Y"),
    ("digits only", DAYS, "%Y%m%d"),
    ("German, with a time", MOMENTS, "%d.%m.%Y %H:%M"),
    ("American, with AM and PM", MOMENTS, "%m/%d/%Y %I:%M %p"),
]


def short(value: pd.Timestamp, form: str) -> str:
    """Return a date without the zeros that people leave out."""
    return value.strftime(form.replace("%d", "%-d").replace("%m", "%-m").replace("%I", "%-I"))


@pytest.mark.quick(5)
@pytest.mark.parametrize("cut", one_in(2, [True, False]), ids=["short", "full"])
@pytest.mark.parametrize(
    ("values", "form"), [case[1:] for case in DATES], ids=[c[0] for c in DATES]
)
def test_a3_dates_as_people_write_them(workspace, values, form, cut) -> None:
    if cut and form[:6] == "%Y%m%d":
        return
    truth = pd.Series(values).mask(GAPS)
    cells = spelled(truth, lambda v: short(v, form) if cut else v.strftime(form))
    month = pd.Series(values).dt.month
    own = take(written({"Datum": cells, "x": OTHER, "y": (month * 10 + OTHER).round(2)}))
    same(own.stored["Datum"], truth)
    same(own.read["Datum"], truth)
    assert "Datum" in own.task.columns


@pytest.mark.quick(4)
@pytest.mark.parametrize(
    ("form", "start"),
    [("{0.year}Q{0.quarter}", "Q"), ("Q{0.quarter}/{0.year}", "Q"), ("{0:%G-W%V}", "W"),
     ("{0:%Y-%m}", "M"), ("{0:%m.%Y}", "M"), ("{0:%b %Y}", "M")],
    ids=["quarter", "quarter first", "week", "month", "month first", "name"],
)  # fmt: skip
def test_a3_a_period_is_its_first_day_in_predictions_too(workspace, form, start) -> None:
    truth = pd.Series(DAYS).dt.to_period(start).dt.start_time
    answer = (truth.dt.month * 10 + OTHER).round(2)
    own = take(written({"when": [form.format(v) for v in DAYS], "x": OTHER, "y": answer}))
    same(own.stored["when"], truth)
    same(own.read["when"], truth)
    assert "a month, quarter or week is its first day" in own.said
    assert own.score() > 0.9


def test_a3_two_forms_in_one_column(workspace) -> None:
    cells = [v.strftime("%Y-%m-%d" if i % 3 else "%d.%m.%Y") for i, v in enumerate(DAYS)]
    own = take(written({"when": cells, "x": OTHER, "y": OTHER}))
    same(own.stored["when"], DAYS)


@pytest.mark.parametrize("form", ["%d/%m/%Y", "%d.%m.%y"])
def test_a3_what_can_be_read_both_ways_is_asked_for(workspace, form) -> None:
    days = pd.to_datetime([f"2018-{1 + i % 12:02d}-{1 + i % 7:02d}" for i in range(ROWS)])
    file = written({"sold": [d.strftime(form) for d in days], "x": OTHER, "y": OTHER})
    if "." in form:  # nobody writes the month first with points
        same(take(file).stored["sold"], days)
        return
    with pytest.raises((ConfigError, DataError), match="'sold'.*(?i:day.first)"):
        take(file)
    same(take(file, day_first=True).stored["sold"], days)


@pytest.mark.quick(4)
@pytest.mark.parametrize(
    "form",
    ["%H:%M:%S", "%-I:%M%p", "%-Hh%M"],
)
def test_a23_times_of_day(workspace, form) -> None:
    moments = pd.Series(MOMENTS)
    truth = pd.to_datetime("1970-01-01") + (moments - moments.dt.floor("D"))
    answer = (np.sin(moments.dt.hour / 24 * 6) * 5 + OTHER / 9).round(3)
    own = take(written({"start": [v.strftime(form) for v in moments], "x": OTHER, "y": answer}))
    same(own.stored["start"], truth)
    assert own.score() > 0.9


STRAYS = ["oops", "1O5.2", "<5"]


@pytest.mark.quick(2)
@pytest.mark.parametrize("word", STRAYS)
def test_a5_a_few_stray_cells_are_missing_and_named(workspace, word) -> None:
    cells = [f"{v:.2f}" for v in AMOUNTS]
    for row in (5, 77, 300):
        cells[row] = word
    file = written({"size": cells, "x": OTHER, "y": (AMOUNTS + OTHER).round(2)})
    own = take(file)
    truth = pd.Series(AMOUNTS)
    truth[[5, 77, 300]] = np.nan
    same(own.stored["size"], truth)
    same(own.read["size"], truth)
    assert word in own.said
    assert "77" in own.said
    assert own.score() > 0.85
    with pytest.raises(DataError, match="'size'"):
        take(file, name="again", stray="error")


@pytest.mark.quick(6)
@pytest.mark.parametrize("mark", ["?", "k.A.", "#N/A", "-999"])
def test_a5_marks_of_what_is_missing(workspace, mark) -> None:
    truth = pd.Series(AMOUNTS).mask(draw.random(ROWS) < 0.3)
    cells = [mark if pd.isna(v) else f"{v:.2f}" for v in truth]
    own = take(written({"size": cells, "x": OTHER, "y": (AMOUNTS + OTHER).round(2)}))
    if mark == "-999":  # may be a value: said, and no more
        assert "-999" in own.said
        return
    same(own.stored["size"], truth)
    assert mark == "#N/A" or mark in own.said


@pytest.mark.parametrize("last", [
    "Total,{total},,", "Summe,{total},{x},", "Source: office of statistics,,,",
])  # fmt: skip
def test_a5_a_total_below_the_rows_is_no_row(workspace, last) -> None:
    line = last.format(total=f"{AMOUNTS.sum():.2f}", x=f"{OTHER.sum():.9f}", y="99999.5")
    towns = np.array(["Bern", "Basel", "Chur"])[np.arange(ROWS) % 3]
    table = {"town": towns, "size": AMOUNTS, "x": OTHER, "y": (AMOUNTS + OTHER).round(2)}
    own = take(written(table, below=[line]))
    assert len(own.stored) == ROWS
    assert own.score() > 0.9


@pytest.mark.parametrize(
    ("words", "classes", "known"),
    [
        (["gut", "schlecht", "?"], {"gut", "schlecht"}, 2 / 3),
        (["1", "0", "N/A"], {0, 1}, 2 / 3),
        (["oui", "non", ""], {"oui", "non"}, 2 / 3),
    ],
    ids=["question mark", "0 and 1", "blank"],
)
def test_a6_a_target_that_is_not_known_is_no_class(workspace, words, classes, known) -> None:
    codes = np.arange(ROWS) % 3
    cells = [words[i] for i in codes]
    own = take(written({"x": codes + OTHER / 4, "z": OTHER, "y": cells}))
    assert set(own.stored["y"].dropna()) == classes
    assert abs(len(own.stored) - ROWS * known) < 2
    assert set(own.fitted().classes_) == classes
    assert words[2] in own.said or f"{len(own.stored)} of {ROWS}" in own.said


@pytest.mark.parametrize("word", ["-", "unknown", "not known"])
def test_a6_a_class_that_may_stand_for_none_is_asked_about(workspace, word) -> None:
    cells = [["oui", "non", word][i % 3] for i in range(ROWS)]
    own = take(written({"x": np.arange(ROWS) % 3 + OTHER / 4, "y": cells}))
    assert set(own.stored["y"].dropna()) in ({"oui", "non"}, {"oui", "non", word})
    assert f"'{word}'" in own.said.split("note:", 1)[1]


@pytest.mark.parametrize(
    "spellings",
    [["yes", "yes ", "YES", "no", "No"], ["Ja", "ja", " JA", "Nein", "nein"],
     ["Gold", "gold", "Silver", "silver ", "SILVER"]],
    ids=["yes", "ja", "metals"],
)  # fmt: skip
def test_a6_untidy_spellings_are_one_class_or_asked_about(workspace, spellings) -> None:
    cells = [spellings[i % 5] for i in range(ROWS)]
    first = np.array([cell.strip().lower() == spellings[0].lower() for cell in cells])
    own, said = attempt(written({"x": first + OTHER / 4, "y": cells}))
    assert spellings[1].strip() in said
    if own:
        assert len(set(own.stored["y"])) == 2 or "same" in said
        assert own.score() > 0.98


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-8-sig", "utf-16-le"])
@pytest.mark.parametrize("where", one_in(3, ["both", "names", "values"]))
def test_a10_encodings(workspace, encoding, where) -> None:
    name = "Größe" if where != "values" else "size"
    words = np.array(["Zürich", "Genève", "Neuchâtel"] if where != "names" else ["a", "b", "c"])
    towns = words[np.arange(ROWS) % 3]
    answer = (AMOUNTS + 3000 * (np.arange(ROWS) % 3)).round(2)
    own, said = attempt(written({name: AMOUNTS, "town": towns, "y": answer}, encoding=encoding))
    if own is None:
        assert encoding == "utf-16-le"  # without a mark, as no program writes it
        assert "encoding" in said or "UTF" in said
        return
    same(own.stored[name], AMOUNTS)
    same(own.stored["town"], towns)
    same(own.read["town"], towns)


@pytest.mark.parametrize("euro", ["€", "ž", "“odd”"])
def test_a10_what_only_windows_has(workspace, euro) -> None:
    kinds = np.array([f"in {euro}", "other"])[np.arange(ROWS) % 2]
    own = take(written({"kind": kinds, "x": OTHER, "y": OTHER}, encoding="cp1252"))
    same(own.stored["kind"], kinds)
    assert "cp1252" in own.said.lower() or "windows-1252" in own.said.lower()


FLAGS = [("X", ""), ("ja", ""), ("1", ""), ("true", "")]


@pytest.mark.quick(5)
@pytest.mark.parametrize(("mark", "blank"), FLAGS, ids=[f[0] for f in FLAGS])
def test_a13_a_mark_or_a_blank_is_two_values(workspace, mark, blank) -> None:
    flag = draw.random(ROWS) < 0.4
    cells = np.where(flag, mark, blank)
    own = take(written({"garden": cells, "x": OTHER, "y": (flag * 10 + OTHER).round(2)}))
    assert "garden" in own.task.columns
    assert own.stored["garden"].nunique(dropna=False) == 2
    assert own.score() > 0.9
    assert own.score("linear") > 0.9


@pytest.mark.parametrize(("true", "false"), [
    ("yes", "no"), ("Ja", "Nein"), ("oui", "non"), ("T", "F"), ("Y", "N"), ("VRAI", "FAUX"),
    ("sí", "no"),
])  # fmt: skip
def test_a13_two_words_are_two_values(workspace, true, false) -> None:
    flag = draw.random(ROWS) < 0.4
    own = take(written({"garden": np.where(flag, true, false), "y": flag * 10 + OTHER}))
    assert own.score() > 0.9
    assert own.stored["garden"].nunique() == 2


@pytest.mark.parametrize("top", [2**63, 2**64 - 1, 10**19])
def test_a22_whole_numbers_that_no_signed_integer_holds(workspace, top) -> None:
    big = [str(top - int(v)) for v in draw.integers(0, 10**6, ROWS)]
    own = take(written({"hash": big, "x": OTHER, "y": OTHER}))
    same(own.stored["hash"].astype(float), [float(v) for v in big])
    frame = pd.DataFrame({"hash": np.array(big, "uint64"), "x": OTHER, "y": OTHER})
    assert take(frame, name="frame").task


@pytest.mark.parametrize("name", ["(target)", "(fold)", "(row)", "fold", "prediction", "y "])
def test_a22_any_name_of_a_column(workspace, name) -> None:
    own = take(written({name: AMOUNTS, "x": OTHER, "y": (AMOUNTS + OTHER).round(2)}))
    same(own.stored[name], AMOUNTS)
    assert own.score() > 0.9


@pytest.mark.parametrize("name", ["(target)", "(fold)", "class", 'it\'s "$x" & more'])
def test_a22_any_name_of_the_target(workspace, name) -> None:
    own = take(written({"a": AMOUNTS, name: (AMOUNTS + OTHER).round(2)}), target=name)
    assert own.score() > 0.9


@pytest.mark.parametrize("word", ["inf", "-inf", "Infinity", "1e999"])
def test_a22_an_infinite_target_is_not_known(workspace, word) -> None:
    cells = [str(v) for v in AMOUNTS]
    cells[3] = cells[40] = word
    own, said = attempt(written({"x": AMOUNTS, "y": cells}))
    if own is None:
        assert "'y'" in said
        assert "3" in said
        return
    assert len(own.stored) == ROWS - 2
    assert own.score() > 0.9
    assert f"{ROWS - 2}" in said


CODES = [
    ("post codes", lambda i: f"{i * 137 % 99999:05d}"),
    ("with zeros before", lambda i: f"{i % 60:03d}"),
    ("phone numbers", lambda i: f"0041{440000 + i % 70}"),
]


@pytest.mark.parametrize("cell", [case[1] for case in CODES], ids=[case[0] for case in CODES])
def test_a25_zeros_before_are_codes_and_kept(workspace, cell) -> None:
    codes = [cell(i) for i in range(ROWS)]
    own = take(written({"code": codes, "x": OTHER, "y": OTHER}))
    assert "code" in own.said
    found = own.stored.get("code", own.read["code"])
    same(found, codes)
    same(own.read["code"], codes)


@pytest.mark.parametrize("make", [
    lambda i: str(100_000 + i * 37), lambda i: f"C-{i * 7919 % 100_000:05d}",
    lambda i: f"{i * 2654435761 % 2**32:08x}-0000",
], ids=["numbers", "letters", "hexadecimal"])  # fmt: skip
def test_a25_ids_are_hinted_at(workspace, make) -> None:
    ids = [make(i) for i in range(ROWS)]
    own = take(written({"customer_id": ids, "x": OTHER, "y": (OTHER * 3).round(3)}))
    assert "customer_id" in own.said
    assert "customer_id" not in own.task.columns or "id" in own.said.replace("customer_id", "")
    assert own.score() > 0.9


@pytest.mark.parametrize("form", one_in(3, ["%d.%m.%Y", "%b %d, %Y", "%Y-%m-%d"]))
def test_a2_the_file_with_dates_is_predicted_as_it_came(workspace, form) -> None:
    answer = np.where(pd.Series(DAYS).dt.month > 6, "Sommer", "Winter")
    file = written({"Datum": [d.strftime(form) for d in DAYS], "x": OTHER, "y": answer})
    own = take(file)
    assert own.score() > 0.95
    found = predicted(own)
    assert len(found) == ROWS
    chosen = found["probability"] > 0.5 if "probability" in found else found.filter(like="Winter")
    assert np.mean(np.ravel(chosen) > 0.5) == pytest.approx(np.mean(answer == "Winter"), abs=0.02)


@pytest.mark.parametrize(
    ("strays", "cell"),
    [
        (3, lambda i: f"{AMOUNTS[i]:.2f}"),
        (40, lambda i: f"{AMOUNTS[i]:.2f}"),
        (3, lambda i: f"{DAYS[i]:%d.%m.%y}"),
        (40, lambda i: f"{DAYS[i]:%d.%m.%Y}"),
    ],
    ids=["few, numbers", "many, numbers", "few, dates", "many, dates"],
)
def test_a5_what_is_told_of_a_column_shows_a_cell_that_is_no_stray(workspace, strays, cell) -> None:
    cells = ["unit"] * strays + [cell(i) for i in range(strays, ROWS)]
    own = take(written({"odd": cells, "x": OTHER, "y": OTHER}))
    assert "such as 'unit'" not in own.said
    assert "'unit'" in own.said or "such as '" in own.said
    assert "%d.%m.%y" not in own.said or "years 00 to 68 are 2000 to 2068" in own.said
