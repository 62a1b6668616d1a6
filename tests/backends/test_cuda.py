from __future__ import annotations

from typing import Any

import pytest
from sklearn import svm
from sklearn.cluster import HDBSCAN
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.linear_model import ElasticNet, LogisticRegression, Ridge, RidgeCV, SGDClassifier
from xgboost import XGBClassifier, XGBRegressor

from pipeline import explain
from pipeline.backends import cuda
from pipeline.backends.base import Placement
from pipeline.backends.cuml import tables, translations
from pipeline.backends.xgboost.estimator import XGBoostModel
from pipeline.errors import Unsupported
from pipeline.planning.classify import classify_step
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
    node = classify_step(estimator, "model", "cuda")
    assert all(reason.step == "model" for reason in node.reasons)
    if backend is not None:
        with pytest.raises(Unsupported) as caught:
            backend.place(estimator, "model")
        assert caught.value.reasons == node.reasons
    return list(node.reasons)


@pytest.mark.parametrize(
    "estimator", [OwnLogistic(), OwnBoosting()], ids=lambda s: type(s).__name__
)
def test_a_subclass_is_another_algorithm(estimator: Any) -> None:
    (reason,) = refusal(estimator)
    assert reason.why == f"{type(estimator).__name__} has no rule for the GPU"
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


def test_scikit_learn_computes_on_cupy_what_stays_there() -> None:
    assert describe(RidgeCV()).implementation == "sklearn.RidgeCV on CuPy"
    (reason,) = refusal(RidgeCV(cv=3))
    assert (reason.parameter, reason.why) == ("cv", "3 is not computed on CuPy")


def test_xgboost_is_the_same_class_with_a_device() -> None:
    placed = cuda.XGBOOST_BACKEND.place(XGBClassifier(max_depth=3), "model")
    assert isinstance(placed, XGBoostModel)
    assert type(placed.native) is XGBClassifier
    assert (placed.native.device, placed.native.max_depth) == ("cuda", 3)
    place = describe(XGBClassifier())
    assert (place.implementation, place.parameters) == ("xgboost.XGBClassifier", {"device": "cuda"})


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


@pytest.mark.parametrize(
    ("estimator", "takes"),
    [
        (Ridge(solver="lsqr"), {"solver": "lsmr"}),
        (ElasticNet(tol=0.01), {"tol": 0.1}),
        (
            HDBSCAN(min_cluster_size=7, copy=True),
            {"min_samples": 6, "max_cluster_size": 0, "dtype": "float32"},
        ),
        (LogisticRegression(l1_ratio=0.5), {"penalty": "elasticnet", "solver": "qn"}),
        (svm.LinearSVR(), {"penalized_intercept": True, "penalty": "l2"}),
        (
            RandomForestClassifier(max_leaf_nodes=9),
            {"split_criterion": "gini", "max_leaves": 9, "dtype": "float32"},
        ),
    ],
    ids=str,
)
def test_what_cuml_takes_instead_is_listed(estimator: Any, takes: dict[str, Any]) -> None:
    assert dict(describe(estimator).parameters) == takes
