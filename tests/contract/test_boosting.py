"""XGBoost is asked where it trained: told to use a GPU that is not there, it merely warns."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from pipeline import DeviceUnavailable
from pipeline.backends import pool
from pipeline.backends.incremental import Batch
from pipeline.backends.xgboost import training
from pipeline.backends.xgboost.estimator import XGBoostModel
from pipeline.data import frames
from pipeline.optional import load
from pipeline.system.devices import obstacle
from tests.contract.cases import preprocessing
from tests.contract.recorder import Recorder

xgboost = pytest.importorskip("xgboost")
NO_GPU = obstacle()

pytestmark = [
    pytest.mark.skipif(not NO_GPU, reason="XGBoost would train on the GPU of this machine"),
    # What XGBoost says instead of failing; it is the subject here.
    pytest.mark.filterwarnings("ignore:.*(No visible GPU|not compiled with CUDA|Device is).*"),
]


def booster() -> xgboost.XGBClassifier:
    return xgboost.XGBClassifier(n_estimators=2, max_depth=2)


def test_training_elsewhere_is_an_error() -> None:
    X, y = np.arange(40.0).reshape(20, 2), np.arange(20) % 2
    with pytest.raises(DeviceUnavailable, match="'cuda' and trained on 'cpu'"):
        XGBoostModel(booster(), "cuda").fit(X, y)


def test_xgboost_itself_does_not_fail() -> None:
    X, y = np.arange(40.0).reshape(20, 2), np.arange(20) % 2
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        booster().set_params(device="cuda").fit(X, y)
    assert caught


def test_same_check_passes_where_the_device_is_right() -> None:
    X, y = np.arange(40.0).reshape(20, 2), np.arange(20) % 2
    model = XGBoostModel(booster(), "cpu")
    model.fit(X, y)
    assert model.call("predict", X).shape == (20,)


@pytest.mark.parametrize(
    ("y", "place"), [(np.arange(20) % 2, "cuda"), (np.array(["a", "b"] * 10), "cpu")]
)
def test_a_target_of_numbers_goes_to_where_the_rows_are(
    device: Recorder, monkeypatch: pytest.MonkeyPatch, y: np.ndarray, place: str
) -> None:
    model, given = XGBoostModel(booster(), "cuda"), []
    monkeypatch.setattr(model, "_check_device", lambda booster: None)
    monkeypatch.setattr(model.native, "fit", lambda X, y: given.append(y))
    monkeypatch.setattr(model.native, "get_booster", lambda: None)
    model.fit(frames.to_device(np.arange(40.0).reshape(20, 2), "cuda"), y)
    assert [frames.device_of(each) for each in given] == [place]


@pytest.mark.parametrize("weights", [None, np.ones(6)], ids=["unweighted", "weighted"])
def test_batches_go_to_the_device_when_they_are_asked_for(device: Recorder, weights: Any) -> None:
    rows = np.arange(12.0, dtype="float32").reshape(6, 2)
    batch = Batch(lambda: rows, np.zeros(6), weights)
    asked = training.iterate([batch], booster().set_params(device="cuda"))
    device.clear()
    given: dict[str, Any] = {}
    assert asked.next(lambda **told: given.update(told))
    assert given.pop("feature_types") is given.pop("feature_weights") is None
    sent = {name: array for name, array in given.items() if array is not None}
    assert set(sent) == ({"data", "label"} if weights is None else {"data", "label", "weight"})
    assert {frames.device_of(array) for array in sent.values()} == {"cuda"}
    assert not asked.next(given.update)


@pytest.fixture
def settings() -> Iterator[None]:
    """Give this thread of XGBoost its settings back."""
    before = xgboost.get_config()
    yield
    xgboost.set_config(**before)


def test_without_a_gpu_there_is_no_pool_and_the_settings_stay(settings: None) -> None:
    before = xgboost.get_config()
    pool.use_memory_pool("cuda")
    assert xgboost.get_config() == before
    xgboost.set_config(verbosity=2)  # what could not be set would be set again here


class Settings:
    """XGBoost's settings on a machine whose GPU has a pool."""

    core = xgboost.core

    def __init__(self, **chosen: bool) -> None:
        self.now = {"use_rmm": False, "use_cuda_async_pool": False} | chosen

    def get_config(self) -> dict[str, bool]:
        return self.now

    def set_config(self, **asked: bool) -> None:
        self.now |= asked


@pytest.mark.parametrize(
    ("chosen", "where", "taken"),
    [({}, "cuda", True), ({}, "cpu", False), ({"use_rmm": True}, "cuda", False)],
    ids=str,
)
def test_the_pool_is_taken_on_a_gpu_unless_the_user_has_chosen_another(
    device: Recorder,
    monkeypatch: pytest.MonkeyPatch,
    chosen: dict[str, bool],
    where: str,
    taken: bool,
) -> None:
    made = Settings(**chosen)
    monkeypatch.setattr(pool, "load", lambda name: made)
    pool.use_memory_pool(where)
    assert made.now["use_cuda_async_pool"] == taken
    assert load("cupy").cuda.runtime.threshold == (2**64 - 1) * taken, "what is freed is kept"


def test_placed_on_the_gpu_in_a_pipeline(device: Recorder) -> None:
    from sklearn.pipeline import make_pipeline

    from pipeline import explain

    estimator = make_pipeline(preprocessing(), booster())
    assert "xgboost.XGBClassifier  (takes device='cuda'; is given CSR" in str(
        explain(estimator, device="cuda")
    )
