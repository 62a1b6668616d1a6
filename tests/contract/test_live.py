"""The same checks against the installed RAPIDS packages, which import without a GPU.

The ordinary tests rely on the snapshot and on the manners of the stand-ins;
here both are held to the real thing.
"""

from __future__ import annotations

import inspect
import json
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import RandomForestClassifier

from pipeline import Accelerated, Unsupported
from pipeline.backends.cuml import estimator as cuml_estimator
from pipeline.backends.cuml.tables import APART, CUML, public_name, rule
from pipeline.optional import available, load
from tests.contract import cases, snapshot, standins
from tests.contract.estimators import HONOURED, LOST, REFUSED
from tests.contract.recorder import RECORDER
from tests.contract.rulings import FAULTY, objections
from tests.contract.verify import Contract, faults, frozen
from tests.estimators import CASES

MISSING = [package for package in snapshot.PACKAGES if not available(package)]

pytestmark = [
    pytest.mark.contract_live,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]


def names(estimators: list[Any]) -> list[str]:
    return [str(each[0] if isinstance(each, tuple) else each) for each in estimators]


@pytest.fixture(scope="module", autouse=True)
def _packages() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for package in snapshot.PACKAGES:
            load(package)


@pytest.fixture(scope="module")
def offered(_packages: None) -> dict[str, Any]:
    return json.loads(snapshot.render(snapshot.take()))


def test_snapshot_is_what_the_packages_offer(offered: dict[str, Any]) -> None:
    assert frozen().versions == offered["versions"], "run `make contract-snapshot`"
    differing = [
        f"{owner}.{name}"
        for owner, entries in offered["owners"].items()
        for name in entries | frozen().owners[owner]
        if entries.get(name) != frozen().owners[owner].get(name)
    ]
    assert differing == [], "run `make contract-snapshot`"


