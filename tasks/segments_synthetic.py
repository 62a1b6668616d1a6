"""Generated clusters that overlap, in any number of rows.

There are no gaps between them, so density-based methods, as in the task `segments`, do not
separate them.
"""

from __future__ import annotations

from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.manifold import trustworthiness
from sklearn.metrics import silhouette_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from pipeline.task.included import dataset
from pipeline.task.scoring import of_embedding, of_rows
from pipeline.task.task import Split, Task

synthetic = dataset("synthetic")
tables = dataset("synthetic.tables")
NUMBERS = ["number_0", "number_2", "number_3", "number_6", "number_9"]
"""The columns in which rows of a cluster are alike."""


def kmeans(seed: int) -> Pipeline:
    """Eight clusters about their means, the best of ten starts."""
    return make_pipeline(filled(), KMeans(n_clusters=8, n_init=10, random_state=seed))


def plane(seed: int) -> Pipeline:
    """Plane of the two main components."""
    return make_pipeline(filled(), PCA(n_components=2, svd_solver="full", random_state=seed))


def filled() -> Pipeline:
    """Return scaled numbers without missing values."""
    return make_pipeline(SimpleImputer(), StandardScaler())


TASK = Task(
    name="segments_synthetic",
    title="Generated clusters that overlap; the best attainable adjusted Rand index is 0.5331",
    kind="clusters",
    dataset="synthetic",
    prepare=tables.clusters,
    features=NUMBERS,
    target=synthetic.TARGET,
    pipelines={"kmeans": kmeans, "plane": plane},
    splits={"all": Split([], [], "all rows, for fitting and scoring")},
    metrics={
        "adjusted_rand": "adjusted_rand_score",
        "silhouette": of_rows(silhouette_score),
        "trustworthiness": of_embedding(trustworthiness),
    },
    margins={"adjusted_rand": 0.02, "silhouette": 0.02, "trustworthiness": 0.01},
    licence=synthetic.LICENCE,
    source=synthetic.SOURCE,
)
