"""nvForest itself, on the CPU, in the place of every tree ensemble that it takes."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import ensemble
from xgboost import XGBClassifier, XGBRegressor, XGBRFClassifier, XGBRFRegressor

from pipeline.backends.nvforest import BOOSTED, GROWN, METHODS, Forest
from pipeline.errors import Unsupported

pytest.importorskip("nvforest")
pytestmark = pytest.mark.filterwarnings("ignore")

X = np.random.default_rng(0).normal(size=(400, 5)).astype("float32")
LABELS = {"two": (X[:, 0] > 0).astype(int), "three": np.digitize(X[:, 1], [-1, 1])}
SMALL: dict[str, Any] = {"max_depth": 4, "random_state": 0}
KINDS = {
    kind.__name__: kind for kind in (XGBClassifier, XGBRegressor, XGBRFClassifier, XGBRFRegressor)
} | {name: getattr(ensemble, name) for name in GROWN}


CLASSIFIERS = [name for name in KINDS if name.endswith("Classifier")]
REFUSED = ("XGBRFClassifier", "three")
"""Several trees of a class in one round, which nvForest does not take."""
TAKEN = [each for each in product(CLASSIFIERS, LABELS) if each != REFUSED]


def test_every_ensemble_is_tried() -> None:
    assert set(KINDS) == {*BOOSTED, *GROWN}


def asked(name: str, y: np.ndarray) -> tuple[Any, Any]:
    trees = {"max_iter": 4} if name.startswith("Hist") else {"n_estimators": 4}
    fitted = KINDS[name](**SMALL, **trees).fit(X, y)
    return fitted, Forest(fitted, "step", "cpu")


@pytest.mark.parametrize(("name", "labels"), TAKEN)
def test_classes_and_their_probabilities_are_those_of_the_estimator(name: str, labels: str) -> None:
    fitted, served = asked(name, LABELS[labels])
    for method in METHODS:
        wanted, found = getattr(fitted, method)(X), served.call(method, X)
        assert found.shape == wanted.shape
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", [name for name in KINDS if name.endswith("Regressor")])
def test_numbers_are_those_of_the_estimator(name: str) -> None:
    fitted, served = asked(name, X[:, 0] + X[:, 1])
    np.testing.assert_allclose(served.call("predict", X), fitted.predict(X), rtol=1e-5, atol=1e-6)


def test_several_trees_of_a_class_are_refused() -> None:
    with pytest.raises(Unsupported, match="nvForest: .*class.*; use forests='own'"):
        asked(REFUSED[0], LABELS[REFUSED[1]])


def test_categories_are_refused_with_the_way_out() -> None:
    table = pd.DataFrame({"c": pd.Categorical(["a", "b"] * 50), "n": np.arange(100.0)})
    fitted = XGBClassifier(n_estimators=2, enable_categorical=True).fit(table, [0, 1] * 50)
    with pytest.raises(Unsupported, match="use forests='own'"):
        Forest(fitted, "step", "cpu").call("predict_proba", table)
