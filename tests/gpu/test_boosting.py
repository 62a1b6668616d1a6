"""XGBoost on a GPU: frames of cuDF as they are, pages from the disk, and the pool of memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import log_loss, roc_auc_score

import pipeline
from pipeline import Accelerated
from pipeline.backends.xgboost import contributions
from pipeline.data import partitioned

xgboost = pytest.importorskip("xgboost")

ROWS = 4_000


def estimator(**params: Any) -> Any:
    return xgboost.XGBClassifier(
        n_estimators=20, max_depth=3, random_state=0, enable_categorical=True, **params
    )


def table() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"n": rng.normal(size=ROWS), "k": rng.integers(0, 5, ROWS).astype(float)})
    X["c"] = rng.choice(["a", "bb", "ccc"], ROWS)
    X["d"] = rng.choice(["x", "y"], ROWS)
    X["e"] = rng.choice([*"pqrst"], ROWS)
    X["b"] = rng.random(ROWS) < 0.5
    signal = X["n"] + X["k"] / 3 + (X["c"] == "bb") + (X["d"] == "x") - 2 * X["e"].isin([*"qs"])
    for start, name in enumerate("ncde"):
        X.loc[start :: 7 + start, name] = np.nan if name == "n" else None
    return X, (signal > 1).to_numpy().astype(int)


def as_categories(X: pd.DataFrame) -> pd.DataFrame:
    return X.astype({name: "category" for name in X.columns if name in {*"cde"}})


@pytest.mark.parametrize(
    "columns", [["n", "k"], ["n", "k", "b"], ["n", "c"], [*"ncde"], [*"edc"]], ids=str
)
def test_frames_with_nulls_and_text_are_learnt_as_on_the_cpu(columns: list[str]) -> None:
    import cudf

    X, y = table()
    X = X[columns]
    found = Accelerated(estimator(), device="cuda").fit(cudf.from_pandas(X), y)
    alone = Accelerated(estimator(), device="cpu").fit(X, y)
    scores = [roc_auc_score(y, m.predict_proba(X)[:, 1]) for m in (found, alone)]
    assert scores[0] == pytest.approx(scores[1], abs=0.005)
    on_device = found.predict_proba(cudf.from_pandas(X))
    lifted = found.to_sklearn().set_params(device="cpu")
    np.testing.assert_allclose(lifted.predict_proba(as_categories(X)), on_device, atol=1e-5)


def test_rows_of_a_longer_frame_are_learnt_as_a_frame_of_their_own() -> None:
    import cudf

    X, y = table()
    whole = cudf.from_pandas(X)
    model = Accelerated(estimator(), device="cuda").fit(whole, y)
    expected = model.predict_proba(cudf.from_pandas(X[1001:].reset_index(drop=True)))
    np.testing.assert_allclose(model.predict_proba(whole[1001:]), expected, atol=1e-6)
    given = {"eval_set": [(whole.iloc[1001:], y[1001:])], "verbose": False}
    judged = Accelerated(estimator(), device="cuda").fit(whole.iloc[:1001], y[:1001], **given)
    lifted = judged.to_sklearn()
    scored = log_loss(y[1001:], lifted.predict_proba(as_categories(X)[1001:]))
    assert lifted.evals_result()["validation_0"]["logloss"][-1] == pytest.approx(scored, abs=1e-4)


def test_contributions_of_rows_block_by_block(monkeypatch: pytest.MonkeyPatch) -> None:
    import cudf

    X, y = table()
    model = Accelerated(estimator(), device="cuda").fit(cudf.from_pandas(X), y)
    whole = model.contributions(cudf.from_pandas(X)).values
    monkeypatch.setattr(contributions, "CELLS", 4_000)
    found = model.contributions(cudf.from_pandas(X)).values
    np.testing.assert_allclose(found, whole, atol=1e-5)


def test_partitions_that_are_rows_of_a_frame_are_learnt_with_their_own_nulls() -> None:
    import cudf

    X, y = table()
    parts = pytest.importorskip("dask_cudf").from_cudf(cudf.from_pandas(X), npartitions=3)
    alone = Accelerated(estimator(), device="cuda").fit(cudf.from_pandas(X), y)
    with pipeline.cluster("cuda", workers=1):
        spread = Accelerated(estimator(), device="cuda").fit(parts, y)
    assert "all workers of the cluster" in spread.plan_.placements[-1].note
    scores = [roc_auc_score(y, m.predict_proba(X)[:, 1]) for m in (spread, alone)]
    assert scores[0] == pytest.approx(scores[1], abs=0.005)


def test_rows_from_the_disk_are_trained_on_the_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    da = pytest.importorskip("dask.array")
    X, y = table()
    rows = X[["n", "k"]].to_numpy("float32")
    alone = Accelerated(estimator(), device="cuda").fit(rows, y)
    monkeypatch.setattr(partitioned, "room", lambda device: 20_000)
    streamed = Accelerated(estimator(), device="cuda").fit(da.from_array(rows, chunks=(1000, 2)), y)
    assert "external memory" in streamed.plan_.placements[-1].note
    scores = [roc_auc_score(y, m.predict_proba(rows)[:, 1]) for m in (streamed, alone)]
    assert scores[0] == pytest.approx(scores[1], abs=0.005)


def test_memory_comes_from_the_pool() -> None:
    X, y = table()
    Accelerated(estimator(), device="cuda").fit(X[["n"]], y)
    assert xgboost.get_config()["use_cuda_async_pool"]
