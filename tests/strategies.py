"""Tables that hypothesis makes: small, odd, and every value exact in binary."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st

MAX_ROWS = 24

exact = st.integers(-(2**20), 2**20).map(lambda number: number / 64)
"""Sums of these have no rounding, so a constant is a constant for everyone."""

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
odd_names = st.lists(
    st.one_of(words, st.sampled_from(["", " ", "a__b", "numbers", "x\ny", "日本", "0", "nan"])),
    min_size=1,
    max_size=4,
    unique=True,
)


def _column(draw: st.DrawFn, pool: list[Any], n_rows: int) -> list[Any]:
    # Drawing mostly the first value makes the others rare.
    skewed = st.one_of(st.just(pool[0]), st.sampled_from(pool))
    return draw(st.lists(skewed, min_size=n_rows, max_size=n_rows))


@st.composite
def number_columns(draw: st.DrawFn, n_rows: int) -> pd.Series:
    """Floats with holes, constants, all missing, or integers too large for a float."""
    if draw(st.booleans()):
        big = st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=4)
        return pd.Series(_column(draw, draw(big), n_rows), dtype="int64")
    pool = draw(st.lists(exact, min_size=1, max_size=n_rows))
    values = pd.Series(_column(draw, pool, n_rows), dtype="float64")
    return values.mask(np.array(draw(holes(n_rows))))


@st.composite
def text_columns(draw: st.DrawFn, n_rows: int) -> pd.Series:
    """Any text, rare values, holes; as text or as categories in any order."""
    pool = draw(st.lists(words, min_size=1, max_size=6, unique=True))
    values = pd.Series(_column(draw, pool, n_rows), dtype="str")
    values = values.mask(np.array(draw(holes(n_rows))))
    if draw(st.booleans()):
        return values.astype(pd.CategoricalDtype(draw(st.permutations(pool))))
    return values


def holes(n_rows: int) -> st.SearchStrategy[list[bool]]:
    """Nowhere, everywhere, or here and there."""
    some = st.lists(st.booleans(), min_size=n_rows, max_size=n_rows)
    return st.one_of(st.just([False] * n_rows), some, st.just([True] * n_rows))


@st.composite
def tables(draw: st.DrawFn, kind: str = "any") -> pd.DataFrame:
    """Tables of 1 to 24 rows; `kind` is "numbers", "text" or "any"."""
    n_rows = draw(st.integers(1, MAX_ROWS))
    makers = {"numbers": [number_columns], "text": [text_columns]}
    made = {}
    for name in draw(odd_names):
        maker = draw(st.sampled_from(makers.get(kind, [number_columns, text_columns])))
        made[name] = draw(maker(n_rows))
    return pd.DataFrame(made)


@st.composite
def cuts(draw: st.DrawFn, n_rows: int) -> list[slice]:
    """Ways to cut rows into blocks."""
    edges = sorted(draw(st.sets(st.integers(1, n_rows - 1)))) if n_rows > 1 else []
    return [slice(a, b) for a, b in zip([0, *edges], [*edges, n_rows], strict=True)]
