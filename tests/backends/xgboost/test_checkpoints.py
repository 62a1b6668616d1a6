"""Trainings that are broken off and resumed, against those that are not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier
from xgboost.callback import TrainingCallback

from pipeline import Accelerated, CheckpointDiffers, DataError
from pipeline.backends.xgboost.checkpoints import hash_rows
from tests.clusters import in_process

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")
ROWS, TREES = 2000, 12
HALF = TREES // 2


class Stop(TrainingCallback):
    """Ends a training before its second half, if it is told to."""

    how = ""

    def __repr__(self) -> str:
        return "Stop()"

    def before_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        if epoch == HALF and Stop.how == "error":
            raise RuntimeError("stopped")
        return False


def table(parted: bool = False) -> tuple[Any, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 4)).astype("float32")
    y = (X[:, 0] + X[:, 1] ** 2 + rng.normal(size=ROWS) > 1).astype("int64")
    return da.from_array(X, chunks=(700, 4)) if parted else X, y


def fit(folder: Path | None, X: Any, y: Any, weights: Any = None, **params: Any) -> Accelerated:
    given = {"n_estimators": TREES, "max_depth": 3, "random_state": 0, "callbacks": [Stop()]}
    estimator = make_pipeline(StandardScaler(), XGBClassifier(**(given | params)))
    model = Accelerated(estimator, device="cpu", checkpoint=folder)
    return model.fit(X, y, sample_weight=weights)


def break_off(folder: Path, X: Any, y: Any, **given: Any) -> None:
    """Leave the trees of a training that ended after half of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stop, "how", "error")
        with pytest.raises(RuntimeError, match="stopped"):
            fit(folder, X, y, **given)


def trees(model: Accelerated) -> bytes:
    return bytes(model.to_sklearn()[-1].get_booster().save_raw("ubj"))


def note(model: Accelerated) -> str:
    return model.plan_.placements[-1].note


RESUMED = f"continued from tree {HALF} of {TREES}"


@pytest.fixture
def where(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Train in this process, from the disk, or on a cluster in this process."""
    if request.param == "cluster":
        with in_process():
            yield
        return
    if request.param == "disk":
        monkeypatch.setattr("pipeline.table.partitioned.fits", lambda X: (False, "too many"))
    yield


@pytest.mark.parametrize(
    ("where", "parted"),
    [
        ("process", False),
        ("disk", True),
        pytest.param("cluster", True, marks=pytest.mark.slow),
    ],
    indirect=["where"],
)
def test_a_training_that_was_broken_off_comes_to_the_same_trees(
    where: None, parted: bool, tmp_path: Path
) -> None:
    X, y = table(parted)
    break_off(tmp_path, X, y)
    model = fit(tmp_path, X, y)
    assert trees(model) == trees(fit(None, X, y))
    assert note(model).endswith(RESUMED)
    assert list(tmp_path.glob("*")) == []
    assert model.to_sklearn()[-1].n_estimators == TREES


def altered(value: float = 0, order: int = 1) -> tuple[np.ndarray, np.ndarray]:
    X, y = table()
    X[1000, 2] += value
    return X[::order], y[::order]


@pytest.mark.parametrize(
    ("data", "params", "why"),
    [
        ({}, {"max_depth": 4}, "with other parameters;"),
        ({}, {"random_state": 1}, "with other parameters;"),
        ({"value": 1e-3}, {}, "with other data;"),
        ({"order": -1}, {}, "with other data;"),
        ({}, {"weights": np.arange(ROWS) + 1.0}, "with other data;"),
    ],
)
def test_another_training_is_refused_and_loses_nothing(
    data: dict[str, Any], params: dict[str, Any], why: str, tmp_path: Path
) -> None:
    break_off(tmp_path, *table())
    with pytest.raises(CheckpointDiffers, match=f"of a training {why}.*or remove the folder"):
        fit(tmp_path, *altered(**data), **params)
    assert note(fit(tmp_path, *table())) == RESUMED


def test_a_file_that_was_cut_off_is_passed_over(tmp_path: Path) -> None:
    break_off(tmp_path, *table())
    (last,) = tmp_path.glob(f"trees_{HALF - 1}.ubj")
    last.write_bytes(last.read_bytes()[:-100])
    model = fit(tmp_path, *table())
    assert note(model) == f"continued from tree {HALF - 1} of {TREES}"
    assert trees(model) == trees(fit(None, *table()))


@pytest.mark.parametrize("name", ["trees_3.ubj", "training.json"])
def test_what_another_version_has_left_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("[1]")
    with pytest.raises(DataError, match=f"{tmp_path}.*remove"):
        fit(tmp_path, *table())
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_early_stopping_keeps_no_trees_and_says_so(tmp_path: Path) -> None:
    X, y = table()
    (tmp_path / "mine.txt").touch()
    estimator = XGBClassifier(n_estimators=3, early_stopping_rounds=2, eval_metric="auc")
    model = Accelerated(estimator, device="cpu", checkpoint=tmp_path)
    model.fit(X, y, eval_set=[(X[:500], y[:500])])
    assert "no checkpoints: the results of eval_set" in note(model)
    assert [file.name for file in tmp_path.iterdir()] == ["mine.txt"]


FRAME = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": pd.Categorical(["x", "y", "x"])})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (np.array([1, 2]), np.array([2, 1])),
        (np.array([True, False]), np.array([True, True])),
        (np.array(["a", "b"]), np.array(["a", "c"])),
        (np.zeros((2, 3)), np.zeros((3, 2))),
        (sparse.eye(3).tocsr(), sparse.csr_matrix(np.eye(3)[::-1])),
        (FRAME, FRAME.assign(b=["x", "y", "y"])),
        (FRAME, FRAME[::-1]),
        (da.from_array(np.arange(6.0), chunks=3), da.from_array(np.arange(6.0), chunks=2)),
        (None, np.zeros(0)),
    ],
)
def test_a_hash_tells_tables_apart(one: Any, other: Any) -> None:
    assert hash_rows(one) == hash_rows(one)
    assert hash_rows(one) != hash_rows(other)
