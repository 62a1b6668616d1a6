"""Parameter values that cuML takes, refuses, or drops, by its own translation."""

from __future__ import annotations

from sklearn import cluster, decomposition, linear_model, manifold, neighbors, svm
from sklearn.ensemble import IsolationForest, RandomForestClassifier, RandomForestRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression

from pipeline.backends.cuml.tables import CUML

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

HONOURED = [
    cluster.DBSCAN(min_samples=3),
    cluster.HDBSCAN(min_samples=4),
    cluster.KMeans(init="random"),
    cluster.KMeans(tol=0.5),
    decomposition.PCA(whiten=True),
    decomposition.TruncatedSVD(n_components=3),
    IsolationForest(contamination=0.25),
    KernelRidge(gamma=0.5),
    linear_model.ElasticNet(l1_ratio=0.25),
    linear_model.Lasso(selection="random"),
    linear_model.LinearRegression(fit_intercept=False),
    linear_model.Ridge(alpha=0.5),
    LogisticRegression(C=0.5),
    LogisticRegression(tol=1e-3),
    LogisticRegression(tol=1e-6, max_iter=1000),
    LogisticRegression(fit_intercept=False),
    LogisticRegression(class_weight="balanced"),
    LogisticRegression(l1_ratio=0.5),
    manifold.TSNE(perplexity=10.0),
    neighbors.KNeighborsClassifier(weights="distance"),
    neighbors.KNeighborsRegressor(n_neighbors=3),
    neighbors.KernelDensity(kernel="tophat"),
    neighbors.NearestNeighbors(radius=2.0),
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
    RandomForestClassifier(class_weight={0: 9, 1: 0.5}, bootstrap=False, random_state=0),
    RandomForestClassifier(max_samples=0.5),
    RandomForestRegressor(criterion="poisson"),
    RandomForestRegressor(bootstrap=False, random_state=0),
    svm.LinearSVC(penalty="l1"),
    svm.LinearSVR(loss="squared_epsilon_insensitive"),
    svm.SVC(kernel="linear"),
    svm.SVR(epsilon=0.5),
]
REFUSED = [
    (cluster.DBSCAN(metric="manhattan"), "metric='manhattan'"),
    (cluster.DBSCAN(algorithm="kd_tree"), "algorithm='kd_tree'"),
    (cluster.HDBSCAN(metric="cosine"), "metric='cosine'"),
    (cluster.HDBSCAN(min_cluster_size=2000), "min_samples=None"),
    (cluster.HDBSCAN(store_centers="both"), "store_centers='both'"),
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
    (LogisticRegression(intercept_scaling=2.0), "intercept_scaling=2.0"),
    (manifold.SpectralEmbedding(affinity="rbf"), "affinity='rbf'"),
    (manifold.TSNE(n_components=3), "`n_components=2`"),
    (neighbors.KNeighborsClassifier(metric="hamming"), "metric='hamming'"),
    (neighbors.KNeighborsClassifier(weights=len), "Callable weights"),
    (neighbors.KNeighborsRegressor(metric="precomputed"), "metric='precomputed'"),
    (neighbors.KernelDensity(metric="haversine"), "metric='haversine'"),
    (neighbors.NearestNeighbors(metric="jaccard"), "metric='jaccard'"),
    (RandomForestClassifier(warm_start=True), "warm_start=True"),
    (RandomForestClassifier(ccp_alpha=0.1), "ccp_alpha=0.1"),
    (RandomForestClassifier(max_samples=50), "`int` values for `max_samples`"),
    (RandomForestClassifier(criterion="log_loss"), "criterion='log_loss'"),
    (RandomForestRegressor(criterion="absolute_error"), "criterion='absolute_error'"),
    (svm.LinearSVC(multi_class="crammer_singer"), "multi_class=crammer_singer"),
    (svm.LinearSVR(intercept_scaling=2.0), "intercept_scaling=2.0"),
    (svm.SVC(probability=True), "probability=True"),
    (svm.SVC(kernel=len), "callable kernel"),
    (svm.SVR(kernel=len), "callable kernel"),
]
LOST = [
    (cluster.KMeans(algorithm="elkan"), ["algorithm='elkan'"]),
    (decomposition.PCA(random_state=0), ["random_state=0"]),
    (linear_model.LinearRegression(tol=1e-4, n_jobs=2), ["n_jobs=2"]),
    (linear_model.Ridge(solver="sag", alpha=0.5), ["solver='sag'"]),
    (LogisticRegression(solver="saga", random_state=0), ["random_state=0", "solver='saga'"]),
    (LogisticRegression(n_jobs=2, C=0.5), ["n_jobs=2"]),
    (
        LogisticRegression(solver="saga", random_state=0, C=0.5),
        ["random_state=0", "solver='saga'"],
    ),
    (neighbors.KNeighborsRegressor(leaf_size=10), ["leaf_size=10"]),
    (RandomForestClassifier(n_jobs=2, verbose=1, max_depth=3), ["n_jobs=2", "verbose=1"]),
    (svm.SVC(shrinking=False), ["shrinking=False"]),
]


TWINS = sorted({row.twin for row in CUML.values()})
"""The cuML classes of all rules."""
