"""Decision trees that are grown by the stand-ins of cuML's forests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from pipeline import Accelerated, load, save
from tests.estimators import CASES, Case, named

pytestmark = pytest.mark.usefixtures("device")
TREES = [case for case in CASES if "DecisionTree" in named(case)]


@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("case", TREES, ids=named)
def test_the_lifted_tree_answers_as_the_device_does(case: Case, text: bool, tmp_path: Path) -> None:
    X, y = case.data()
    if text and named(case) == "DecisionTreeClassifier":
        y = np.array(["a", "b", "c"])[y]
    reference = clone(case.estimator).fit(X, y)
    model = Accelerated(clone(case.estimator), device="cuda").fit(X, y)
    assert model.execution_log_.to_host_bytes == 0
    assert case.compare(model, reference, X, y) == 0
    lifted: Any = model.to_sklearn()
    assert type(lifted) is type(case.estimator)
    assert lifted.get_params() == case.estimator.get_params()
    assert vars(lifted).keys() == vars(reference).keys()
    assert lifted.get_depth() <= 8
    np.testing.assert_allclose(lifted.feature_importances_.sum(), 1)
    loaded = load(save(model, tmp_path / "model"), "cuda")
    assert [place.device for place in loaded.plan_.placements] == ["cuda"]
    for made in (lifted, loaded):
        assert made.predict(X).tolist() == model.predict(X).tolist()
    assert loaded.to_sklearn().predict(X).tolist() == lifted.predict(X).tolist()


@pytest.mark.parametrize("kind", [DecisionTreeClassifier, DecisionTreeRegressor])
def test_partitions_are_gathered_for_one_tree(kind: Any) -> None:
    case = next(case for case in TREES if type(case.estimator) is kind)
    X, y = case.data()
    model = Accelerated(clone(case.estimator), device="cuda").fit(X, y)
    worker = model.plan_.steps[-1].worker
    assert not worker.trains_distributed("fit", X, y, {})
