"""Which cuML class stands in for which estimator: one row each.

To add an estimator that cuML translates itself, add a row to `_ROWS`; the
contract tests then hold the row to the real class.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pipeline.backends.cuml import translations
from pipeline.backends.cuml.translations import Check, Translation, whole_or_none
from pipeline.typing import Estimator


@dataclass(frozen=True)
class Rule:
    """How cuML stands in for one estimator.

    Parameters
    ----------
    twin : str, optional
        Dotted name of the cuML class. In the table it is scikit-learn's name in the package
        cuml, unless a row has another.
    sparse : bool
        It takes sparse rows.
    keeps_rows : bool
        It keeps what it learns from; where that is sparse, it takes no dense rows any more.
    weights : bool
        Its `fit` takes `sample_weight`.
    strength : tuple of str, optional
        Of what needs weights with the mean 1: the parameters that the mean goes over to.
    halved : str
        The loss whose gradient cuML halves, so that its weights need the mean 2.
    unweighted : tuple of str
        Weights that it ignores or takes for others where there are more than two classes.
    cutoff : bool
        It takes what is small for nothing, so its matrix is float64 and of a size for that.
    narrow : bool
        It learns from float32, whatever is asked for: cuML's class knows no other type, or
        scikit-learn's makes it of any rows.
    unsafe_in_float32 : bool
        It subtracts means, or solves normal equations, for which float32 may have too few digits:
        its matrix is float64, unless float32 is asked for.
    by_distance : bool
        It expands |x - y|^2 in float32, which leaves no digits of rows far off zero.
    order : {"C", "F"}
        It learns from a matrix in this order, and makes a copy of one in the other.
    targets : bool
        It takes several targets.
    two_classes : bool
        scikit-learn cannot take over its model of more classes.
    seeded : bool
        Without a `random_state` it would draw the same numbers each time.
    overwrites : bool
        It centres rows that lie column by column in place, and puts the mean back.
    only : mapping
        Parameter -> whether cuML's class takes a value that its translation lets pass.
    fixed : mapping
        Parameters of cuML's own without which it would solve another problem.
    translation : Translation, optional
        Our translation, where cuML has none.
    """

    twin: str = ""
    sparse: bool = False
    keeps_rows: bool = False
    weights: bool = False
    strength: tuple[str, ...] | None = None
    halved: str = ""
    unweighted: tuple[str, ...] = ()
    cutoff: bool = False
    narrow: bool = False
    unsafe_in_float32: bool = False
    by_distance: bool = False
    order: str = "C"
    targets: bool = False
    two_classes: bool = False
    seeded: bool = False
    overwrites: bool = False
    only: Mapping[str, Check] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    translation: Translation | None = None


_LASSO = Rule(order="F", sparse=True, weights=True, strength=(), overwrites=True)
_NEIGHBORS = Rule(narrow=True, sparse=True, keeps_rows=True, by_distance=True)

_ROWS = {
    "hdbscan.hdbscan_.HDBSCAN": Rule("cuml.cluster.HDBSCAN", narrow=True),
    "sklearn.cluster.DBSCAN": Rule(weights=True),
    # cuML's public HDBSCAN speaks for the package hdbscan, whose min_samples is one less.
    "sklearn.cluster.HDBSCAN": Rule(
        "cuml.accel._overrides.sklearn.cluster._SklearnHDBSCAN", narrow=True
    ),
    "sklearn.cluster.KMeans": Rule(weights=True),
    "sklearn.cluster.SpectralClustering": Rule(narrow=True),
    "sklearn.covariance.EmpiricalCovariance": Rule(unsafe_in_float32=True),
    "sklearn.covariance.LedoitWolf": Rule(unsafe_in_float32=True),
    "sklearn.decomposition.IncrementalPCA": Rule(
        sparse=True, overwrites=True, unsafe_in_float32=True
    ),
    "sklearn.decomposition.PCA": Rule(
        order="F",
        sparse=True,
        overwrites=True,
        unsafe_in_float32=True,
        only={"n_components": whole_or_none},
    ),
    "sklearn.decomposition.TruncatedSVD": Rule(order="F"),
    "sklearn.ensemble.IsolationForest": Rule(narrow=True, order="F"),
    "sklearn.ensemble.RandomForestClassifier": Rule(narrow=True, weights=True, seeded=True),
    "sklearn.ensemble.RandomForestRegressor": Rule(narrow=True, weights=True, seeded=True),
    "sklearn.kernel_ridge.KernelRidge": Rule(weights=True, targets=True, unsafe_in_float32=True),
    "sklearn.linear_model.ElasticNet": _LASSO,
    "sklearn.linear_model.Lasso": _LASSO,
    "sklearn.linear_model.LinearRegression": Rule(
        order="F", sparse=True, weights=True, strength=(), cutoff=True, targets=True
    ),
    "sklearn.linear_model.LogisticRegression": Rule(
        sparse=True, weights=True, strength=("C",), unweighted=("sample_weight", "class_weight")
    ),
    "sklearn.linear_model.Ridge": Rule(
        order="F", sparse=True, weights=True, targets=True, unsafe_in_float32=True
    ),
    "sklearn.manifold.SpectralEmbedding": Rule(narrow=True),
    "sklearn.manifold.TSNE": Rule(narrow=True, order="F"),
    "sklearn.naive_bayes.BernoulliNB": Rule(sparse=True, translation=translations.BERNOULLI),
    "sklearn.naive_bayes.ComplementNB": Rule(sparse=True, translation=translations.COMPLEMENT),
    "sklearn.naive_bayes.GaussianNB": Rule(weights=True, translation=translations.GAUSSIAN),
    "sklearn.naive_bayes.MultinomialNB": Rule(sparse=True, translation=translations.MULTINOMIAL),
    "sklearn.neighbors.KNeighborsClassifier": replace(_NEIGHBORS, targets=True),
    "sklearn.neighbors.KNeighborsRegressor": replace(_NEIGHBORS, targets=True),
    "sklearn.neighbors.KernelDensity": Rule(weights=True),
    "sklearn.neighbors.NearestNeighbors": _NEIGHBORS,
    "sklearn.random_projection.GaussianRandomProjection": Rule(
        sparse=True, translation=translations.GAUSSIAN_PROJECTION
    ),
    "sklearn.random_projection.SparseRandomProjection": Rule(
        sparse=True, translation=translations.SPARSE_PROJECTION
    ),
    # liblinear's penalty is on the intercept too, and always L2 in LinearSVR; cuML's own
    # translation leaves out the first and makes the second L1. Of several classes liblinear
    # weighs the one that it tells from the rest, cuML the rest too.
    "sklearn.svm.LinearSVC": Rule(
        order="F",
        weights=True,
        strength=("C",),
        halved="squared_hinge",
        unweighted=("class_weight",),
        fixed={"penalized_intercept": True},
    ),
    "sklearn.svm.LinearSVR": Rule(
        order="F",
        weights=True,
        strength=("C",),
        fixed={"penalized_intercept": True, "penalty": "l2"},
    ),
    "sklearn.svm.SVC": Rule(order="F", sparse=True, weights=True, two_classes=True),
    "sklearn.svm.SVR": Rule(order="F", sparse=True, weights=True),
    "umap.umap_.UMAP": Rule("cuml.manifold.UMAP", narrow=True, sparse=True),
}

CUML = {
    name: replace(row, twin=row.twin or name.replace("sklearn", "cuml", 1))
    for name, row in _ROWS.items()
}
"""Name of the estimator -> its row, in the order of the names."""

APART = {"hdbscan.hdbscan_.HDBSCAN": "hdbscan", "umap.umap_.UMAP": "umap-learn"}
"""Name of an estimator -> its package, where that is none of ours."""

XGBOOST = ("XGBClassifier", "XGBRFClassifier", "XGBRFRegressor", "XGBRanker", "XGBRegressor")
"""XGBoost's classes, which run on a GPU with ``device="cuda"``."""

