from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import adjusted_rand_score

import pipeline
from pipeline import Accelerated
from pipeline.backends.cuml.multi_gpu import MULTI_GPU
from pipeline.backends.gpu_rules import public_name
from pipeline.optional import load
from pipeline.system import devices
from tests.estimators import CASES, Case, binary, named

ONE = bool(devices.obstacle()) or len(devices.gpu.probe().devices) < 2
SHARED = [case for case in CASES if public_name(case.estimator) in MULTI_GPU]


def sum_on_the_gpu() -> int:
    import cupy

    return int(cupy.arange(4).sum())


def test_a_gpu_worker_runs_on_its_gpu() -> None:
    with pipeline.cluster("cuda", workers=1) as cluster:
        assert cluster.client.submit(sum_on_the_gpu).result() == 6


@pytest.fixture(scope="module")
def two() -> Iterator[None]:
    if ONE:
        pytest.skip("needs two GPUs")
    with pipeline.cluster("cuda", workers=2):
        yield


def fitted(estimator: Any, X: np.ndarray, y: Any, **params: Any) -> tuple[Any, str]:
    """Return a model of four partitions on the workers' GPUs, and where it was trained."""
    cupy = load("cupy")
    rows = load("dask.array.from_array")(X, chunks=(100, X.shape[1]))
    rows = rows.map_blocks(cupy.asarray, dtype=X.dtype, meta=cupy.empty((0, 0), X.dtype))
    model = Accelerated(clone(estimator), device="cuda").fit(rows, y, **params)
    return model, model.plan_.placements[0].note


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize("case", SHARED, ids=named)
def test_two_gpus_come_as_near_to_the_reference_as_one(case: Case) -> None:
    X, y = case.data()
    reference = clone(case.estimator).fit(X, y)
    model, said = fitted(case.estimator, X, y)
    assert f"all GPUs of the cluster ({MULTI_GPU[public_name(case.estimator)].path})" in said
    lifted: Any = model.to_sklearn()
    if hasattr(reference, "labels_"):
        assert adjusted_rand_score(reference.labels_, lifted.labels_) == 1
        assert lifted.inertia_ == pytest.approx(reference.inertia_, rel=1e-3)
    else:
        assert case.compare(lifted, reference, X, y) <= case.tolerance


@pytest.mark.usefixtures("two")
def test_labels_of_text_come_back_and_weights_are_gathered_to_one_gpu() -> None:
    X, y = binary()
    words = np.array(["late", "early"], dtype=object)[y]
    model, _ = fitted(LogisticRegression(), X, words)
    assert list(model.classes_) == ["early", "late"]
    wanted = LogisticRegression().fit(X, words).predict_proba(X)
    assert np.abs(np.asarray(model.predict_proba(X)) - wanted).max() < 0.02
    _, said = fitted(LogisticRegression(), X, y, sample_weight=np.ones(len(X)))
    assert "gathered to one process" in said
