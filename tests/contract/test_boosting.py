"""XGBoost is asked where it trained: told to use a GPU that is not there, it merely warns."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from pipeline import DeviceUnavailable
from pipeline.devices import obstacle
from pipeline.rules.boosting import Boosting
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
        Boosting(booster(), "cuda").fit(X, y)


def test_xgboost_itself_does_not_fail() -> None:
    X, y = np.arange(40.0).reshape(20, 2), np.arange(20) % 2
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        booster().set_params(device="cuda").fit(X, y)
    assert caught


def test_same_check_passes_where_the_device_is_right() -> None:
    X, y = np.arange(40.0).reshape(20, 2), np.arange(20) % 2
    model = Boosting(booster(), "cpu")
    model.fit(X, y)
    assert model.call("predict", X).shape == (20,)


def test_placed_on_the_gpu_in_a_pipeline(device: Recorder) -> None:
    from sklearn.pipeline import make_pipeline

    from pipeline import explain

    spec = make_pipeline(preprocessing(), booster())
    assert "xgboost.XGBClassifier  (takes device='cuda')" in str(explain(spec, device="cuda"))
