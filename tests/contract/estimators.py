"""Parameter values that cuML takes, refuses, or drops, by its own translation."""

from __future__ import annotations

from sklearn import cluster, decomposition, linear_model, manifold, neighbors, svm
from sklearn.ensemble import IsolationForest, RandomForestClassifier, RandomForestRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression

from pipeline.backends.gpu_rules import CUML

LEARNING = ("fit", "fit_predict", "fit_transform", "partial_fit")
ASKING = (
    "decision_function",
    "kneighbors",
    "predict",
    "predict_log_proba",
    "predict_proba",
    "radius_neighbors_graph",
    "score",
    "score_samples",
    "transform",
)
"""The methods of cuML's estimators that our rules use."""

REFUSED = [
    (cluster.DBSCAN(metric="manhattan"), "metric='manhattan'"),
    (cluster.DBSCAN(algorithm="kd_tree"), "algorithm='kd_tree'"),
    (cluster.HDBSCAN(metric="cosine"), "metric='cosine'"),
    (cluster.HDBSCAN(min_cluster_size=2000), "min_samples=None"),
    (cluster.KMeans(init=len), "init=<built-in function len>"),
    (cluster.SpectralClustering(), "affinity='rbf'"),
    (decomposition.PCA(n_components="mle"), "n_components='mle'"),
    (decomposition.PCA(n_components=0), "n_components=0"),
    (IsolationForest(warm_start=True), "warm_start=True"),
    (KernelRidge(kernel=len), "callable kernels"),
    (linear_model.ElasticNet(positive=True), "positive=True"),
    (linear_model.Lasso(precompute=True), "`precompute`"),
    (linear_model.LinearRegression(positive=True), "positive=True"),
    (linear_model.Ridge(positive=True), "positive=True"),
    (LogisticRegression(warm_start=True), "warm_start=True"),
    (manifold.SpectralEmbedding(affinity="rbf"), "affinity='rbf'"),
    (manifold.TSNE(n_components=3), "`n_components=2`"),
    (neighbors.KNeighborsClassifier(metric="hamming"), "metric='hamming'"),
    (neighbors.KNeighborsRegressor(metric="precomputed"), "metric='precomputed'"),
    (neighbors.KernelDensity(metric="haversine"), "metric='haversine'"),
    (neighbors.NearestNeighbors(metric="jaccard"), "metric='jaccard'"),
    (RandomForestClassifier(warm_start=True), "warm_start=True"),
    (RandomForestClassifier(max_samples=50), "`int` values for `max_samples`"),
    (RandomForestRegressor(criterion="absolute_error"), "criterion='absolute_error'"),
    (svm.LinearSVC(multi_class="crammer_singer"), "multi_class=crammer_singer"),
    (svm.LinearSVR(intercept_scaling=2.0), "intercept_scaling=2.0"),
    (svm.SVC(probability=True), "probability=True"),
    (svm.SVR(kernel=len), "callable kernel"),
]
LOST = [
    (cluster.KMeans(algorithm="elkan"), ["algorithm='elkan'"]),
    (decomposition.PCA(random_state=0), ["random_state=0"]),
    (linear_model.LinearRegression(tol=1e-4, n_jobs=2), ["n_jobs=2"]),
    (linear_model.Ridge(solver="sag", alpha=0.5), ["solver='sag'"]),
    (LogisticRegression(solver="saga", random_state=0), ["random_state=0", "solver='saga'"]),
    (neighbors.KNeighborsRegressor(leaf_size=10), ["leaf_size=10"]),
    (RandomForestClassifier(n_jobs=2, verbose=1, max_depth=3), ["n_jobs=2", "verbose=1"]),
    (svm.SVC(shrinking=False), ["shrinking=False"]),
]
TWINS = sorted({row.twin for row in CUML.values()})
"""The cuML classes of all rules."""