SUBSTITUTES = {
    "AgglomerativeClustering": "HDBSCAN",
    "ElasticNetCV": "GridSearchCV around ElasticNet()",
    "DecisionTreeClassifier": "RandomForestClassifier",
    "DecisionTreeRegressor": "RandomForestRegressor",
    "ExtraTreeClassifier": "RandomForestClassifier",
    "ExtraTreesClassifier": "RandomForestClassifier",
    "ExtraTreesRegressor": "RandomForestRegressor",
    "FastICA": "PCA",
    "GradientBoostingClassifier": "XGBClassifier",
    "GradientBoostingRegressor": "XGBRegressor",
    "HistGradientBoostingClassifier": "XGBClassifier",
    "HistGradientBoostingRegressor": "XGBRegressor",
    "HuberRegressor": "LinearSVR",
    "KernelPCA": "PCA",
    "LassoCV": "GridSearchCV around Lasso()",
    "LocalOutlierFactor": "IsolationForest",
    "LogisticRegressionCV": "GridSearchCV around LogisticRegression()",
    "MLPClassifier": "XGBClassifier",
    "MLPRegressor": "XGBRegressor",
    "MiniBatchKMeans": "KMeans",
    "NMF": "TruncatedSVD",
    "OneClassSVM": "IsolationForest",
    "RidgeClassifier": "LogisticRegression",
    "SGDClassifier": "LogisticRegression or LinearSVC",
    "SGDRegressor": "Ridge or ElasticNet",
}
"""What has no faithful twin -> the nearest estimator that has a rule; never put in its place."""


def public_name(estimator: Estimator) -> str:
    """Return the name under which an estimator's exact class is imported.

    A subclass has another one: it is another algorithm.

    >>> from sklearn.linear_model import Ridge
    >>> public_name(Ridge())
    'sklearn.linear_model.Ridge'
    """
    return name_of_class(type(estimator))


def name_of_class(kind: type) -> str:
    """Return the name under which a class is imported."""
    return f"{kind.__module__.partition('._')[0]}.{kind.__name__}"


def rule(estimator: Estimator) -> Rule | None:
    """Return the row of an estimator, if there is one."""
    return CUML.get(public_name(estimator))
