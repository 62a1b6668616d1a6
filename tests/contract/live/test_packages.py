"""The same checks against the installed RAPIDS packages, which import without a GPU.

The ordinary tests rely on the snapshot and on the manners of the stand-ins;
here both are held to the real thing.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from sklearn.base import BaseEstimator, clone

from pipeline import Accelerated, Unsupported
from pipeline.backends.cuml import estimator as cuml_estimator
from pipeline.backends.cuml.tables import APART, CUML, public_name, rule
from pipeline.optional import load
from tests.contract import cases, snapshot, standins
from tests.contract.estimators import HONOURED, LOST, REFUSED
from tests.contract.recorder import RECORDER
from tests.contract.rulings import FAULTY, objections
from tests.contract.verify import Contract, faults, frozen
from tests.estimators import CASES


def names(estimators: list[Any]) -> list[str]:
    return [str(each[0] if isinstance(each, tuple) else each) for each in estimators]


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


@pytest.mark.parametrize(("estimator", "lost"), LOST, ids=names(LOST))
def test_value_that_cuml_drops_is_told(estimator: BaseEstimator, lost: list[str]) -> None:
    assert cuml_estimator.list_dropped(rule(estimator), estimator, "step") == lost