@pytest.mark.parametrize("case", cases.CLASSIFIERS.values(), ids=list(cases.CLASSIFIERS))
def test_our_calls_fit_the_packages(
    case: cases.Case, offered: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    standins.install(monkeypatch)
    X = cases.table()
    model = Accelerated(clone(case.estimator), device="cuda").fit(
        X, cases.target(X, case.n_classes)
    )
    model.predict_proba(X)
    assert len(RECORDER.calls) > 100
    assert faults(RECORDER.calls, Contract(offered)) == []


ON_CUML = [case.estimator for case in CASES if rule(case.estimator)]


@pytest.mark.parametrize("estimator", ON_CUML, ids=names(ON_CUML))
def test_cuml_has_nothing_against_the_rule(estimator: BaseEstimator) -> None:
    assert objections(rule(estimator), estimator) == []


@pytest.mark.parametrize("name", FAULTY)
def test_a_rule_with_a_fault_is_caught(name: str) -> None:
    seeded = FAULTY[name]
    found = objections(seeded.row, seeded.estimator)
    assert any(each.startswith(seeded.objection) for each in found), found


def test_no_rule_is_left_out() -> None:
    assert set(CUML) - {public_name(estimator) for estimator in ON_CUML} == set(APART)
    assert len(FAULTY) == 17


@pytest.mark.parametrize(
    ("name", "methods"),
    [
        ("hdbscan.hdbscan_.HDBSCAN", ["fit", "fit_predict"]),
        ("umap.umap_.UMAP", ["fit", "fit_transform", "transform"]),
    ],
)
def test_cuml_translates_what_is_in_packages_apart(name: str, methods: list[str]) -> None:
    """Only cuML's side of the rule can be asked."""
    twin = load(CUML[name].twin)
    package, _, kind = name.partition(".")
    assert twin._cpu_class_path == f"{package}.{kind.rpartition('.')[2]}"
    assert callable(twin._params_from_cpu)
    assert all(hasattr(twin, method) for method in [*methods, "as_sklearn"])
    assert CUML[name].sparse == ("sparse" in twin().__sklearn_tags__().X_types_gpu)


@pytest.mark.parametrize("estimator", HONOURED, ids=names(HONOURED))
def test_honoured_value_reaches_cuml_and_survives_clone(estimator: BaseEstimator) -> None:
    row = rule(estimator)
    params = cuml_estimator.translate(row, estimator, "step")
    assert params != cuml_estimator.translate(row, type(estimator)(), "step")
    assert params.items() <= clone(load(row.twin)(**params)).get_params().items()


@pytest.mark.parametrize(("estimator", "why"), REFUSED, ids=names(REFUSED))
def test_refused_value_is_our_error_with_its_reason(estimator: BaseEstimator, why: str) -> None:
    with pytest.raises(Unsupported, match="cuML: ") as caught:
        cuml_estimator.translate(rule(estimator), estimator, "path.of.step")
    (reason,) = caught.value.reasons
    assert reason.step == "path.of.step"
    assert why in reason.why
    assert reason.instead


@pytest.mark.parametrize("name", ["min_samples_leaf", "min_samples_split", "max_features"])
def test_forests_ask_python_for_whole_numbers(name: str) -> None:
    source = Path(load("cuml.ensemble").__path__[0], "randomforest_common.pyx").read_text("utf-8")
    assert f"isinstance(self.{name}, int)" in source or f"isinstance({name}, int)" in source
    estimator = RandomForestClassifier(**{name: np.int64(4)})
    assert type(cuml_estimator.translate(rule(estimator), estimator, "step")[name]) is int
    assert cuml_estimator.list_dropped(rule(estimator), estimator, "step") == []


def test_svc_trains_as_its_decisions_are_named_and_through_the_host() -> None:
    twin = load("cuml.svm.SVC")
    source = inspect.getsource(twin._fit_multiclass)
    assert 'wrappers = {"ovo": OneVsOneClassifier, "ovr": OneVsRestClassifier}' in source
    assert "not yet supported" in inspect.getsource(twin._attrs_to_cpu)
    wrapper = load("cuml.multiclass.OneVsOneClassifier")
    for method in (wrapper.fit, wrapper.predict, wrapper.decision_function):
        assert 'mem_type="host"' in inspect.getsource(method)


def test_lars_of_cuml_does_not_centre_its_columns() -> None:
    """So it has no rule: its intercept is the mean of y, whatever the means of the columns."""
    source = Path(load("cuml.linear_model").__path__[0], "lars.pyx").read_text("utf-8")
    fitting = source.partition("def fit(self, X, y)")[2].partition("def predict")[0]
    assert "y = y - y_mean" in fitting
    assert "intercept = y_mean" in fitting
    assert "X.mean" not in fitting


def test_the_softmax_of_cuml_takes_no_weights() -> None:
    """Of its kernel: output, gradient, scores, labels, classes, rows, whether to derive."""
    library = Path(load("libcuml").__file__).parent / "lib64" / "libcuml.so"
    found = set(re.findall(rb"logSoftmaxKernelIfLi4ELi64EEE([A-Za-z0-9_]+)", library.read_bytes()))
    assert found == {b"vPT_S4_PKS3_S6_iib"}


@pytest.mark.parametrize(("estimator", "lost"), LOST, ids=names(LOST))
def test_value_that_cuml_drops_is_told(estimator: BaseEstimator, lost: list[str]) -> None:
    assert cuml_estimator.list_dropped(rule(estimator), estimator, "step") == lost


def test_cupy_knows_no_nullable_types() -> None:
    cupy = load("cupy")
    for dtype in (pd.Int64Dtype(), pd.BooleanDtype(), pd.Float64Dtype()):
        with pytest.raises(TypeError, match="Cannot interpret"):
            cupy.can_cast(dtype, dtype)


def test_frames_offer_cupy_no_array() -> None:
    cudf = load("cudf")
    assert not hasattr(cudf.DataFrame, "__cuda_array_interface__")
    assert hasattr(cudf.Series, "__cuda_array_interface__")


@pytest.mark.parametrize("name", ["DataFrame", "Series", "Index"])
def test_cudf_refuses_implicit_conversion(name: str) -> None:
    with pytest.raises(TypeError, match="Implicit conversion"):
        getattr(load("cudf"), name).__array__(None)


def test_cuml_refuses_text_labels_as_cupy() -> None:
    source = inspect.getsource(load("cuml.internals.outputs.ClassLabels").to_output)
    assert "doesn't support outputs of dtype" in source


def test_standins_bear_the_names_that_our_code_looks_for() -> None:
    for real in ("cudf.DataFrame", "cudf.Series", "cudf.Index", "cupy.ndarray"):
        assert load(real).__module__.partition(".")[0] == real.partition(".")[0]
