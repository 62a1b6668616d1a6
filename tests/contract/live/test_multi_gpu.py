"""What `backends.cuml.multi_gpu` says of cuml.dask, against the package; no kernel runs."""

from __future__ import annotations

import inspect
import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression, Ridge

import pipeline
from pipeline.backends.cuml import estimator as cuml_estimator
from pipeline.backends.cuml import multi_gpu
from pipeline.backends.cuml.multi_gpu import MULTI_GPU
from pipeline.backends.cuml.tables import CUML, public_name, rule
from pipeline.backends.xgboost import distributed
from pipeline.optional import load
from tests.contract.live import cuml_on_numpy
from tests.contract.live.sources import of_class
from tests.estimators import CASES, Case, named

pytestmark = pytest.mark.filterwarnings("ignore")

MANY = {
    "sklearn.cluster.KMeans": "cuml.cluster.kmeans_mg.KMeansMG",
    "sklearn.decomposition.PCA": "cuml.decomposition.pca_mg.PCAMG",
    "sklearn.decomposition.TruncatedSVD": "cuml.decomposition.tsvd_mg.TSVDMG",
    "sklearn.linear_model.LogisticRegression": (
        "cuml.linear_model.logistic_regression_mg.LogisticRegressionMG"
    ),
    "sklearn.linear_model.Ridge": "cuml.linear_model.ridge_mg.RidgeMG",
}
"""Name of the estimator -> the class that each worker makes; the others make cuML's own."""

TRAINED_TOGETHER = [case for case in CASES if public_name(case.estimator) in MULTI_GPU]


def learners() -> list[Any]:
    """Return one estimator of each class, with the parameters that it has by default."""
    return [clone(kind()) for kind in {type(case.estimator): None for case in TRAINED_TOGETHER}]


def table() -> Any:
    return load("dask.array.from_array")(np.zeros((8, 4), "float32"), chunks=(4, 4))


@pytest.mark.parametrize("name", MULTI_GPU)
def test_the_class_takes_the_client_and_what_we_hand_to_fit(name: str) -> None:
    row = MULTI_GPU[name]
    kind = load(row.path)
    takes = {each for base in kind.__mro__ for each in names(base.__init__)}
    assert "client" in takes
    given = ["X", "y"] if row.y else ["X"]
    inspect.signature(kind.fit).bind(None, *given)
    assert callable(kind.get_combined_model)


def names(function: Any) -> set[str]:
    try:
        return set(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return set()


@pytest.mark.parametrize("estimator", learners(), ids=lambda estimator: type(estimator).__name__)
def test_an_estimator_as_it_comes_is_spread(estimator: Any) -> None:
    taken = cuml_estimator.translate(rule(estimator), estimator, "step")
    y = np.arange(8) % 2
    assert multi_gpu.find_unsupported_reasons(estimator, taken, (table(), y), {}) == []


@pytest.mark.parametrize("name", MULTI_GPU)
def test_cumls_class_for_one_gpu_has_every_parameter_of_the_table(name: str) -> None:
    known = load(CUML[name].twin)._get_param_names()
    assert MULTI_GPU[name].supported_params
    assert set(MULTI_GPU[name].supported_params) - set(known) == set()


@pytest.mark.parametrize("name", MANY)
def test_the_workers_take_the_keywords_and_no_others(name: str) -> None:
    estimator = next(estimator for estimator in learners() if public_name(estimator) == name)
    taken = cuml_estimator.translate(rule(estimator), estimator, "step")
    made = load(MANY[name])(handle=None, **taken)
    assert isinstance(made, load(CUML[name].twin))
    assert taken.items() <= made.get_params().items()
    with pytest.raises(TypeError, match="colour"):
        load(MANY[name])(handle=None, colour=1, **taken)


def test_each_worker_learns_from_its_rows_with_their_targets_in_order() -> None:
    create = load("cuml.dask.common.input_utils.DistributedDataHandler").create
    X = np.arange(80, dtype="float32").reshape(40, 2)
    parts = load("dask.array.from_array")(X, chunks=(10, 2))
    with pipeline.cluster("local", workers=2) as cluster:
        _, (rows, y) = distributed.place_rows(cluster, parts, [X[:, 0]])
        beside = multi_gpu._upload(y, rows)
        found = create((rows, beside), client=cluster.client)
        assert set(found.worker_to_parts) == set(cluster.workers())
        for (_, future), start in zip(found.gpu_futures, range(0, 40, 10), strict=True):
            own, targets = future.result()
            assert own.tolist() == X[start : start + 10].tolist()
            assert targets.tolist() == own[:, 0].tolist()
        assert [worker for worker, _ in found.gpu_futures] == np.repeat(
            [*cluster.workers()], 2
        ).tolist()
        alone = create(rows, client=cluster.client)
        assert sorted(found.workers) == sorted(alone.workers)


def test_what_we_supply_is_what_is_not_there() -> None:
    assert not hasattr(load("cuml.dask.linear_model.LogisticRegression"), "predict_proba")
    assert "n_samples_" not in set_by("sklearn.decomposition.PCA")
    assert "n_iter_" not in set_by("sklearn.linear_model.Ridge")


def set_by(name: str) -> set[str]:
    """Return the fitted attributes that the source of a worker's class sets."""
    found: set[str] = set()
    for base in load(MANY[name]).__mro__:
        if "_mg" in base.__module__:
            found |= set(re.findall(r"self\.(\w+_) =", of_class(base)))
    return found


def learnt(case: Case, X: np.ndarray, y: Any) -> tuple[Any, Any]:
    """Return what scikit-learn learns, and a worker's model with what its class would set of it."""
    name = public_name(case.estimator)
    fitted = clone(case.estimator).fit(X, y)
    full = load(CUML[name].twin).from_sklearn(fitted)
    made = load(MANY[name])(
        handle=None, **cuml_estimator.translate(rule(case.estimator), case.estimator, "step")
    )
    made.output_type = None
    made.n_features_in_ = full.n_features_in_
    vars(made).update({key: vars(full)[key] for key in set_by(name) & set(vars(full))})
    return fitted, made


LIFTED = [
    case for case in TRAINED_TOGETHER if type(case.estimator) in (LogisticRegression, PCA, Ridge)
]


@pytest.mark.parametrize("case", LIFTED, ids=named)
def test_a_workers_model_comes_to_scikit_learn(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    for estimator in learners():
        load(rule(estimator).twin)
    for path in MANY.values():
        load(path)
    cuml_on_numpy.install(monkeypatch)
    X, y = case.data()
    fitted, made = learnt(case, X, y)
    classes = getattr(fitted, "classes_", None)
    if classes is not None:
        made.classes_ = classes
    elif complete := MULTI_GPU[public_name(case.estimator)].complete:
        complete(made, None, SimpleNamespace(shape=np.shape(X)))
    lifted = made.as_sklearn().set_params(**case.estimator.get_params(deep=False))
    assert case.compare(lifted, fitted, X, y) == pytest.approx(0, abs=1e-6)


def test_without_what_we_supply_it_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    cuml_on_numpy.install(monkeypatch)
    for kind in (PCA, Ridge):
        case = next(case for case in LIFTED if type(case.estimator) is kind)
        _, made = learnt(case, *case.data())
        with pytest.raises(AttributeError, match="n_samples_|n_iter_"):
            made.as_sklearn()
