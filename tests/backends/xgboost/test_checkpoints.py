"""Trainings that are broken off and taken up, against those that are not."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier, XGBRegressor

from pipeline import Accelerated, CheckpointDiffers, DataError
from pipeline.backends.xgboost import checkpoints
from pipeline.backends.xgboost.checkpoints import fingerprint
from pipeline.errors import OutputLocked
from pipeline.system.atomic import locked

da = pytest.importorskip("dask.array")
ROWS, TREES = 2000, 12


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "EVERY", 0.0)


def table() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 4)).astype("float32")
    return X, (X[:, 0] + X[:, 1] ** 2 + rng.normal(size=ROWS) > 1).astype("int64")


def estimator(**params: Any) -> Any:
    given = {"n_estimators": TREES, "max_depth": 3, "random_state": 0} | params
    return make_pipeline(StandardScaler(), XGBClassifier(**given))


def trees(model: Accelerated) -> bytes:
    return bytes(model.to_sklearn()[-1].get_booster().save_raw("ubj"))


def broken_off(folder: Path, X: Any, y: Any, **given: Any) -> None:
    """Leave the trees of a training that ended after half of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoints.Checkpoints, "keep", keep_half)
        with pytest.raises(KeyboardInterrupt):
            taken_up(folder, X, y, **given)
    assert json.loads((folder / "checkpoint.json").read_text())["rounds"] == TREES // 2


def keep_half(kept: checkpoints.Checkpoints, trees: bytes, rounds: int) -> None:
    if rounds > TREES // 2:
        raise KeyboardInterrupt
    KEEP(kept, trees, rounds)


KEEP = checkpoints.Checkpoints.keep


def taken_up(folder: Path, X: Any, y: Any, weights: Any = None, **params: Any) -> Accelerated:
    model = Accelerated(estimator(**params), device="cpu", checkpoint=folder)
    return model.fit(X, y, sample_weight=weights)


def alone(X: Any, y: Any, **params: Any) -> Accelerated:
    return Accelerated(estimator(**params), device="cpu").fit(X, y)


def test_a_training_that_was_broken_off_comes_to_the_same_trees(tmp_path: Path) -> None:
    X, y = table()
    broken_off(tmp_path, X, y)
    model = taken_up(tmp_path, X, y)
    assert trees(model) == trees(alone(X, y))
    assert model.plan_.placements[-1].note == f"went on from tree {TREES // 2} of {TREES}"
    assert list(tmp_path.glob("*.*")) == []
    assert model.to_sklearn()[-1].n_estimators == TREES


def test_trees_that_were_all_there_are_the_model(tmp_path: Path) -> None:
    X, y = table()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoints.Checkpoints, "end", lambda _: None)
        taken_up(tmp_path, X, y)
    assert trees(taken_up(tmp_path, X, y)) == trees(alone(X, y))


@pytest.mark.slow
def test_partitions_on_the_disk_are_taken_up_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.data.partitioned.fits", lambda X: (False, "too many"))
    X, y = table()
    parts = da.from_array(X, chunks=(700, 4))
    broken_off(tmp_path, parts, y)
    model = taken_up(tmp_path, parts, y)
    assert trees(model) == trees(alone(parts, y))
    assert model.plan_.placements[-1].note.startswith("external memory: too many; went on from")


def test_what_is_sampled_is_said_to_make_another_model(tmp_path: Path) -> None:
    X, y = table()
    broken_off(tmp_path, X, y, subsample=0.5)
    note = taken_up(tmp_path, X, y, subsample=0.5).plan_.placements[-1].note
    assert "subsample draw(s) at random, so the model is not that of a training without" in note


def other_value() -> tuple[np.ndarray, np.ndarray]:
    X, y = table()
    X[1000, 2] += 1e-3
    return X, y


def other_order() -> tuple[np.ndarray, np.ndarray]:
    X, y = table()
    return X[::-1], y[::-1]


