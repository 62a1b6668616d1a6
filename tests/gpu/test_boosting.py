"""XGBoost on a GPU: frames of cuDF as they are, pages from the disk, and the pool of memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import log_loss, roc_auc_score
from xgboost import DMatrix, XGBClassifier, get_config

import pipeline
from pipeline import Accelerated
from pipeline.backends.xgboost import shap_values as contributions
from pipeline.table import partitioned
from tests.contract.cases import to_cudf

ROWS = 4_000
LAST = XGBClassifier(n_estimators=20, max_depth=3, random_state=0, enable_categorical=True)


def fitted(X: Any, y: np.ndarray, device: str = "cuda", **given: Any) -> Accelerated:
    return Accelerated(LAST, device=device).fit(X, y, **given)


def table() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"n": rng.normal(size=ROWS), "k": rng.integers(0, 5, ROWS).astype(float)})
    for name, levels in {"c": ["a", "bb", "ccc"], "d": [*"xy"], "e": [*"pqrst"]}.items():
        X[name] = rng.choice(levels, ROWS)
    X["b"] = rng.random(ROWS) < 0.5
    signal = X["n"] + X["k"] / 3 + (X["c"] == "bb") + (X["d"] == "x") - 2 * X["e"].isin([*"qs"])
    for start, name in enumerate("ncde"):
        X.loc[start :: 7 + start, name] = np.nan if name == "n" else None
    return X, (signal > 1).to_numpy().astype(int)


def as_categories(X: pd.DataFrame) -> pd.DataFrame:
    return X.astype({name: "category" for name in X.columns if name in {*"cde"}})


def assert_as_good(model: Any, other: Any, X: Any, y: np.ndarray) -> None:
    scores = [roc_auc_score(y, each.predict_proba(X)[:, 1]) for each in (model, other)]
    assert scores[0] == pytest.approx(scores[1], abs=0.005)


@pytest.mark.parametrize("columns", [[*"nk"], [*"nkb"], [*"nc"], [*"ncde"], [*"edc"]], ids=str)
def test_frames_with_nulls_and_text_are_learnt_as_on_the_cpu(columns: list[str]) -> None:
    X, y = table()
    X = X[columns]
    found = fitted(to_cudf(X), y)
    assert_as_good(found, fitted(X, y, "cpu"), X, y)
    lifted = found.to_sklearn().set_params(device="cpu")
    expected = found.predict_proba(to_cudf(X))
    np.testing.assert_allclose(lifted.predict_proba(as_categories(X)), expected, atol=1e-5)


@pytest.mark.parametrize("kind", ["text", "numbers"])
def test_categories_of_pandas_are_learnt_as_on_the_cpu(kind: str) -> None:
    X, y = table()
    numbers = X[["n", "k"]].astype({"k": "int64"}).astype({"k": "category"})
    X = as_categories(X) if kind == "text" else numbers
    found = fitted(X, y)
    assert_as_good(found, fitted(X, y, "cpu"), X, y)
    lifted = found.to_sklearn().set_params(device="cpu")
    np.testing.assert_allclose(lifted.predict_proba(X), found.predict_proba(to_cudf(X)), atol=1e-5)


def test_xgboost_itself_takes_missing_categories_for_the_first() -> None:
    """If this fails, XGBoost has mended it, and `handover.as_codes` can go."""
    X, y = table()
    model = fitted(to_cudf(X), y)
    booster, rows = (
        model.plan_.steps[-1].worker.native.get_booster(),
        DMatrix(to_cudf(as_categories(X))),
    )
    margin = booster.predict(rows, output_margin=True)
    off = abs(booster.predict(rows, pred_contribs=True).sum(axis=1) - margin) > 0.01
    missing = X[[*"cde"]].isna().any(axis=1).to_numpy()
    assert off[missing].any()
    assert not off[~missing].any()


def test_rows_of_a_longer_frame_are_learnt_as_a_frame_of_their_own() -> None:
    X, y = table()
    whole = to_cudf(X)
    model = fitted(whole, y)
    expected = model.predict_proba(to_cudf(X[1001:].reset_index(drop=True)))
    np.testing.assert_allclose(model.predict_proba(whole[1001:]), expected, atol=1e-6)
    given = {"eval_set": [(whole.iloc[1001:], y[1001:])], "verbose": False}
    lifted = fitted(whole.iloc[:1001], y[:1001], **given).to_sklearn()
    scored = log_loss(y[1001:], lifted.predict_proba(as_categories(X)[1001:]))
    assert lifted.evals_result()["validation_0"]["logloss"][-1] == pytest.approx(scored, abs=1e-4)


def test_contributions_of_rows_block_by_block(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = table()
    model = fitted(to_cudf(X), y)
    whole = model.contributions(to_cudf(X)).values
    monkeypatch.setattr(contributions, "CELLS", 4_000)
    np.testing.assert_allclose(model.contributions(to_cudf(X)).values, whole, atol=1e-5)


def test_partitions_that_are_rows_of_a_frame_are_learnt_with_their_own_nulls() -> None:
    X, y = table()
    parts = pytest.importorskip("dask_cudf").from_cudf(to_cudf(X), npartitions=3)
    with pipeline.cluster("cuda", workers=1):
        spread = fitted(parts, y)
    assert "all workers of the cluster" in spread.plan_.placements[-1].note
    assert_as_good(spread, fitted(to_cudf(X), y), X, y)


# It is said of the machine, and true: iterating costs more there.
@pytest.mark.filterwarnings("default:.*CUDA heterogeneous memory management is not available")
def test_rows_from_the_disk_are_trained_on_the_gpu_whose_memory_is_pooled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    da = pytest.importorskip("dask.array")
    X, y = table()
    rows = X[["n", "k"]].to_numpy("float32")
    alone = fitted(rows, y)
    assert get_config()["use_cuda_async_pool"]
    monkeypatch.setattr(partitioned, "room", lambda device: 20_000)
    parts = da.from_array(rows, chunks=(1000, 2))
    streamed = fitted(parts, y)
    assert "external memory" in streamed.plan_.placements[-1].note
    assert_as_good(streamed, alone, rows, y)
    monkeypatch.undo()
    gathered = fitted(parts, y)
    assert "gathered to one process" in gathered.plan_.placements[-1].note
    assert_as_good(gathered, alone, rows, y)
    answers = np.asarray(gathered.predict_proba(parts))
    np.testing.assert_allclose(answers, gathered.predict_proba(rows), atol=1e-6)
