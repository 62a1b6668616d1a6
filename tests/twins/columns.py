"""A column of every kind, with scikit-learn's reading of it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa

ROWS = 120
_rng = np.random.default_rng(0)
_small = _rng.integers(0, 5, ROWS)
_text = pd.Series(_rng.choice(["b", "a", "Zé", "日本", ""], ROWS))
_hole = pd.Series(_small == 1)
_real = pd.Series(_rng.choice([1.5, 2.5, -3.0, 0.1], ROWS))
_order = ["日本", "x", "b", "Zé", "", "a"]

NUMBERS = {
    "int": pd.Series(_small),
    "negative int": pd.Series(_small - 2),
    "uint8": pd.Series(_small.astype("uint8")),
    "huge int": pd.Series(_small + 2**62),
    "float": _real,
    "float, missing": _real.mask(_hole),
    "float32, missing": _real.mask(_hole).astype("float32"),
    "Int64": pd.Series(_small, dtype="Int64"),
    "Int64, missing": pd.Series(_small, dtype="Int64").mask(_hole),
    "Float64, missing": _real.astype("Float64").mask(_hole),
    "arrow int": pd.Series(_small).astype(pd.ArrowDtype(pa.int64())),
    "arrow int, missing": pd.Series(_small).astype(pd.ArrowDtype(pa.int64())).mask(_hole),
    "arrow float, missing": _real.astype(pd.ArrowDtype(pa.float64())).mask(_hole),
}
BOOLEANS = {
    "bool": pd.Series(_small > 2),
    "boolean": pd.Series(_small > 2, dtype="boolean"),
    "boolean, missing": pd.Series(_small > 2, dtype="boolean").mask(_hole),
    "arrow bool": pd.Series(_small > 2).astype(pd.ArrowDtype(pa.bool_())),
    "arrow bool, missing": pd.Series(_small > 2).astype(pd.ArrowDtype(pa.bool_())).mask(_hole),
}
TEXT = {
    "str": _text,
    "str, missing": _text.mask(_hole),
    "object": _text.astype(object),
    "object, missing": _text.astype(object).mask(_hole, np.nan),
    "string": _text.astype("string"),
    "arrow string": _text.astype(pd.ArrowDtype(pa.string())),
    "one value": pd.Series(["k"] * ROWS),
    "category, unsorted and unused": _text.astype(pd.CategoricalDtype(_order)),
    "category, missing": _text.mask(_hole).astype(pd.CategoricalDtype(_order)),
}
MIXED = {
    "category of ints": pd.Series(_small).astype(pd.CategoricalDtype([9, 4, 3, 2, 1, 0])),
    "category of ints, missing": pd.Series(_small).astype("category").mask(_hole),
    "category of floats, missing": _real.mask(_hole).astype("category"),
    "category of bools": pd.Series(_small > 2).astype("category"),
    "category of bools, missing": pd.Series(_small > 2).astype("category").mask(_hole),
    "object of ints": pd.Series(_small).astype(object),
    "object of ints, missing": pd.Series(_small).astype(object).mask(_hole, np.nan),
    "object of bools": pd.Series(_small > 2).astype(object),
}
ALL_MISSING = {
    "all missing, float": pd.Series(np.full(ROWS, np.nan)),
    "all missing, str": pd.Series([None] * ROWS, dtype="str"),
}
CATEGORICAL = NUMBERS | BOOLEANS | TEXT | MIXED | ALL_MISSING
"""What an encoder may meet."""

OURS_ALONE = {
    "object with None": _text.astype(object).where(~_hole, None),
    "object with NaN, None and NA": _text.astype(object)
    .where(~_hole, None)
    .where(_small != 2, np.nan)
    .where(_small != 3, pd.NA),
    "string, missing": _text.astype("string").mask(_hole),
    "arrow string, missing": _text.astype(pd.ArrowDtype(pa.string())).mask(_hole),
}
"""Columns whose missing values scikit-learn tells apart, or does not take."""


def with_nan(X: pd.DataFrame) -> pd.DataFrame:
    """Return a table of objects in which NaN stands for NA, which scikit-learn does not take."""
    cells = {name: [np.nan if cell is pd.NA else cell for cell in X[name]] for name in X}
    return pd.DataFrame(cells, X.index, dtype=object)


def frame(kind: str, columns: dict[str, pd.Series] = CATEGORICAL) -> pd.DataFrame:
    """Return a table of one column, named for what it is."""
    return pd.DataFrame({kind: columns[kind]})
