"""How many functions of ours a small fit and a prediction call: the fixed cost of both."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import pipeline
from pipeline import Accelerated

OURS = str(Path(pipeline.__file__).parent)
ROWS = 1_000
MOST = {"fit": (563, 40), "predict": (108, 19)}
"""Calls, and modules that they are in: no more than now. The aim is (320, 25) and (90, 14)."""


def table() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=ROWS), "b": rng.normal(3, 5, ROWS)})
    X.loc[rng.random(ROWS) < 0.1, "a"] = np.nan
    return X.assign(c=rng.choice([*"uvwx"], ROWS)), (X["b"] > 3).astype(int).to_numpy()


def count(work: Callable[[], Any]) -> tuple[int, int]:
    """Return the calls of our functions, comprehensions counted, and how many modules have them."""
    calls: Counter[str] = Counter()

    def seen(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(OURS):
            calls[frame.f_code.co_filename] += 1

    sys.setprofile(seen)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls.total(), len(calls)


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="others inline comprehensions")
def test_the_calls_of_a_small_fit_and_prediction_do_not_grow() -> None:
    X, y = table()
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    columns = make_column_transformer(
        (numbers, ["a", "b"]), (OneHotEncoder(handle_unknown="ignore"), ["c"])
    )
    estimator = make_pipeline(columns, LogisticRegression())
    Accelerated(estimator, device="cpu").fit(X, y).predict(X)  # what is done once is done
    model = Accelerated(estimator, device="cpu")
    found = {"fit": count(lambda: model.fit(X, y)), "predict": count(lambda: model.predict(X))}
    for name, most in MOST.items():
        assert all(now <= limit for now, limit in zip(found[name], most, strict=True)), found
