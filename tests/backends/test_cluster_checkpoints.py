"""A training on a cluster goes on from its last trees when it loses a worker, or its client."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xgboost import XGBClassifier
from xgboost.callback import TrainingCallback

import pipeline
from pipeline import Accelerated
from pipeline.backends.xgboost import checkpoints

pytestmark = pytest.mark.slow

pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
ROWS, TREES, AT = 4000, 30, 20


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "EVERY", 0.0)


@pytest.fixture(scope="module")
def two() -> Any:
    with pipeline.cluster("local", workers=2) as cluster:
        yield cluster


def table() -> tuple[Any, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 4)).astype("float32")
    y = (X[:, 0] + X[:, 1] ** 2 + rng.normal(size=ROWS) > 1).astype("int64")
    return da.from_array(X, chunks=(1000, 4)), y


def killing(marker: Path) -> Any:
    """Return what ends the second worker, once, before a tree."""

    class Kill(TrainingCallback):
        def before_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            import os
            import signal

            from xgboost import collective

            if collective.get_rank() == 1 and epoch == AT and not marker.exists():
                marker.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return False

    return Kill()


def trees(model: Accelerated) -> bytes:
    return bytes(model.to_sklearn().get_booster().save_raw("ubj"))


def test_a_lost_worker_costs_the_trees_since_the_last_checkpoint(two: Any, tmp_path: Path) -> None:
    estimator = XGBClassifier(
        n_estimators=TREES, max_depth=3, callbacks=[killing(tmp_path / "killed")]
    )
    whole = Accelerated(XGBClassifier(n_estimators=TREES, max_depth=3), device="cpu")
    expected = trees(whole.fit(*table()))
    model = Accelerated(estimator, device="cpu").fit(*table())
    assert (tmp_path / "killed").exists()
    note = model.plan_.placements[-1].note
    assert f"went on from tree {AT} of {TREES}" in note
    assert trees(model) == expected


def test_a_client_that_is_gone_leaves_trees_on_its_disk(
    two: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    estimator = XGBClassifier(n_estimators=TREES, max_depth=3)
    expected = trees(Accelerated(estimator, device="cpu").fit(*table()))
    model = Accelerated(estimator, device="cpu", checkpoint=tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(checkpoints.Checkpoints, "end", lambda _: None)
        model.fit(*table())
    assert list(tmp_path.glob(f"trees-{TREES}.ubj"))
    model.fit(*table())
    assert f"went on from tree {TREES} of {TREES}" in model.plan_.placements[-1].note
    assert trees(model) == expected
