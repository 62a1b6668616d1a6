"""The checker itself: what it reads of RAPIDS, which faults it catches, what it lets pass."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.contract.cases import to_cudf
from tests.contract.recorder import Recorder
from tests.contract.snapshot import FILE, render
from tests.contract.verify import faults, frozen

DOCUMENT = Path(__file__).parents[2] / "docs" / "gpu.md"
Snippet = Callable[[Any], Any]
"""Code on: `xp` and `df`, CuPy and cuDF; a frame `X`; floats `v`, 6 x 2; codes `i`; floats `h`."""


def write(array: Any, key: Any, value: Any) -> None:
    array[key] = value


GOOD: dict[str, Snippet] = {
    "text to codes": lambda b: b.X["s"].astype("category").cat.codes.fillna(-1).to_cupy(),
    "nulls to NaN": lambda b: b.X["a"].to_cupy(na_value=np.nan),
    "mask": lambda b: b.X[b.X["b"] > 1].sort_values("b"),
    "categories to the host": lambda b: b.X["k"].cat.categories.to_pandas(),
    "year": lambda b: b.X["t"].dt.year,
    "weighted counts": lambda b: b.xp.bincount(b.i, weights=b.v[:, 0], minlength=5),
    "gather and write": lambda b: write(b.v, (slice(None), 0), b.v[b.i, 0]),
    "compare into": lambda b: b.xp.equal(b.i[:, None], b.xp.arange(2), out=b.v),
    "upload": lambda b: b.xp.asarray(b.h) + b.v,
}
REFUSAL = "would raise|TypeError|ValueError|NotImplementedError"
BAD: dict[str, tuple[str, Snippet]] = {
    "idxmax": ("has no attribute", lambda b: b.X["a"].idxmax()),
    "casefold": ("has no attribute", lambda b: b.X["s"].str.casefold()),
    "nanquantile": ("has no attribute", lambda b: b.xp.nanquantile(b.v, 0.5)),
    "mean where": ("unexpected keyword", lambda b: b.v.mean(axis=0, where=True)),
    "stable argsort": ("unexpected keyword", lambda b: b.X["b"].argsort(stable=True)),
    "merge indicator": (REFUSAL, lambda b: b.X.merge(b.X[["b"]], on="b", indicator=True)),
    "sort key": (REFUSAL, lambda b: b.X.sort_values("b", key=lambda s: -s)),
    "bincount of floats": (REFUSAL, lambda b: b.xp.bincount(b.v[:, 0])),
    "nullable type to CuPy": (REFUSAL, lambda b: b.X["b"].astype("Int64").to_cupy()),
    "asarray of a frame": ("implicit conversion", lambda b: np.asarray(b.X[["a", "b"]])),
    "list of a series": ("itera", lambda b: list(b.X["s"])),
    "iterate over a vector": ("itera", lambda b: [int(code) for code in b.i]),
    "truth of a column": ("ambiguous", lambda b: bool(b.X["b"] > 1)),
    "numpy.where": (r"Refused: numpy\.", lambda b: np.where(b.v > 0, 1, 0)),
    "numpy.log of a column": (r"Refused: numpy\.", lambda b: np.log(b.X["b"])),
    "device plus host": ("Refused", lambda b: b.v + b.h),
    "host column into a frame": ("Refused", lambda b: b.X["a"] + pd.Series(b.h[:, 0])),
    "matrix of text": ("Refused", lambda b: b.xp.asarray(np.array(["x"], dtype=object))),
    "apply by column": ("is the default", lambda b: b.X[["a", "b"]].apply(lambda c: c.max())),
    "crosstab dropna": ("is the default", lambda b: b.df.crosstab(b.X["s"], b.X["b"])),
}
"""Code with a fault: what must be said of it, and the code."""


@pytest.mark.parametrize("name", [*GOOD, *BAD])
def test_a_fault_is_caught_and_good_code_passes(name: str, recorder: Recorder) -> None:
    cupy, host = sys.modules["cupy"], np.arange(12.0).reshape(6, 2)
    columns = {"a": [0.5, np.nan, 2, -1, 3, 4], "b": [3, 1, 2, 1, 0, 2], "s": [*"xy", None, *"xzy"]}
    X = pd.DataFrame(columns).assign(t=pd.date_range("2024-01-01", periods=6))
    i = cupy.asarray(np.array([0, 1, 2, 0, 1, 2]))
    X = to_cudf(X.assign(k=X["s"].astype("category")))
    given = SimpleNamespace(xp=cupy, df=sys.modules["cudf"], X=X, v=cupy.asarray(host), i=i, h=host)
    recorder.clear()
    says, code = BAD.get(name) or (None, GOOD[name])
    try:
        code(given)
        found = faults(recorder.calls)
    except (TypeError, ValueError, AttributeError, NotImplementedError) as error:
        found = [f"{type(error).__name__}: {error}"]
    assert re.search(says, "\n".join(found)) if says else found == []


def test_versions_in_the_documentation_are_those_of_the_snapshot() -> None:
    text = " ".join(DOCUMENT.read_text(encoding="utf-8").split())
    assert "cuDF {cudf}, cuML {cuml}, CuPy {cupy}".format(**frozen().versions) in text


def test_the_frozen_contract_is_rendered_as_kept() -> None:
    text = FILE.read_text(encoding="utf-8")
    assert render(json.loads(text)) == text
