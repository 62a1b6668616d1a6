from __future__ import annotations

from typing import Any

import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, Ridge
from xgboost import XGBClassifier, XGBRegressor, XGBRFClassifier

from pipeline.errors import Unsupported
from pipeline.optional import available
from pipeline.rules import cuda
from pipeline.rules.boosting import Boosting


class OwnLogistic(LogisticRegression):
    pass


class OwnBoosting(XGBClassifier):
    pass


@pytest.mark.parametrize(
    "spec",
    [
        Ridge(),
        HistGradientBoostingClassifier(),
        LogisticRegressionCV(),
        OwnLogistic(),
        OwnBoosting(),
        XGBRegressor(),
        XGBRFClassifier(),
    ],
    ids=lambda spec: type(spec).__name__,
)
def test_estimators_without_a_rule_are_refused_with_those_that_have_one(spec: Any) -> None:
    for ask in (cuda.place, cuda.describe):
        with pytest.raises(Unsupported) as caught:
            ask(spec, "model")
        (reason,) = caught.value.reasons
        assert reason.step == "model"
        assert reason.why == f"{type(spec).__name__} has no rule for the GPU"
        for name in ("LogisticRegression", "RandomForestClassifier", "XGBClassifier", "auto"):
            assert name in reason.instead


def test_xgboost_is_the_same_class_with_a_device() -> None:
    placed = cuda.place(XGBClassifier(max_depth=3), "model")
    assert isinstance(placed, Boosting)
    assert type(placed.estimator) is XGBClassifier
    assert (placed.estimator.device, placed.estimator.max_depth) == ("cuda", 3)
    assert cuda.describe(XGBClassifier(), "model")[0] == "xgboost.XGBClassifier(device='cuda')"


@pytest.mark.skipif(available("cuml"), reason="cuML is installed: it checks the parameters")
@pytest.mark.parametrize("spec", [LogisticRegression(dual=True), RandomForestClassifier()])
def test_without_cuml_the_class_is_named_and_nothing_is_promised(spec: Any) -> None:
    path, note = cuda.describe(spec, "model")
    assert path.startswith("cuml.")
    assert path.endswith(f".{type(spec).__name__}")
    assert note == "cuML is not installed here: parameters not checked"


def test_the_table_names_scikit_learn_classes_by_their_cuml_twins() -> None:
    for original, path in cuda.CUML.items():
        assert original.__module__.startswith("sklearn.")
        assert path.rpartition(".")[2] == original.__name__
