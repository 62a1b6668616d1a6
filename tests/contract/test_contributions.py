"""On a GPU, contributions are those of the CPU, and what comes back is the answer."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from xgboost import DMatrix, XGBRegressor

from pipeline import Accelerated
from pipeline.backends.xgboost.estimator import XGBoostModel
from pipeline.data import frames
from pipeline.system.devices import obstacle
from pipeline.trace import ANSWER
from tests.contract.recorder import Recorder

pytestmark = [
    pytest.mark.skipif(not obstacle(), reason="XGBoost would run on the GPU of this machine"),
    pytest.mark.filterwarnings("ignore:.*(No visible GPU|not compiled with CUDA|Device is).*"),
]

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


def program(last: Any, *, threshold: float = 0.0) -> Any:
    columns = make_column_transformer(
        (StandardScaler(), ["age", "pay"]),
        (OneHotEncoder(), ["town"]),
        sparse_threshold=threshold,
    )
    return make_pipeline(columns, clone(last))


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What XGBoost, which no stand-in plays, is given to explain."""
    blocks: list[Any] = []

    @functools.wraps(DMatrix)
    def rows(block: Any, **options: Any) -> DMatrix:
        blocks.append(block)
        return DMatrix(block.get() if hasattr(block, "get") else block, **options)

    monkeypatch.setattr("xgboost.DMatrix", rows)
    return blocks


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
    model = Accelerated(program(last, threshold=threshold), device="cuda", dtype="float64")
    model.fit(TABLE, y)
    device.clear()
    found = model.contributions(TABLE, background=TABLE[:40])
    reference = model.to_sklearn()
    plain = Accelerated(program(last, threshold=threshold), device="cpu").fit(TABLE, y)
    wanted = plain.contributions(TABLE, background=TABLE[:40])
    assert found.columns == wanted.columns == ("age", "town", "pay")
    np.testing.assert_allclose(found.values, wanted.values, rtol=1e-3, atol=1e-3)
    answer = "decision_function" if found.outputs else "predict"
    sums = found.values.sum(axis=1) + found.base_values
    np.testing.assert_allclose(sums, getattr(reference, answer)(TABLE), rtol=1e-6, atol=1e-6)
    back = [event for event in model.execution_log_.last.events if event.to_host_bytes]
    rows = [event for event in back if event.to_host_bytes >= found.values.nbytes]
    assert [event.why for event in rows] == [ANSWER], "the values are all that comes back of rows"


def test_xgboost_explains_where_the_rows_are(
    device: Recorder, given: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def learn(model: XGBRegressor, X: Any, y: Any, **_: Any) -> None:
        model.load_model(trees)

    def answer(model: XGBRegressor, X: Any, *, output_margin: bool) -> np.ndarray:
        rows = DMatrix(frames.to_device(X, "cpu"))
        return model.get_booster().predict(rows, output_margin=output_margin)

    trees = program(XGBRegressor(n_estimators=4)).fit(TABLE, VALUES)[-1].get_booster().save_raw()
    monkeypatch.setattr(XGBoostModel, "_check_device", lambda self, booster: None)
    monkeypatch.setattr(XGBRegressor, "fit", learn)
    monkeypatch.setattr(XGBRegressor, "predict", answer)
    model = Accelerated(program(XGBRegressor(n_estimators=4)), device="cuda").fit(TABLE, VALUES)
    given.clear()
    found = model.contributions(TABLE)
    assert [frames.device_of(block) for block in given] == ["cuda"]
    sums = found.values.sum(axis=1) + found.base_values
    np.testing.assert_allclose(
        sums,
        model.to_sklearn()[-1]
        .get_booster()
        .predict(DMatrix(frames.to_device(given[0], "cpu")), output_margin=True),
        atol=1e-5,
    )
    events = {event.call: event for event in model.execution_log_.last.events}
    assert events["contributions"].to_host_bytes == ROWS * (5 + 1) * 4