@pytest.mark.parametrize(
    ("data", "params", "why"),
    [
        (table, {"max_depth": 4}, "with another estimator"),
        (
            table,
            {"random_state": 1},
            r"with \w+__random_state=0, and now it is \w+__random_state=1",
        ),
        (other_value, {}, "on other rows"),
        (other_order, {}, "on other rows"),
        (table, {"weights": np.arange(ROWS) + 1.0}, "on other rows"),
    ],
)
def test_another_training_is_refused_and_loses_nothing(
    data: Any, params: dict[str, Any], why: str, tmp_path: Path
) -> None:
    broken_off(tmp_path, *table())
    with pytest.raises(CheckpointDiffers, match=f"begun {why}.*or remove the folder"):
        taken_up(tmp_path, *data(), **params)
    assert trees(taken_up(tmp_path, *table())) == trees(alone(*table()))


def test_damaged_trees_are_refused_before_xgboost_reads_them(tmp_path: Path) -> None:
    broken_off(tmp_path, *table())
    (path,) = tmp_path.glob("trees-*.ubj")
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(DataError, match="is not what was written; remove its folder"):
        taken_up(tmp_path, *table())


def test_two_trainings_do_not_share_a_folder(tmp_path: Path) -> None:
    with locked(tmp_path), pytest.raises(OutputLocked):
        taken_up(tmp_path, *table())


def test_early_stopping_keeps_no_trees_and_says_so(tmp_path: Path) -> None:
    X, y = table()
    model = Accelerated(
        estimator(early_stopping_rounds=2, eval_metric="auc"), device="cpu", checkpoint=tmp_path
    )
    model.fit(X, y, eval_set=[(X[:500], y[:500])])
    assert "no checkpoints: what eval_set has judged" in model.plan_.placements[-1].note
    assert list(tmp_path.glob("*.*")) == []


@pytest.mark.slow
def test_a_killed_process_leaves_trees_to_go_on_from(tmp_path: Path) -> None:
    code = f"""
        import os, signal
        from pathlib import Path
        from pipeline import checkpoints
        from tests.backends.xgboost.test_checkpoints import TREES, table, taken_up
        checkpoints.EVERY, keep = 0.0, checkpoints.Checkpoints.keep
        def killed(kept, trees, rounds):
            keep(kept, trees, rounds)
            if rounds == TREES // 2:
                os.kill(os.getpid(), signal.SIGKILL)
        checkpoints.Checkpoints.keep = killed
        taken_up(Path({str(tmp_path)!r}), *table())
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=False)
    assert done.returncode == -9
    model = taken_up(tmp_path, *table())
    assert f"went on from tree {TREES // 2} of" in model.plan_.placements[-1].note
    assert trees(model) == trees(alone(*table()))


FRAME = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": pd.Categorical(["x", "y", "x"])})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (np.array([1, 2]), np.array([2, 1])),
        (np.array([True, False]), np.array([True, True])),
        (np.array(["a", "b"]), np.array(["a", "c"])),
        (np.zeros((2, 3)), np.zeros((3, 2))),
        (FRAME, FRAME.assign(b=["x", "y", "y"])),
        (FRAME, FRAME[::-1]),
        (da.from_array(np.arange(6.0), chunks=3), da.from_array(np.arange(6.0), chunks=2)),
        (None, np.zeros(0)),
    ],
)
def test_a_fingerprint_tells_tables_apart(one: Any, other: Any) -> None:
    assert fingerprint(one) == fingerprint(one)
    assert fingerprint(one) != fingerprint(other)


def test_a_regressor_without_a_pipeline(tmp_path: Path) -> None:
    X, y = table()
    model = Accelerated(XGBRegressor(n_estimators=3), device="cpu", checkpoint=tmp_path)
    np.testing.assert_array_equal(
        model.fit(X, y).predict(X), XGBRegressor(n_estimators=3).fit(X, y).predict(X)
    )
