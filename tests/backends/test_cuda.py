from __future__ import annotations

from typing import Any

import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from xgboost import XGBClassifier, XGBRegressor

from pipeline import explain
from pipeline.backends import cuda
from pipeline.backends import gpu_rules as tables
from pipeline.backends.base import Placement
from pipeline.backends.cuml import translations
from pipeline.compile.compile import compile_step
from pipeline.compile.spec import RowSpec
from pipeline.errors import Unsupported
from tests.contract.estimators import LOST, REFUSED


class OwnLogistic(LogisticRegression):
    pass


class OwnBoosting(XGBClassifier):
    pass


def describe(estimator: Any) -> Placement:
    backend = cuda.find_backend(estimator)
    assert backend is not None
    return backend.describe(estimator, "model")


def refusal(estimator: Any) -> list[Any]:
    backend = cuda.find_backend(estimator)
    op = compile_step(estimator, "model", RowSpec("cuda"))
    assert all(reason.step == "model" for reason in op.reasons)
    if backend is not None:
        with pytest.raises(Unsupported) as caught:
            backend.describe(estimator, "model")
        assert caught.value.reasons == op.reasons
    return list(op.reasons)


@pytest.mark.parametrize(
    "estimator", [OwnLogistic(), OwnBoosting()], ids=lambda s: type(s).__name__
)
def test_a_subclass_is_another_algorithm(estimator: Any) -> None:
    (reason,) = refusal(estimator)
    assert reason.why == f"{type(estimator).__name__} is not supported on the GPU"
    assert reason.instead == "use device='auto' to run this step on the CPU"


@pytest.mark.parametrize(
    ("parameter", "params", "suggestion"),
    [
        ("tree_method", {"tree_method": "exact"}, "tree_method='hist'"),
        ("updater", {"updater": "grow_colmaker,prune"}, "tree_method='hist'"),
        ("booster", {"booster": "gblinear"}, "trees"),
        ("booster", {"booster": "gblinear", "updater": "coord_descent"}, "trees"),
    ],
)
def test_what_xgboost_has_on_the_cpu_alone_is_refused(
    parameter: str, params: Any, suggestion: str
) -> None:
    (reason,) = refusal(XGBRegressor(**params))
    assert reason.parameter == parameter
    assert "XGBoost" in reason.why
    assert reason.instead.startswith(f"use {suggestion}, or device='auto'")
    assert explain(XGBRegressor(**params), device="cpu")
    assert describe(XGBRegressor(tree_method="approx")).device == "cuda"


class OwnVoting(VotingClassifier):
    pass


@pytest.mark.parametrize(
    ("estimator", "suggestion"),
    [
        (HistGradientBoostingClassifier(), "the nearest on the GPU is XGBClassifier; use it"),
        (SGDClassifier(), "nearest on the GPU is LogisticRegression or LinearSVC; use it"),
        (
            OwnVoting([("logistic", LogisticRegression())]),
            "put Accelerated around the estimators inside it",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_nearest_substitute_is_suggested_and_not_used(estimator: Any, suggestion: str) -> None:
    (reason,) = refusal(estimator)
    assert suggestion in reason.instead


@pytest.mark.parametrize(("estimator", "why"), REFUSED, ids=str)
def test_what_cuml_refuses_is_refused_with_its_reason(estimator: Any, why: str) -> None:
    (reason,) = refusal(estimator)
    assert reason.why.startswith("cuML: ")
    assert why in reason.why
    assert reason.instead == "change the parameter, or run the step on the CPU with device='auto'"


def test_each_estimator_that_cuml_refuses_something_of_is_tried() -> None:
    tried = {tables.public_name(estimator) for estimator, _ in REFUSED}
    assert len(tried) == 24
    assert tried == {
        name
        for name, found in translations.load_frozen().estimators.items()
        if len(found.refused) > 1 and name not in tables.APART
    }


@pytest.mark.parametrize(("estimator", "lost"), LOST, ids=str)
def test_what_cuml_drops_is_listed(estimator: Any, lost: list[str]) -> None:
    place = describe(estimator)
    assert list(place.dropped) == lost
    assert place.note.partition("; ")[0] == f"without effect in cuML: {', '.join(lost)}"
