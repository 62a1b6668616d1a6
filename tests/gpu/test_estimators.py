"""Every estimator that has a rule, on a GPU, against scikit-learn within its tolerance."""

from __future__ import annotations

import io
import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression

from pipeline import Accelerated
from pipeline.backends.base import METHODS
from pipeline.optional import available, load
from pipeline.system import devices
from tests.estimators import (
    CASES,
    ROWS,
    Case,
    blobs,
    classes,
    grouping,
    named,
    neighbourhoods,
    score,
)

NEAR = 1e-4
"""How far the lifted model may be from the device's own answers."""
FORESTS = ("RandomForestClassifier", "RandomForestRegressor", "IsolationForest")
DIFFERING = dict.fromkeys((*FORESTS, "KNeighborsClassifier", "KNeighborsRegressor"), 1 / ROWS)
"""Share of rows for which a lifted model may answer otherwise: beside a cut, or of two that tie."""
SUMMED_OTHERWISE = ("XGBClassifier", "XGBRFClassifier", "XGBRFRegressor", "XGBRegressor")
"""Gradients are added up in another order, so cuts and rows differ: these are held to the score."""
AS_GOOD = 0.03


class OnTheHost(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        assert module.partition(".")[0] not in devices.STACK, f"{module}.{name}"
        return super().find_class(module, name)


def fitted(estimator: Any, X: Any, y: Any, **given: Any) -> Accelerated:
    return Accelerated(clone(estimator), device="cuda").fit(X, y, **given)


@pytest.mark.parametrize("case", CASES, ids=named)
def test_comes_as_near_to_the_reference_as_its_row_says_and_is_handed_over(case: Case) -> None:
    X, y = case.data()
    reference = clone(case.estimator).fit(X, y, **case.params)
    ours = fitted(case.estimator, X, y, **case.params)
    events = ours.execution_log_.entries
    assert {entry.device for entry in events if entry.call == "fit"} == {"cuda"}
    assert ours.execution_log_.to_host_bytes == 0
    if named(case) in SUMMED_OTHERWISE:
        assert score(ours, reference, X, y) <= AS_GOOD
    else:
        assert case.compare(ours, reference, X, y) <= case.tolerance
    lifted: Any = ours.to_sklearn()
    # On a machine without a GPU it can be unpickled as well.
    assert type(OnTheHost(io.BytesIO(pickle.dumps(lifted))).load()) is type(case.estimator)
    for name in ("labels_", "embedding_"):
        assert len(getattr(lifted, name, X)) == len(X)
    if any(hasattr(ours, name) for name in METHODS):
        # float64 is learnt in float32.
        for given in (X, X.astype("float64") * (1 + 2.0**-30)):
            model = ours if given is X else fitted(case.estimator, given, y, **case.params)
            differing = DIFFERING.get(named(case), 0)
            model.certify(given, rtol=NEAR, atol=NEAR, differing=differing).require()


@pytest.mark.parametrize("span", [2e5, 4e8])
def test_what_is_small_beside_another_column_is_nothing_where_it_is_to_scikit_learn(
    span: float,
) -> None:
    random = np.random.default_rng(0)
    X = np.column_stack([1.7e9 + random.uniform(0, span, 20_000), random.uniform(size=20_000)])
    y = X @ [1 / span, 2] + random.normal(size=len(X))
    ours = Accelerated(LinearRegression(), device="cuda", dtype="float64").fit(X, y)
    assert np.abs(ours.predict(X) - LinearRegression().fit(X, y).predict(X)).max() < 1e-5


@pytest.mark.parametrize("estimator", [RandomForestClassifier(), RandomForestRegressor()])
def test_forests_are_cumls_own_and_come_back_whole(
    estimator: Any, recwarn: pytest.WarningsRecorder
) -> None:
    X, y = classes()
    # Half of the rows, which shift an importance by 0.26 or more. cuML draws rows by weight, and
    # counts one that is drawn twice as two: so drawn, scikit-learn's trees come within 0.053.
    weights = np.where(X[:, 6] > np.median(X[:, 6]), 4.0, 0.0)
    grown = clone(estimator).set_params(min_samples_leaf=np.int64(5))
    for given in ({}, {"sample_weight": weights}):
        ours = fitted(grown, X, y, **given)
        lifted: Any = ours.to_sklearn()
        own = ours.plan_.steps[-1].worker.native.feature_importances_
        np.testing.assert_allclose(lifted.feature_importances_, own, atol=1e-4)
        assert min(tree.tree_.n_node_samples.min() for tree in lifted.estimators_) >= 5
        assert len(lifted.estimators_[0].tree_.feature) > 3  # and not one leaf of all rows
        reference = clone(grown).fit(X, y, **given).feature_importances_
        assert np.abs(lifted.feature_importances_ - reference).max() < 0.1
    again = fitted(grown, X, y, sample_weight=weights).to_sklearn()
    assert (again.feature_importances_ != lifted.feature_importances_).any()
    assert not [each for each in recwarn if "Treelite" in str(each.message)]


@pytest.mark.parametrize(
    ("package", "path", "compare"),
    [("hdbscan", "hdbscan.HDBSCAN", grouping), ("umap", "umap.UMAP", neighbourhoods)],
)
def test_estimators_of_packages_apart_find_the_same_groups(
    package: str, path: str, compare: Any
) -> None:
    if not available(package):
        pytest.skip(f"{package} is not installed")
    X, _ = blobs()
    estimator = load(path)()
    ours = Accelerated(clone(estimator), device="cuda")
    assert compare(ours, estimator, X, None) <= 0.02
    assert type(ours.to_sklearn()) is type(estimator)
