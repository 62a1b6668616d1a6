"""On a GPU, contributions are those of the CPU, and what comes back is the answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from pipeline import Accelerated
from pipeline.trace import ANSWER
from tests.contract.recorder import Recorder

ROWS = 120
RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "age": RNG.normal(40, 10, ROWS).astype("float32"),
        "town": RNG.choice(["York", "Ely", "Bath"], ROWS),
        "pay": RNG.normal(size=ROWS).astype("float32"),
    }
)
VALUES = (TABLE["pay"] + (TABLE["town"] == "Ely")).to_numpy()
CLASSES = np.digitize(VALUES, [0, 1])


@pytest.mark.parametrize(
    ("last", "y", "threshold"),
    [
        (LogisticRegression(), CLASSES, 0.0),
        (LogisticRegression(), CLASSES, 1.0),
        (Ridge(), VALUES, 0.0),
    ],
    ids=["dense", "sparse", "values"],
)
def test_linear_models_are_explained_where_the_rows_are(
    last: Any, y: np.ndarray, threshold: float, device: Recorder
) -> None:
    columns = make_column_transformer(
        (StandardScaler(), ["age", "pay"]), (OneHotEncoder(), ["town"]), sparse_threshold=threshold
    )
    program = make_pipeline(columns, last)
    model = Accelerated(clone(program), device="cuda", dtype="float64").fit(TABLE, y)
    device.clear()
    found = model.contributions(TABLE, background=TABLE[:40])
    plain = Accelerated(clone(program), device="cpu").fit(TABLE, y)
    wanted = plain.contributions(TABLE, background=TABLE[:40])
    np.testing.assert_allclose(found.values, wanted.values, rtol=1e-3, atol=1e-3)
    answer = "decision_function" if found.outputs else "predict"
    sums = found.values.sum(axis=1) + found.base_values
    np.testing.assert_allclose(sums, getattr(model.to_sklearn(), answer)(TABLE), atol=1e-6)
    back = [e for e in model.execution_log_.last.events if e.to_host_bytes >= found.values.nbytes]
    assert [event.why for event in back] == [ANSWER], "the values are all that comes back of rows"
