from __future__ import annotations

import pytest
from xgboost import XGBClassifier, XGBRegressor

from pipeline.backends import cpu
from pipeline.backends.base import HostModel
from pipeline.backends.cpu import HOST
from pipeline.backends.xgboost.estimator import XGBoostModel


class OwnBoosting(XGBClassifier):
    pass


@pytest.mark.parametrize("device", [None, "cpu", "cuda", "cuda:1"])
def test_xgboost_is_told_to_run_on_the_cpu(device: str | None) -> None:
    estimator = XGBRegressor(device=device)
    placed = HOST.place(estimator, "model")
    assert isinstance(placed, XGBoostModel)
    assert placed.native.device == "cpu"
    assert estimator.device == device
    replaced = device not in (None, "cpu")
    assert bool(HOST.describe(estimator, "model").note) is replaced


def test_a_subclass_of_xgboost_is_not_xgboosts_own() -> None:
    assert cpu.is_xgboost(XGBClassifier())
    assert not cpu.is_xgboost(OwnBoosting())
    assert isinstance(HOST.place(OwnBoosting(), "model"), HostModel)
