"""What is timed for each family of algorithms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from sklearn import cluster, decomposition, ensemble, linear_model, manifold, naive_bayes, svm
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.kernel_ridge import KernelRidge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.random_projection import GaussianRandomProjection
from xgboost import XGBClassifier

from tools.calibrate import tables

WIDTHS = (8, 64, 512)
"""Columns of the tables."""


class Trial(NamedTuple):
    """A pipeline and the tables that it is timed on.

    Parameters
    ----------
    pipeline : estimator
    table : callable
        From rows and columns to X and y.
    widths : tuple of int
        Columns of the tables.
    rows : int
        Of the smallest table; each next one has four times as many.
    most : int
        Rows of the largest table.
    """

    pipeline: Any
    table: Callable[[int, int], tables.Table]
    widths: tuple[int, ...] = WIDTHS
    rows: int = 1_000
    most: int = 2**26


PREPROCESSING = make_column_transformer(
    (make_pipeline(SimpleImputer(), StandardScaler()), slice(0, None, 2)),
    (OneHotEncoder(handle_unknown="ignore"), slice(1, None, 2)),
)
"""What most tables need: imputed and scaled numbers, one-hot categories."""

TRIALS = {
    "preprocessing": Trial(PREPROCESSING, tables.mixed),
    "text": Trial(TfidfVectorizer(), tables.texts, (1,)),
    "least squares": Trial(linear_model.LinearRegression(), tables.numbers),
    "coordinate descent": Trial(linear_model.Lasso(alpha=0.1), tables.numbers),
    "logistic": Trial(linear_model.LogisticRegression(), tables.classes),
    "naive Bayes": Trial(naive_bayes.GaussianNB(), tables.classes),
    "neighbours": Trial(KNeighborsClassifier(), tables.classes),
    "support vectors": Trial(svm.SVC(), tables.classes),
    "kernel ridge": Trial(KernelRidge(kernel="rbf"), tables.numbers, most=4_000),
    "forest": Trial(ensemble.RandomForestClassifier(n_jobs=-1, random_state=0), tables.classes),
    "isolation": Trial(ensemble.IsolationForest(n_jobs=-1, random_state=0), tables.numbers),
    "boosting": Trial(XGBClassifier(), tables.classes),
    "k-means": Trial(cluster.KMeans(8, random_state=0), tables.clusters),
    "DBSCAN": Trial(cluster.DBSCAN(), tables.clusters),
    "HDBSCAN": Trial(cluster.HDBSCAN(copy=True), tables.clusters),
    "single linkage": Trial(cluster.AgglomerativeClustering(8, linkage="single"), tables.clusters),
    "decomposition": Trial(decomposition.PCA(4), tables.numbers),
    "projection": Trial(GaussianRandomProjection(4, random_state=0), tables.numbers),
    "graph": Trial(
        manifold.SpectralEmbedding(affinity="nearest_neighbors", random_state=0),
        tables.clusters,
    ),
    "map": Trial(manifold.TSNE(random_state=0), tables.clusters, rows=125),
}
"""Name of the family in ``thresholds.json`` -> what is timed."""
