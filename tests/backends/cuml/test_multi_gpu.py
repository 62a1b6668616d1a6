"""What learns on several GPUs, with workers on this machine's cores in their place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.linear_model import Lasso, LogisticRegression, Ridge

from pipeline.backends.base import Placement
from pipeline.backends.cuml import multi_gpu
from pipeline.backends.cuml.cuml_model import Cuml
from pipeline.backends.cuml.multi_gpu import MULTI_GPU
from pipeline.backends.gpu_rules import Rule
from pipeline.compile.plan import Step
from pipeline.distributed.cluster import active
from pipeline.errors import DataError
from tests.backends import fakes
from tests.clusters import in_process

pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:distributed")

ROWS = 90
LOGISTIC = "sklearn.linear_model.LogisticRegression"


@pytest.fixture(scope="module")
def workers() -> Iterator[Any]:
    with in_process(2):
        yield active()


@pytest.fixture
def together(workers: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Take the two workers for GPUs, and classes of ours for those of cuML."""
    monkeypatch.setattr(multi_gpu, "count_gpus", lambda cluster: 2)
    monkeypatch.setattr(multi_gpu, "available", lambda package: True)
    for name, twin in fakes.TOGETHER.items():
        monkeypatch.setitem(
            MULTI_GPU, name, replace(MULTI_GPU[name], path=f"{fakes.__name__}.{twin}")
        )
    return workers


def numbers() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(ROWS, 3)).astype("float32")


def classes(X: np.ndarray) -> np.ndarray:
    return np.where(X[:, 0] > 0, "late", "early").astype(object)


def parted(X: np.ndarray) -> Any:
    return da.from_array(X, chunks=(20, X.shape[1]))


def step(estimator: Any, twin: str = "CumlLogistic", **rule: Any) -> Step:
    model = Cuml(estimator, Rule(0, twin=f"{fakes.__name__}.{twin}", **rule), "model")
    return Step("model", model, "cpu", [Placement("model", "x", "cpu")])


def note(made: Step) -> str:
    (place,) = made.placements
    return place.note


@pytest.mark.usefixtures("together")
def test_all_workers_train_one_model_of_all_rows() -> None:
    X = numbers()
    y = classes(X)
    made = step(LogisticRegression(C=0.5))
    made.learn("fit", parted(X), y)
    wanted = LogisticRegression(C=0.5).fit(X, y)
    by = "all GPUs of the cluster (tests.backends.fakes.TogetherLogistic)"
    assert f"trained by {by}" in note(made)
    assert len(made.worker.native.trained_on) == 2
    assert made.worker.native.predict(X).tolist() == wanted.predict(X).tolist()
    assert made.worker.text_labels
    found = made.worker.call("predict_proba", parted(X))
    np.testing.assert_allclose(found, wanted.predict_proba(X), atol=1e-3)


@pytest.mark.usefixtures("together")
def test_weights_are_gathered_and_that_is_said() -> None:
    X = numbers()
    made = step(LogisticRegression())
    with pytest.raises(Exception, match="does not support sample_weight"):
        made.learn("fit", parted(X), classes(X), sample_weight=np.ones(ROWS))
    assert "gathered to one process" in note(made)
    assert (
        "the fit of tests.backends.fakes.TogetherLogistic does not support sample_weight"
        in note(made)
    )


@pytest.mark.usefixtures("together")
def test_missing_values_and_a_target_of_another_length_are_refused() -> None:
    X = numbers()
    X[-1, 0] = np.nan
    with pytest.raises(DataError, match="^model: cuML does not support missing"):
        step(LogisticRegression()).learn("fit", parted(X), (X[:, 1] > 0).astype(int))
    with pytest.raises(DataError, match="y has 4 values, but X has 90 rows"):
        step(LogisticRegression()).learn("fit", parted(numbers()), np.array([0, 1, 0, 1]))


@pytest.mark.usefixtures("together")
def test_clusters_have_labels_inertia_and_distances_of_all_rows_in_order() -> None:
    X = numbers()
    made = step(KMeans(n_clusters=3), "CumlClusters")
    labels = made.learn("fit_predict", parted(X), None)
    model = made.worker.native
    distances = np.sqrt(((X[:, None] - model.cluster_centers_) ** 2).sum(axis=2))
    assert labels.tolist() == distances.argmin(axis=1).tolist()
    assert model.inertia_ == pytest.approx((distances.min(axis=1) ** 2).sum(), rel=1e-4)
    rows = made.learn("fit_transform", parted(X), None)
    assert rows.chunks == ((20, 20, 20, 20, 10), (3,))
    np.testing.assert_allclose(rows.compute(), distances, rtol=1e-4)


TABLE = parted(numbers()) if da else None
TWO = np.arange(ROWS) % 2


@pytest.mark.parametrize(
    ("estimator", "taken", "X", "y", "why"),
    [
        (LogisticRegression(), {"class_weight": "balanced"}, TABLE, TWO, "class_weight='balanced'"),
        (LogisticRegression(), {"colour": 1}, TABLE, TWO, "does not support colour=1"),
        (KMeans(), {"init": np.zeros((8, 3))}, TABLE, None, "does not support init="),
        (KMeans(), {"n_init": 10}, TABLE, None, "does not support n_init=10"),
        (PCA(), {"n_components": 0.5}, TABLE, None, "does not support n_components=0.5"),
        (PCA(), {"n_components": True}, TABLE, None, "does not support n_components=True"),
        (PCA(), {"n_components": 4}, TABLE, None, "does not support 3 column"),
        (Ridge(), {"alpha": [1.0, 2.0]}, TABLE, TWO, "does not support alpha="),
        (Ridge(), {}, TABLE[:, :1], TWO, "does not support 1 column"),
        (Ridge(), {}, TABLE, np.zeros((ROWS, 2)), "supports one target"),
        (LogisticRegression(), {}, TABLE, np.zeros(ROWS), "needs two classes"),
        (KMeans(), {}, TABLE.astype("int64"), None, "a dense matrix of floats"),
        (KMeans(), {}, TABLE.rechunk((ROWS, 3)), None, "X has only one partition"),
        (Lasso(), {}, TABLE, TWO, "has no Lasso that trains one model"),
    ],
)
def test_what_the_classes_for_several_gpus_do_not_do_is_found(
    monkeypatch: pytest.MonkeyPatch, estimator: Any, taken: dict[str, Any], X: Any, y: Any, why: str
) -> None:
    monkeypatch.setattr(multi_gpu, "available", lambda package: True)
    (found,) = multi_gpu.find_unsupported_reasons(estimator, taken, (X, y), {})
    assert why in found


@pytest.mark.parametrize(
    ("devices", "wanted"),
    [
        ({"a": "GPU-0", "b": "GPU-1"}, 2),
        ({"a": "GPU-0", "b": "GPU-0"}, 0),
        ({"a": "GPU-0"}, 0),
        ({}, 0),
    ],
)
def test_workers_count_as_gpus_if_each_has_its_own(devices: dict[str, str], wanted: int) -> None:
    client = SimpleNamespace(sync=lambda function, cluster: devices)
    cluster: Any = SimpleNamespace(client=client, workers=lambda: {"a": {}, "b": {}})
    assert multi_gpu.count_gpus(cluster) == wanted
