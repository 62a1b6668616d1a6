"""Which estimators run on a GPU, and how: one row each.

To add one that cuML translates itself, or that scikit-learn's own code runs on CuPy, add a row to
`_ROWS`; the contract tests then hold the row to the real class.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, Literal

from pipeline.backends.cuml.translations import (
    BERNOULLI,
    COMPLEMENT,
    GAUSSIAN,
    GAUSSIAN_PROJECTION,
    MULTINOMIAL,
    SPARSE_PROJECTION,
    Check,
    Translation,
    one_of,
    scalar,
    whole,
    whole_or_none,
)
from pipeline.typing import Estimator

TEXTS = 13_000
LEAST_SQUARES = 34_000_000
NEVER = inf  # Small batches; coordinate descent, over 100 s for 5,000 columns on a GPU.
QUASI_NEWTON = 30_000_000
NAIVE_BAYES = 49_000_000
NEIGHBORS = 2_100_000
KERNELS = 260_000
FORESTS = 250_000
BOOSTING = 11_000_000
CLUSTERS = 7_100_000
COMPONENTS = 210_000_000
PROJECTIONS = 5_200_000_000
MAPS = 20_000
PREPROCESSING = 14_000_000  # what runs on blocks
"""The cells (rows × columns; of a vectorizer, texts) for which a CPU takes a second.

`docs/results/gpu-proof/sizes-found.json` has them of 16 cores, as measured or extrapolated, and at
the largest size measured a GPU was faster. Those of forests, projections and what runs on blocks
are of two cores, and were not compared with a GPU.
"""


@dataclass(frozen=True)
class MultiGpuClass:
    """How a class of cuml.dask stands in for the one that learns on one GPU.

    Its constructors swallow keywords that they do not know, so those it takes are here.
    """

    supported_params: Mapping[str, Check]
    """Parameter of cuML's class -> whether a value means the same there."""
    path: str = ""
    """Dotted name of the class; in the table that of cuML's class, in the package cuml.dask."""
    y: Literal["", "values", "codes", "numbers"] = ""
    """What its `fit` takes as y: nothing, values of the table's type, classes as integers from 0
    on, or these as numbers of the table's type."""
    columns: int = 1
    """The least number of columns that it learns from."""
    lacks: tuple[str, ...] = ()
    """Attributes that the combined model lacks. Classes are none: they are sent as their numbers,
    and named afterwards."""


def _any(names: str) -> dict[str, Check]:
    return dict.fromkeys(names.split(), lambda value: True)


_TREES: dict[str, Check] = {
    **_any(
        "n_estimators split_criterion max_depth min_samples_split min_samples_leaf max_features "
        "max_leaves max_samples min_impurity_decrease bootstrap"
    ),
    "random_state": whole_or_none,
    # Out-of-bag predictions would be those of one GPU's rows.
    "oob_score": one_of(False),
}

Tag = Literal["sparse", "weights", "targets", "keeps_rows", "overwrites", "seeded", "two_classes"]


