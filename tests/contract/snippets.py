"""Small pieces of frame and array code: some that RAPIDS runs, some with a known fault.

Each is a function of a `Bench`. They measure the checker, not our code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd


class Bench(NamedTuple):
    """What a snippet works on."""

    xp: Any
    """The stand-in of CuPy."""
    df: Any
    """The stand-in of cuDF."""
    X: Any
    """A frame on the device: ``a`` float with nulls, ``b`` int, ``s`` text, ``k`` categorical."""
    v: Any
    """A device matrix of floats, 6 x 2."""
    i: Any
    """A device vector of small integers."""
    h: np.ndarray
    """A host matrix of floats, 6 x 2."""


Snippet = Callable[[Bench], Any]


def frame() -> pd.DataFrame:
    text = pd.Series(["x", "y", None, "x", "z", "y"])
    return pd.DataFrame(
        {
            "a": [0.5, np.nan, 2.0, -1.0, 3.0, 4.0],
            "b": [3, 1, 2, 1, 0, 2],
            "s": text,
            "k": text.astype("category"),
            "t": pd.date_range("2024-01-01", periods=6),
        }
    )


def _set(array: Any, key: Any, value: Any) -> None:
    array[key] = value


GOOD: dict[str, Snippet] = {
    "text to codes": lambda b: b.X["s"].astype("category").cat.codes.fillna(-1).to_cupy(),
    "nulls to NaN": lambda b: b.X["a"].to_cupy(na_value=np.nan),
    "fill": lambda b: b.X["a"].fillna(0.0),
    "sort": lambda b: b.X.sort_values("b"),
    "mask": lambda b: b.X[b.X["b"] > 1],
    "categories to the host": lambda b: b.X["k"].cat.categories.to_pandas(),
    "year": lambda b: b.X["t"].dt.year,
    "quantile of a column": lambda b: b.X["b"].quantile(0.25),
    "weighted counts": lambda b: b.xp.bincount(b.i, weights=b.v[:, 0], minlength=5),
    "gather": lambda b: b.v[b.i, 0],
    "write a block": lambda b: _set(b.v, (slice(None), 0), b.i),
    "compare into": lambda b: b.xp.equal(b.i[:, None], b.xp.arange(2), out=b.v),
    "upload": lambda b: b.xp.asarray(b.h) + b.v,
}
"""What works on a GPU; the checker must let it pass."""

MISSING: dict[str, Snippet] = {
    "rename_categories": lambda b: b.X["k"].cat.rename_categories({"x": "q"}),
    "idxmax": lambda b: b.X["a"].idxmax(),
    "casefold": lambda b: b.X["s"].str.casefold(),
    "nanquantile": lambda b: b.xp.nanquantile(b.v, 0.5),
    "series agg": lambda b: b.X["b"].agg("sum"),
}
"""Names that pandas or NumPy has and RAPIDS has not."""

SIGNATURES: dict[str, Snippet] = {
    "mean where": lambda b: b.v.mean(axis=0, where=True),
    "stable argsort of a column": lambda b: b.X["b"].argsort(stable=True),
    "isnan where": lambda b: b.xp.isnan(b.v, where=b.v > 0, out=b.v > 0),
}
"""Parameters that RAPIDS does not have."""

VALUES: dict[str, Snippet] = {
    "merge indicator": lambda b: b.X.merge(b.X[["b"]], on="b", indicator=True),
    "sort key": lambda b: b.X.sort_values("b", key=lambda s: -s),
    "sparse dummies": lambda b: b.df.get_dummies(b.X[["s"]], sparse=True),
    "bincount of floats": lambda b: b.xp.bincount(b.v[:, 0]),
    "bincount of negatives": lambda b: b.xp.bincount(b.i - 9),
    "bool column with nulls": lambda b: (
        (b.X["a"] > 0).astype("boolean").mask(b.X["b"] > 1).to_cupy()
    ),
    "nullable type to CuPy": lambda b: b.X["b"].astype("Int64").to_cupy(),
}
"""Values that RAPIDS refuses."""

COPIES: dict[str, Snippet] = {
    "asarray of a frame": lambda b: np.asarray(b.X[["a", "b"]]),
    "list of a series": lambda b: list(b.X["s"]),
    "iterate over a vector": lambda b: [int(code) for code in b.i],
    "truth of a column": lambda b: bool(b.X["b"] > 1),
    "pandas from a device array": lambda b: pd.Series(b.v[:, 0]).sum(),
}
"""Copies to the host that nobody asked for."""

NUMPY: dict[str, Snippet] = {
    "numpy.where": lambda b: np.where(b.v > 0, 1, 0),
    "numpy.unique": lambda b: np.unique(b.i),
    "numpy.log of a column": lambda b: np.log(b.X["b"]),
}
"""NumPy's functions on what lives on the device."""

MIXES: dict[str, Snippet] = {
    "device plus host": lambda b: b.v + b.h,
    "where with a host array": lambda b: b.xp.where(b.v > 0, b.h, 0.0),
    "host column into a frame": lambda b: b.X["a"] + pd.Series(b.h[:, 0]),
    "matrix of text": lambda b: b.xp.asarray(np.array(["x", "y"], dtype=object)),
}
"""Host and device in one expression."""

DEFAULTS: dict[str, Snippet] = {
    "apply by column": lambda b: b.X[["a", "b"]].apply(lambda c: c.max()),
    "crosstab dropna": lambda b: b.df.crosstab(b.X["s"], b.X["b"]),
    "pivot_table observed": lambda b: b.X.pivot_table(values="a", index="k", columns="b"),
}
"""Parameters left out whose default is another one than on the CPU."""

BAD: dict[str, tuple[str, dict[str, Snippet]]] = {
    "missing name": ("AttributeError: .* has no attribute", MISSING),
    "unknown parameter": ("unexpected keyword|too many positional", SIGNATURES),
    "refused value": ("would raise|TypeError|ValueError|NotImplementedError", VALUES),
    "implicit copy": ("implicit conversion|itera|ambiguous", COPIES),
    "NumPy function": (r"Refused: numpy\.", NUMPY),
    "mixed devices": ("Refused", MIXES),
    "other default": ("is the default", DEFAULTS),
}
"""Kind of fault -> what the objection must say, and the snippets."""

UNSEEN: dict[str, Snippet] = {
    "index out of bounds": lambda b: b.v[b.i * 0 + 2],
    "null is not NaN": lambda b: (b.X["a"] != b.X["a"]).sum(),
    "sample by seed": lambda b: b.X.sample(n=2, random_state=0),
}
"""Legal on both, another result on the GPU: out of reach of this method."""
