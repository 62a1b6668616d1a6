"""The same checks against the installed RAPIDS packages, which import without a GPU.

The ordinary tests rely on the snapshot and on the manners of the stand-ins;
here both are held to the real thing.
"""

from __future__ import annotations

import inspect
import json
import warnings
from typing import Any

import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from pipeline import Accelerated, Unsupported
from pipeline.optional import available, load
from pipeline.rules import cuda, cuml
from tests.contract import cases, models, snapshot, standins
from tests.contract.recorder import RECORDER
from tests.contract.verify import Contract, faults, frozen

MISSING = [package for package in snapshot.PACKAGES if not available(package)]

pytestmark = [
    pytest.mark.contract_live,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]

PATHS = {
    LogisticRegression: "cuml.linear_model.LogisticRegression",
    RandomForestClassifier: "cuml.ensemble.RandomForestClassifier",
}
STANDINS = {
    LogisticRegression: models.LogisticRegression,
    RandomForestClassifier: models.RandomForestClassifier,
}
HONOURED = [
    LogisticRegression(C=0.5),
    LogisticRegression(tol=1e-3),
    LogisticRegression(max_iter=50),
    LogisticRegression(fit_intercept=False),
    LogisticRegression(class_weight="balanced"),
    LogisticRegression(l1_ratio=0.5),
    RandomForestClassifier(n_estimators=20),
    RandomForestClassifier(criterion="entropy"),
    RandomForestClassifier(max_depth=3),
    RandomForestClassifier(min_samples_split=5),
    RandomForestClassifier(min_samples_leaf=4),
    RandomForestClassifier(max_features=0.5),
    RandomForestClassifier(max_leaf_nodes=15),
    RandomForestClassifier(min_impurity_decrease=0.1),
    RandomForestClassifier(bootstrap=False),
    RandomForestClassifier(random_state=0),
    RandomForestClassifier(class_weight="balanced"),
    RandomForestClassifier(max_samples=0.5),
]
REFUSED = [
    (LogisticRegression(warm_start=True), "warm_start=True"),
    (LogisticRegression(intercept_scaling=2.0), "intercept_scaling=2.0"),
    (RandomForestClassifier(warm_start=True), "warm_start=True"),
    (RandomForestClassifier(ccp_alpha=0.5), "ccp_alpha=0.5"),
    (RandomForestClassifier(criterion="log_loss"), "criterion='log_loss'"),
]
LOST = [
    (LogisticRegression(solver="saga", random_state=0), ["random_state=0", "solver='saga'"]),
    (LogisticRegression(n_jobs=2, C=0.5), ["n_jobs=2"]),
    (RandomForestClassifier(n_jobs=2, verbose=1, max_depth=3), ["n_jobs=2", "verbose=1"]),
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
    model = Accelerated(clone(case.spec), device="cuda").fit(X, cases.target(X, case.n_classes))
    model.predict_proba(X)
    assert len(RECORDER.calls) > 100
    assert faults(RECORDER.calls, Contract(offered)) == []


@pytest.mark.parametrize("original", cuda.CUML, ids=lambda original: original.__name__)
def test_twin_exists_and_takes_the_default(original: type[BaseEstimator]) -> None:
    twin = load(cuda.CUML[original])
    params = cuml.translate(twin, original(), "step")
    assert params.items() <= clone(twin(**params)).get_params().items()
    for method in ("fit", "predict", "predict_proba", "as_sklearn"):
        assert callable(getattr(twin, method))


@pytest.mark.parametrize("original", cuda.CUML, ids=lambda original: original.__name__)
def test_twin_hands_over_its_labels(original: type[BaseEstimator]) -> None:
    assert '"classes_"' in inspect.getsource(load(cuda.CUML[original])._attrs_to_cpu)


def test_fitted_attributes_exist() -> None:
    assert {"coef_", "intercept_"} <= set(dir(load(PATHS[LogisticRegression])))


@pytest.mark.parametrize("spec", HONOURED, ids=names(HONOURED))
def test_honoured_value_reaches_cuml_and_survives_clone(spec: BaseEstimator) -> None:
    twin = load(cuda.CUML[type(spec)])
    params = cuml.translate(twin, spec, "step")
    assert params != cuml.translate(twin, type(spec)(), "step")
    assert params.items() <= clone(twin(**params)).get_params().items()


@pytest.mark.parametrize(("spec", "why"), REFUSED, ids=names(REFUSED))
def test_refused_value_is_our_error_with_its_reason(spec: BaseEstimator, why: str) -> None:
    with pytest.raises(Unsupported, match="cuML: ") as caught:
        cuml.translate(load(cuda.CUML[type(spec)]), spec, "path.of.step")
    (reason,) = caught.value.reasons
    assert reason.step == "path.of.step"
    assert why in reason.why
    assert reason.instead


@pytest.mark.parametrize(("spec", "lost"), LOST, ids=names(LOST))
def test_value_that_cuml_drops_is_told(spec: BaseEstimator, lost: list[str]) -> None:
    assert cuml.dropped(cuda.CUML[type(spec)], spec, "step") == lost


@pytest.mark.parametrize("spec", HONOURED, ids=names(HONOURED))
def test_standin_translates_as_cuml_does(spec: BaseEstimator) -> None:
    real = load(PATHS[type(spec)])._params_from_cpu(spec)
    assert STANDINS[type(spec)].translated(spec) == real


@pytest.mark.parametrize(("spec", "why"), REFUSED, ids=names(REFUSED))
def test_standin_refuses_as_cuml_does(spec: BaseEstimator, why: str) -> None:
    with pytest.raises(ValueError, match="is not supported") as real:
        load(PATHS[type(spec)])._params_from_cpu(spec)
    with pytest.raises(models.UnsupportedOnGPU) as ours:
        STANDINS[type(spec)].translated(spec)
    assert str(ours.value) == str(real.value)


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
