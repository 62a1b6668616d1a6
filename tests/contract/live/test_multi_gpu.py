"""What `backends.cuml.multi_gpu` says of cuml.dask, against the package; no kernel runs."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression, Ridge

import pipeline
from pipeline.backends.cuml import cuml_model as cuml_estimator
from pipeline.backends.cuml import multi_gpu
from pipeline.backends.cuml.multi_gpu import MULTI_GPU
from pipeline.backends.gpu_rules import CUML, public_name, rule
from pipeline.backends.xgboost import distributed
from pipeline.optional import load
from tests.contract.live import cuml_on_numpy
from tests.contract.live.sources import of_class
from tests.estimators import CASES, Case, named

pytestmark = pytest.mark.filterwarnings("ignore")

MANY = {
    "sklearn.cluster.KMeans": "cluster.kmeans_mg.KMeansMG",
    "sklearn.decomposition.PCA": "decomposition.pca_mg.PCAMG",
    "sklearn.decomposition.TruncatedSVD": "decomposition.tsvd_mg.TSVDMG",
    "sklearn.linear_model.LinearRegression": "linear_model.linear_regression_mg.LinearRegressionMG",
    "sklearn.linear_model.LogisticRegression": (
        "linear_model.logistic_regression_mg.LogisticRegressionMG"
    ),
    "sklearn.linear_model.Ridge": "linear_model.ridge_mg.RidgeMG",
}
"""Name of the estimator -> the class of cuML that each worker makes, where it is another one."""
TRAINED_TOGETHER = [case for case in CASES if public_name(case.estimator) in MULTI_GPU]
LEARNERS = [kind() for kind in {type(case.estimator): None for case in TRAINED_TOGETHER}]
LIFTED = [
    case for case in TRAINED_TOGETHER if type(case.estimator) in (LogisticRegression, PCA, Ridge)
]


def of_worker(estimator: Any) -> Any:
    """Return the class that a worker makes of an estimator."""
    return load(f"cuml.{MANY[public_name(estimator)]}")


@pytest.mark.parametrize("estimator", LEARNERS, ids=lambda estimator: type(estimator).__name__)
def test_an_estimator_is_spread_with_the_keywords_that_the_workers_take(estimator: Any) -> None:
    taken = cuml_estimator.translate(rule(estimator), estimator, "step")
    rows = load("dask.array.from_array")(np.zeros((8, 4), "float32"), chunks=(4, 4))
    y = np.arange(8) % 2
    assert multi_gpu.find_unsupported_reasons(estimator, taken, (rows, y), {}) == []
    assert callable(load(MULTI_GPU[public_name(estimator)].path).get_combined_model)
    if public_name(estimator) in MANY:
        made = of_worker(estimator)(handle=None, **taken)
        assert isinstance(made, load(CUML[public_name(estimator)].twin))
        assert taken.items() <= made.get_params().items()
        with pytest.raises(TypeError, match="colour"):
            of_worker(estimator)(handle=None, colour=1, **taken)


def test_each_worker_learns_from_its_rows_with_their_targets_in_order() -> None:
    create = load("cuml.dask.common.input_utils.DistributedDataHandler").create
    X = np.arange(80, dtype="float32").reshape(40, 2)
    parts = load("dask.array.from_array")(X, chunks=(10, 2))
    with pipeline.cluster("local", workers=2) as cluster:
        _, (rows, y) = distributed.place_rows(cluster, parts, [X[:, 0]])
        found = create((rows, multi_gpu._upload(y, rows)), client=cluster.client)
        assert set(found.worker_to_parts) == set(cluster.workers())
        for (_, future), start in zip(found.gpu_futures, range(0, 40, 10), strict=True):
            own, targets = future.result()
            assert own.tolist() == X[start : start + 10].tolist()
            assert targets.tolist() == own[:, 0].tolist()


def test_what_we_supply_is_what_is_not_there() -> None:
    assert not hasattr(load("cuml.dask.linear_model.LogisticRegression"), "predict_proba")
    assert not hasattr(load("cuml.dask.naive_bayes.MultinomialNB"), "predict_proba")
    assert "n_samples_" not in set_by(PCA())
    assert "n_iter_" not in set_by(Ridge())


def set_by(estimator: Any) -> set[str]:
    """Return the fitted attributes that the source of a worker's class sets."""
    bases = [base for base in of_worker(estimator).__mro__ if "_mg" in base.__module__]
    return {name for base in bases for name in re.findall(r"self\.(\w+_) =", of_class(base))}


@pytest.mark.parametrize("case", LIFTED, ids=named)
def test_a_workers_model_comes_to_scikit_learn(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    for estimator in LEARNERS:
        load(rule(estimator).twin)
    worker = of_worker(case.estimator)
    cuml_on_numpy.install(monkeypatch)
    X, y = case.data()
    name, fitted = public_name(case.estimator), clone(case.estimator).fit(X, y)
    full = load(CUML[name].twin).from_sklearn(fitted)
    made = worker(
        handle=None, **cuml_estimator.translate(rule(case.estimator), case.estimator, "step")
    )
    made.output_type, made.n_features_in_ = None, full.n_features_in_
    learnt = set_by(case.estimator) & set(vars(full))
    vars(made).update({key: vars(full)[key] for key in learnt})
    if hasattr(fitted, "classes_"):
        made.classes_ = fitted.classes_
    rows = SimpleNamespace(shape=np.shape(X))
    lacking = {each: multi_gpu.LACKING[each](made, None, rows) for each in MULTI_GPU[name].lacks}
    vars(made).update(lacking)
    lifted = made.as_sklearn().set_params(**case.estimator.get_params(deep=False))
    assert case.compare(lifted, fitted, X, y) == pytest.approx(0, abs=1e-6)
