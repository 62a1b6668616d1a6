"""A table of categories: text, integers, reals and truth values, some of them rare or missing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

ROWS = 160


@pytest.fixture
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rare = [0.5, 0.3, 0.15, 0.05]
    X = pd.DataFrame({"c": rng.choice(list("dbca"), ROWS, p=rare), "k": rng.integers(0, 6, ROWS)})
    X["f"] = rng.choice([1.5, -2.5, np.nan], ROWS, p=[0.6, 0.35, 0.05])
    X["b"] = rng.random(ROWS) < 0.5
    X.loc[::8, "c"] = np.nan
    return X


@pytest.fixture
def new(table: pd.DataFrame) -> pd.DataFrame:
    return table[:5].assign(
        c=["a", "unseen", np.nan, "b", "c"], k=[0, 99, 1, 2, 3], f=[1.5, 7, np.nan, -2.5, 1.5]
    )
