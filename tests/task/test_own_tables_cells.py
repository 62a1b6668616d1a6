"""Cells as people write them: numbers, dates, times, marks and blanks, with a known truth.

A column comes out with the values that it stands for, or a sentence says what became of it.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tests.task.nasty import ROWS, same, take, workspace, written

__all__ = ["workspace"]

draw = np.random.default_rng(21)
AMOUNTS = draw.gamma(2, 900, ROWS).round(2)
SIGNED = draw.normal(0, 3000, ROWS).round(2)
SHARES = draw.integers(0, 101, ROWS) / 2
OTHER = draw.normal(size=ROWS).round(3)
GAPS = np.arange(ROWS) % 11 == 4
DAYS = pd.to_datetime("2017-01-01") + pd.to_timedelta(draw.integers(0, 1400, ROWS), "D")


def german(value: float) -> str:
    """Return a number with commas and points changed places."""
    return f"{value:,.2f}".translate(str.maketrans(",.", ".,"))


def english(value: float) -> str:
    return f"{value:,.2f}"


def parted(by: str, decimal: str = ".") -> object:
    return lambda value: f"{value:,.2f}".replace(".", "·").replace(",", by).replace("·", decimal)


NUMBERS = [
    ("commas and a point", AMOUNTS, english, ","),
    ("apostrophes", AMOUNTS, parted("'"), ","),
    ("euros behind", AMOUNTS, lambda v: f"{german(v)} €", ";"),
    ("percent", SHARES, lambda v: f"{v:g}%", ","),
    ("accountants' negatives", SIGNED, lambda v: f"({-v:,.2f})" if v < 0 else f"{v:,.2f}", ","),
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
    assert "a month, quarter or week is read as its first day" in own.said
    assert own.score() > 0.9


def test_a5_a_few_stray_cells_are_missing_and_named(workspace) -> None:
    word = "1O5.2"
    cells = [f"{v:.2f}" for v in AMOUNTS]
    for row in (5, 77, 300):
        cells[row] = word
    own = take(written({"size": cells, "x": OTHER, "y": (AMOUNTS + OTHER).round(2)}))
    truth = pd.Series(AMOUNTS)
    truth[[5, 77, 300]] = np.nan
    same(own.stored["size"], truth)
    same(own.read["size"], truth)
    assert word in own.said
    assert "77" in own.said
    assert own.score() > 0.85


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


@pytest.mark.parametrize("name", ["(target)", "(fold)", "(row)", "fold", "prediction", "y "])
def test_a22_any_name_of_a_column(workspace, name) -> None:
    own = take(written({name: AMOUNTS, "x": OTHER, "y": (AMOUNTS + OTHER).round(2)}))
    same(own.stored[name], AMOUNTS)
    assert own.score() > 0.9
