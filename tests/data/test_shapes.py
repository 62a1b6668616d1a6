"""Cells of one shape fit the same rules."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.data import notations
from pipeline.data.guess_numbers import guess_numbers
from pipeline.data.notations import NUMBERS, number_look, spell_dates
from pipeline.data.shapes import shapes, substitute

WORDS = st.lists(st.text("0123456789.,' $€m²ä-()%:/", max_size=9), min_size=1, max_size=9)
PARTS = [*"0123456789", *".,-/ :年月日", "19", "20", "2024", "Q", "W", "M", "pm", "h", "st", "UTC"]
PARTS += ["Jan", "Mo", "Sept.", " at ", "a.m."]
RULES = [
    *(number_look(each.format) for each in NUMBERS),
    r"\(\d+\)", r"[12]?\d?\d(\.[012]\d\d){3}", r".*[^\d][23]", r"\d\d[./]\d\d[./]\d{4}",
]  # fmt: skip


@given(WORDS)
def test_a_rule_holds_of_a_cell_as_of_its_shape(words: list[str]) -> None:
    codes = shapes(pa.array(["1", *words])[1:])
    kinds = codes.to_pylist()
    assert [len(each) for each in kinds] == [len(each) for each in words]
    for rule in RULES:
        fits = [[bool(re.fullmatch(rule, each)) for each in them] for them in (words, kinds)]
        assert fits[0] == fits[1], rule


@given(WORDS)
def test_shapes_show_what_is_to_be_replaced(words: list[str]) -> None:
    pairs = [(r"^\((\d+)\)$", r"-\1"), (r"(\d)[.,] ?-", r"\1"), (" ", "")]
    done = words
    for pattern, text in pairs:
        done = [re.sub(pattern, text, each) for each in done]
    assert substitute(pa.array(words), pairs).to_pylist() == done


@given(st.lists(st.lists(st.sampled_from(PARTS), max_size=7).map("".join), min_size=1))
def test_dates_are_spelled_as_if_no_shape_was_looked_at(words: list[str]) -> None:
    cells = done = pa.array(words)
    for pattern, text in notations._SPELLINGS:
        done = pc.replace_substring_regex(done, pattern, text)
    assert spell_dates(cells).equals(done)


@pytest.mark.parametrize(
    "write", ["${:,.2f}".format, "{:.3f} m2".format, "{0:.0f}.03.2024 {0:.0f}:30 PM".format]
)
def test_few_shapes_stand_for_many_cells(write: object) -> None:
    words = pa.array([write(each) for each in np.linspace(1, 9999, 20_000)])  # type: ignore[operator]
    assert len(shapes(words).dictionary) < 500


def test_the_guesses_are_those_of_the_cells() -> None:
    marked = pa.array([f"{each},{each + 100}" for each in range(1, 25)])
    counts = np.ones(25, int)
    assert guess_numbers(pa.array([*marked.to_pylist(), "7"]), counts).open is False
    assert guess_numbers(marked, counts[1:]).open is True