@dataclass(frozen=True)
class Rule:
    """How an estimator runs on a GPU."""

    min_size: float
    """The fewest cells (rows × columns; of a vectorizer, texts) that are worth a GPU."""
    tags: tuple[Tag, ...] = ()
    """What it takes: "sparse" rows, "weights" of rows in its `fit`, several "targets".
    "keeps_rows": it predicts by distances to its training rows. Where that is sparse, it takes no
    dense rows any more; else it expands |x - y|^2 in float32, which leaves no digits of rows far
    off zero. "overwrites": it centres rows that lie column by column in place, and puts the mean
    back. "seeded": without a `random_state` it would draw the same numbers each time.
    "two_classes": scikit-learn cannot take over its model of more."""
    runner: Literal["cuml", "text", "cupy", "xgboost"] = "cuml"
    """cuML's class, or its vectorizer, stands in; scikit-learn's own code runs on CuPy, as it
    follows the array API standard; or XGBoost's does with ``device="cuda"``."""
    twin: str = ""
    """Dotted name of the cuML class. In the table it is scikit-learn's name in the package cuml,
    unless a row has another."""
    values: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """On CuPy: parameter -> the values with which it stays on the device."""
    strength: tuple[str, ...] | None = None
    """Of what needs weights with the mean 1: the parameters that the mean goes over to."""
    halved: str = ""
    """The loss whose gradient cuML halves, so that its weights need the mean 2."""
    unweighted: tuple[str, ...] = ()
    """Weights that it ignores or takes for others where there are more than two classes."""
    dtype: Literal["", "float32", "float64", "scaled"] = ""
    """The type that it learns from, where that is not any that is asked for. "float32": cuML's
    class knows no other type, or scikit-learn's converts any rows to it. "float64", unless float32
    is asked for: it subtracts means, or solves normal equations, for which float32 may have too few
    digits. "scaled": float64 of a size for its cutoff, as it takes what is small for nothing."""
    order: Literal["C", "F"] = "C"
    """It learns from a matrix in this order, and makes a copy of one in the other."""
    only: Mapping[str, Check] = field(default_factory=dict)
    """Parameter -> whether cuML's class takes a value that its translation lets pass."""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Parameters of cuML's own without which it would solve another problem."""
    translation: Translation | None = None
    """Our translation, where cuML has none."""
    multi_gpu: MultiGpuClass | None = None
    """The class of cuml.dask that trains one model on all rows."""

    def __reduce__(self) -> Any:
        """Return the name of a row of the table: its checks are functions, which have none."""
        name = next((name for name, row in RULES.items() if row is self), None)
        return (_row, (name,)) if name else (Rule.__new__, (Rule,), vars(self))


def _row(name: str) -> Rule:
    return RULES[name]


_BOOSTING = Rule(BOOSTING, runner="xgboost")
_FOREST = Rule(FORESTS, ("weights", "seeded"), dtype="float32")
_LASSO = Rule(NEVER, ("sparse", "weights", "overwrites"), order="F", strength=())
_NEIGHBORS = Rule(NEIGHBORS, ("sparse", "keeps_rows"), dtype="float32")
_OF_NEIGHBORS = replace(_NEIGHBORS, tags=("sparse", "keeps_rows", "targets"))
_RIDGE_CV = Rule(LEAST_SQUARES, runner="cupy", values={"cv": (None,), "scoring": (None,)})
_TEXTS = Rule(TEXTS, runner="text")

