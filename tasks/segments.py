"""Handwritten digits without labels: clusters, and maps that keep neighbours close."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from sklearn.cluster import DBSCAN, HDBSCAN, KMeans
from sklearn.decomposition import PCA
from sklearn.manifold import trustworthiness
from sklearn.metrics import silhouette_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler

from pipeline.optional import load
from pipeline.task.included import dataset
from pipeline.task.scoring import of_embedding, of_rows
from pipeline.task.task import Split, Task

digits = dataset("digits")


def kmeans(seed: int) -> Pipeline:
    """Ten clusters about their means, the best of ten starts."""
    return make_pipeline(MinMaxScaler(), KMeans(n_clusters=10, n_init=10, random_state=seed))


def dbscan(seed: int) -> Pipeline:
    """Dense regions in the space of the 15 main components; the rest is noise."""
    return make_pipeline(components(15, seed), DBSCAN(eps=17.0, min_samples=10))


def hdbscan(seed: int) -> Pipeline:
    """Dense regions of any density, in the space of the 15 main components."""
    return make_pipeline(
        components(15, seed), HDBSCAN(min_cluster_size=20, min_samples=3, copy=True)
    )


def plane(seed: int) -> Pipeline:
    """Plane of the two main components."""
    return make_pipeline(components(2, seed))


def umap(seed: int) -> Pipeline:
    """Map that keeps neighbours together (UMAP)."""
    return make_pipeline(components(15, seed), load("umap.UMAP")(random_state=seed))


def components(count: int, seed: int) -> PCA:
    """Return the main components."""
    return PCA(n_components=count, svd_solver="full", random_state=seed)


SPECS: dict[str, Any] = {f.__name__: f for f in (kmeans, dbscan, hdbscan, plane)}
if find_spec("umap"):  # of the package umap-learn, which is not among ours
    SPECS["umap"] = umap

TASK = Task(
    name="segments",
    title="Hand-written digits without labels: which are alike?",
    kind="clusters",
    dataset="digits",
    prepare=digits.prepare,
    features=digits.PIXELS,
    target=digits.TARGET,
    pipelines=SPECS,
    splits={"all": Split([], [], "all rows, for fitting and scoring")},
    metrics={
        "adjusted_rand": "adjusted_rand_score",
        "silhouette": of_rows(silhouette_score),
        "trustworthiness": of_embedding(trustworthiness),
    },
    margins={"adjusted_rand": 0.02, "silhouette": 0.01, "trustworthiness": 0.01},
    licence=digits.LICENCE,
    source=digits.SOURCE,
)
