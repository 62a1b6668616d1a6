"""The snapshot and the rules against the installed RAPIDS packages, which import without a GPU."""

from __future__ import annotations

import inspect
import json
from typing import Any

import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags

from pipeline.backends.cuml import cuml_model as cuml_estimator
from pipeline.backends.gpu_rules import APART, CUML, public_name, rule
from pipeline.optional import load
from tests.contract import snapshot
from tests.contract.estimators import ASKING, LEARNING
from tests.contract.verify import frozen
from tests.estimators import CASES

ABSENT = {"IsolationForest": {"score"}, "PCA": {"score", "score_samples"}}
"""What scikit-learn's class can and cuML's cannot: refused with a way out when it is called."""
NO_MATTER = {"compute_full_tree", "copy", "memory"}
"""Parameters that change the effort and not the model."""
ON_CUML = [case.estimator for case in CASES if rule(case.estimator).runner == "cuml"]


def test_snapshot_is_what_the_packages_offer() -> None:
    offered = json.loads(snapshot.render(snapshot.take()))
    assert frozen().versions == offered["versions"], "run `make contract-snapshot`"
    differing = [
        f"{owner}.{name}"
        for owner, entries in offered["owners"].items()
        for name in entries | frozen().owners[owner]
        if entries.get(name) != frozen().owners[owner].get(name)
    ]
    assert differing == [], "run `make contract-snapshot`"


@pytest.mark.parametrize("estimator", ON_CUML, ids=str)
def test_parameters_of_a_rule_reach_cuml_and_none_is_left_out(estimator: BaseEstimator) -> None:
    row = rule(estimator)
    params = cuml_estimator.translate(row, estimator, "step")
    assert params.items() <= clone(load(row.twin)(**params)).get_params().items()
    unread = set(estimator.get_params(deep=False)) - set(params) - NO_MATTER
    assert not row.translation or unread <= set(row.translation.only)


@pytest.mark.parametrize("estimator", ON_CUML, ids=str)
def test_methods_weights_and_sparse_rows_are_those_of_the_rule(estimator: BaseEstimator) -> None:
    row: Any = rule(estimator)
    twin, name = load(row.twin), type(estimator).__name__
    asked = {each for each in (*LEARNING, *ASKING) if hasattr(estimator, each)}
    assert {each for each in asked if not hasattr(twin, each)} <= ABSENT.get(name, set())
    assert hasattr(twin, "as_sklearn") != bool(row.translation)
    assert ("weights" in row.tags) == ("sample_weight" in inspect.signature(twin.fit).parameters)
    # With its usual init="pca", TSNE takes no sparse rows anywhere.
    both = get_tags(type(estimator)()).input_tags.sparse and name != "TSNE"
    assert ("sparse" in row.tags) == (both and "sparse" in twin().__sklearn_tags__().X_types_gpu)


def test_no_rule_is_left_out() -> None:
    assert set(CUML) - {public_name(estimator) for estimator in ON_CUML} == set(APART)