_ROWS = {
    "hdbscan.hdbscan_.HDBSCAN": Rule(KERNELS, twin="cuml.cluster.HDBSCAN", dtype="float32"),
    "sklearn.cluster.DBSCAN": Rule(NEIGHBORS, ("weights",)),
    # cuML's public HDBSCAN speaks for the package hdbscan, whose min_samples is one less.
    "sklearn.cluster.HDBSCAN": Rule(
        KERNELS, twin="cuml.accel._overrides.sklearn.cluster._SklearnHDBSCAN", dtype="float32"
    ),
    "sklearn.cluster.KMeans": Rule(
        CLUSTERS,
        ("weights",),
        multi_gpu=MultiGpuClass(
            {
                "n_clusters": whole,
                "init": one_of("scalable-k-means++"),
                "n_init": one_of("auto", 1),
                "random_state": whole_or_none,
                **_any("max_iter tol"),
            },
            lacks=("labels_", "inertia_"),
        ),
    ),
    "sklearn.cluster.SpectralClustering": Rule(KERNELS, dtype="float32"),
    "sklearn.covariance.EmpiricalCovariance": Rule(COMPONENTS, dtype="float64"),
    "sklearn.covariance.LedoitWolf": Rule(COMPONENTS, dtype="float64"),
    "sklearn.decomposition.IncrementalPCA": Rule(NEVER, ("sparse", "overwrites"), dtype="float64"),
    "sklearn.decomposition.PCA": Rule(
        COMPONENTS,
        ("sparse", "overwrites"),
        order="F",
        dtype="float64",
        only={"n_components": whole_or_none},
        multi_gpu=MultiGpuClass(
            {
                "n_components": whole_or_none,
                "whiten": one_of(False),
                "svd_solver": one_of("auto", "full"),
                **_any("copy tol iterated_power"),
            },
            lacks=("n_samples_",),
        ),
    ),
    "sklearn.decomposition.TruncatedSVD": Rule(
        COMPONENTS,
        order="F",
        multi_gpu=MultiGpuClass(
            {"n_components": whole, "algorithm": one_of("full"), **_any("n_iter tol")}
        ),
    ),
    "sklearn.discriminant_analysis.LinearDiscriminantAnalysis": Rule(
        LEAST_SQUARES, runner="cupy", values={"solver": ("svd",), "covariance_estimator": (None,)}
    ),
    "sklearn.ensemble.IsolationForest": Rule(CLUSTERS, dtype="float32", order="F"),
    "sklearn.ensemble.RandomForestClassifier": replace(
        _FOREST, multi_gpu=MultiGpuClass(_TREES | {"class_weight": one_of(None)}, y="codes")
    ),
    "sklearn.ensemble.RandomForestRegressor": replace(
        _FOREST, multi_gpu=MultiGpuClass(_TREES, y="values")
    ),
    "sklearn.feature_extraction.text.CountVectorizer": _TEXTS,
    "sklearn.feature_extraction.text.HashingVectorizer": _TEXTS,
    "sklearn.feature_extraction.text.TfidfTransformer": _TEXTS,
    "sklearn.feature_extraction.text.TfidfVectorizer": _TEXTS,
    "sklearn.kernel_approximation.Nystroem": Rule(
        PROJECTIONS,
        runner="cupy",
        values={
            "kernel": ("linear", "poly", "polynomial", "rbf", "laplacian", "cosine", "sigmoid")
        },
    ),
    "sklearn.kernel_ridge.KernelRidge": Rule(KERNELS, ("weights", "targets"), dtype="float64"),
    "sklearn.linear_model.ElasticNet": _LASSO,
    "sklearn.linear_model.Lasso": _LASSO,
    "sklearn.linear_model.LinearRegression": Rule(
        LEAST_SQUARES, ("sparse", "weights", "targets"), order="F", strength=(), dtype="scaled"
    ),
    "sklearn.linear_model.LogisticRegression": Rule(
        QUASI_NEWTON,
        ("sparse", "weights"),
        strength=("C",),
        unweighted=("sample_weight", "class_weight"),
        multi_gpu=MultiGpuClass(
            {
                "penalty": one_of("l2", None),
                "l1_ratio": one_of(None),
                "class_weight": one_of(None),
                "solver": one_of("qn"),
                **_any("C fit_intercept tol max_iter"),
            },
            y="numbers",
        ),
    ),
    "sklearn.linear_model.PoissonRegressor": Rule(
        QUASI_NEWTON, runner="cupy", values={"solver": ("lbfgs",), "warm_start": (False,)}
    ),
    "sklearn.linear_model.Ridge": Rule(
        LEAST_SQUARES,
        ("sparse", "weights", "targets"),
        order="F",
        dtype="float64",
        # Of one column it would need a singular value decomposition, which is not there.
        multi_gpu=MultiGpuClass(
            {
                "alpha": scalar,
                "solver": one_of("auto", "eig"),
                **_any("fit_intercept tol max_iter copy_X"),
            },
            y="values",
            columns=2,
            lacks=("n_iter_",),
        ),
    ),
    "sklearn.linear_model.RidgeCV": _RIDGE_CV,
    "sklearn.linear_model.RidgeClassifierCV": _RIDGE_CV,
    "sklearn.manifold.SpectralEmbedding": Rule(KERNELS, dtype="float32"),
    "sklearn.manifold.TSNE": Rule(MAPS, dtype="float32", order="F"),
    "sklearn.mixture.GaussianMixture": Rule(
        CLUSTERS,
        runner="cupy",
        values={
            "warm_start": (False,),
            "init_params": ("random", "random_from_data"),
            **dict.fromkeys(("weights_init", "means_init", "precisions_init"), (None,)),
        },
    ),
    "sklearn.naive_bayes.BernoulliNB": Rule(NAIVE_BAYES, ("sparse",), translation=BERNOULLI),
    "sklearn.naive_bayes.ComplementNB": Rule(NAIVE_BAYES, ("sparse",), translation=COMPLEMENT),
    "sklearn.naive_bayes.GaussianNB": Rule(NAIVE_BAYES, ("weights",), translation=GAUSSIAN),
    "sklearn.naive_bayes.MultinomialNB": Rule(NAIVE_BAYES, ("sparse",), translation=MULTINOMIAL),
    "sklearn.neighbors.KNeighborsClassifier": _OF_NEIGHBORS,
    "sklearn.neighbors.KNeighborsRegressor": _OF_NEIGHBORS,
    "sklearn.neighbors.KernelDensity": Rule(NEIGHBORS, ("weights",)),
    "sklearn.neighbors.NearestNeighbors": _NEIGHBORS,
    "sklearn.random_projection.GaussianRandomProjection": Rule(
        PROJECTIONS, ("sparse",), translation=GAUSSIAN_PROJECTION
    ),
    "sklearn.random_projection.SparseRandomProjection": Rule(
        PROJECTIONS, ("sparse",), translation=SPARSE_PROJECTION
    ),
    # liblinear's penalty is on the intercept too, and always L2 in LinearSVR; cuML's own
    # translation leaves out the first and makes the second L1. Of several classes liblinear
    # weighs the one that it tells from the rest, cuML the rest too.
    "sklearn.svm.LinearSVC": Rule(
        QUASI_NEWTON,
        ("weights",),
        order="F",
        strength=("C",),
        halved="squared_hinge",
        unweighted=("class_weight",),
        fixed={"penalized_intercept": True},
    ),
    "sklearn.svm.LinearSVR": Rule(
        QUASI_NEWTON,
        ("weights",),
        order="F",
        strength=("C",),
        fixed={"penalized_intercept": True, "penalty": "l2"},
    ),
    "sklearn.svm.SVC": Rule(KERNELS, ("sparse", "weights", "two_classes"), order="F"),
    "sklearn.svm.SVR": Rule(KERNELS, ("sparse", "weights"), order="F"),
    "umap.umap_.UMAP": Rule(MAPS, ("sparse",), twin="cuml.manifold.UMAP", dtype="float32"),
    "xgboost.sklearn.XGBClassifier": _BOOSTING,
    "xgboost.sklearn.XGBRFClassifier": _BOOSTING,
    "xgboost.sklearn.XGBRFRegressor": _BOOSTING,
    "xgboost.sklearn.XGBRanker": _BOOSTING,
    "xgboost.sklearn.XGBRegressor": _BOOSTING,
}

RULES = {
    name: replace(row, twin=row.twin or name.replace("sklearn", "cuml", 1))
    for name, row in _ROWS.items()
}
"""Name of the estimator -> its row, in the order of the names."""

CUML = {name: row for name, row in RULES.items() if row.runner == "cuml"}
"""The rows of those in whose place cuML's classes stand."""

APART = {"hdbscan.hdbscan_.HDBSCAN": "hdbscan", "umap.umap_.UMAP": "umap-learn"}
"""Name of an estimator -> its package, where that is none of ours."""

XGBOOST = tuple(name.rpartition(".")[2] for name, row in RULES.items() if row.runner == "xgboost")
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
    return RULES.get(public_name(estimator))
