"""The lift of every class that cuML translates, by cuML's own code, without a GPU."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from pipeline.backends.cuml import trees
from pipeline.backends.cuml.tables import APART, CUML, public_name, rule
from pipeline.optional import available, load
from tests.contract import cuml_on_numpy, snapshot
from tests.estimators import CASES, Case, named

MISSING = [package for package in snapshot.PACKAGES if not available(package)]

pytestmark = [
    pytest.mark.contract_live,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
    pytest.mark.filterwarnings("ignore"),
]

ONE_WAY = {
    "sklearn.cluster.HDBSCAN": "a supported single-linkage tree",
    "sklearn.ensemble.IsolationForest": "fitted sklearn IsolationForest is not supported",
}
"""Classes that cuML hands over but does not take, with what it says: they have to be fitted on
a GPU to be lifted."""

TRANSLATED = [case for case in CASES if (found := rule(case.estimator)) and not found.translation]
BOTH_WAYS = [case for case in TRANSLATED if public_name(case.estimator) not in ONE_WAY]
OURS = [case for case in CASES if (found := rule(case.estimator)) and found.translation]


@pytest.fixture
def on_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    for case in CASES:
        if found := rule(case.estimator):
            load(found.twin)
    cuml_on_numpy.install(monkeypatch)


@pytest.mark.usefixtures("on_numpy")
@pytest.mark.parametrize("case", BOTH_WAYS, ids=named)
def test_a_model_comes_back_from_cuml_as_it_was(case: Case) -> None:
    X, y = case.data()
    reference = clone(case.estimator).fit(X, y)
    lifted = cuml_on_numpy.lifted(load(rule(case.estimator).twin), case.estimator, reference)
    assert type(lifted) is type(case.estimator)
    assert repr(lifted) == repr(case.estimator)
    assert case.compare(lifted, reference, X, y) == pytest.approx(0, abs=1e-6)


@pytest.mark.usefixtures("on_numpy")
@pytest.mark.parametrize("name", ONE_WAY)
def test_cuml_says_what_it_does_not_take(name: str) -> None:
    (case,) = (case for case in TRANSLATED if public_name(case.estimator) == name)
    X, y = case.data()
    reference = clone(case.estimator).fit(X, y)
    with pytest.raises(load("cuml.internals.interop.UnsupportedOnGPU"), match=ONE_WAY[name]):
        cuml_on_numpy.lifted(load(rule(case.estimator).twin), case.estimator, reference)
    assert callable(load(rule(case.estimator).twin)._attrs_to_cpu)


@pytest.mark.usefixtures("on_numpy")
@pytest.mark.parametrize("name", ["RandomForestClassifier", "RandomForestRegressor"])
def test_cuml_hands_trees_over_without_impurities(name: str) -> None:
    (case,) = (case for case in BOTH_WAYS if named(case) == name)
    reference = clone(case.estimator).set_params(bootstrap=False).fit(*case.data())
    lifted = cuml_on_numpy.lifted(load(rule(case.estimator).twin), reference, reference)
    assert np.isnan(lifted.feature_importances_).all()
    trees.complete(lifted)
    np.testing.assert_allclose(
        lifted.feature_importances_, reference.feature_importances_, rtol=1e-4
    )


def test_nodes_of_trees_have_a_count_of_rows_and_no_weight() -> None:
    headers = Path(load("libcuml").__file__).parent / "include" / "cuml"
    node = (headers / "tree" / "flatnode.h").read_text("utf-8")
    assert "instance_count" in node
    assert "weight" not in node
    drawn = (headers.parents[1] / "lib64" / "libcuml.so").read_bytes()
    assert b"RowSampler" in drawn  # where weights are given, it draws the rows by them


class Asked:
    """Answers for any attribute and remembers its name."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        self.names.add(name)
        return np.float64(1) if name == "epsilon_" else np.ones((1, 1, 1))


@pytest.mark.parametrize("case", OURS, ids=named)
def test_the_attributes_that_we_read_are_those_that_cuml_sets(case: Case) -> None:
    asked = Asked()
    rule(case.estimator).translation.attributes(asked)
    text = "".join(map(source, load(rule(case.estimator).twin).__mro__))
    optional = {"density_"}  # of sparse projections only, and asked for by hasattr
    assert asked.names
    assert {name for name in asked.names - optional if f"self.{name}" not in text} == set()


def source(cls: type) -> str:
    """Return the source of the module of a class of cuML; compiled ones come with theirs."""
    if not cls.__module__.startswith("cuml."):
        return ""
    path = Path(str(sys.modules[cls.__module__].__file__))
    suffix = "py" if path.suffix == ".py" else "pyx"
    return path.with_name(f"{path.name.partition('.')[0]}.{suffix}").read_text()


def test_no_class_is_left_out() -> None:
    seen = {public_name(case.estimator) for case in (*BOTH_WAYS, *OURS)}
    assert set(CUML) == seen | set(ONE_WAY) | set(APART)
    assert (len(BOTH_WAYS), len(OURS)) == (26, 8)
