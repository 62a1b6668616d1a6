"""Which class of scikit-learn-intelex stands in for which estimator on x86-64: one row each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pipeline.backends.cuml.translations import Check, one_of
from pipeline.typing import Array, Estimator


@dataclass(frozen=True)
class Twin:
    """How scikit-learn-intelex stands in for one estimator.

    Parameters
    ----------
    tolerance : float
        Largest difference of the answers from scikit-learn's, in their standard deviations; of
        labels, the share of others. Beyond it the twin is not used.
    attributes : mapping of str to str
        Fitted attribute that scikit-learn's class needs -> its dtype; empty for the twin's own.
    only : mapping of str to callable
        Parameter -> whether the twin is the same algorithm for a value.
    constants : mapping
        Fitted attributes of scikit-learn's that are known without asking.
    complete : callable
        Adds to scikit-learn's class what only it has.
    lacks : tuple of str
        Fitted attributes of scikit-learn's that the twin does not learn.
    answers : tuple of str
        Methods that the twin serves after `fit`; scikit-learn's class serves all others.
    refit : bool
        To fit is only to keep the rows: scikit-learn's class is fitted beside the twin.
    independent : bool
        Where columns depend on each other it finds other coefficients: those are not unique.
    wide : int
        Columns from which on scikit-learn's "auto" is the twin's algorithm; 0 for always.
    """

    tolerance: float
    attributes: Mapping[str, str] = field(default_factory=dict)
    only: Mapping[str, Check] = field(default_factory=dict)
    constants: Mapping[str, Any] = field(default_factory=dict)
    complete: Callable[[Any], None] = lambda lifted: None
    lacks: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    refit: bool = False
    independent: bool = False
    wide: int = 0


def _as_they_are(*names: str) -> dict[str, str]:
    return dict.fromkeys(names, "")


def _none(value: Array) -> bool:
    return value is None


def _number(value: Array) -> bool:
    return np.ndim(value) == 0


_VECTORS = {
    **dict.fromkeys(
        ("support_vectors_", "dual_coef_", "intercept_", "_dual_coef_", "_intercept_"), "float64"
    ),
    **dict.fromkeys(("support_", "_n_support"), "int32"),
    **_as_they_are("_sparse", "_gamma", "shape_fit_", "fit_status_", "n_iter_", "class_weight_"),
}


def _for_libsvm(lifted: Estimator) -> None:
    """Give libsvm, which reads without looking, arrays of the lengths that it made itself."""
    lifted._num_iter = np.atleast_1d(np.asarray(lifted.n_iter_, "int32"))
    if len(lifted._n_support) == 1:
        lifted._n_support = np.repeat(lifted._n_support, 2)


_NO_PROBABILITY = {"_probA": np.empty(0), "_probB": np.empty(0)}
_KERNELS = {"kernel": one_of("linear", "poly", "rbf", "sigmoid"), "max_iter": one_of(-1)}
_BRUTE = {
    "algorithm": one_of("auto", "brute"),
    "metric": one_of("euclidean", "minkowski"),
    "p": one_of(2),
    "weights": one_of("uniform"),
}


def _neighbours(*answers: str) -> Twin:
    return Twin(1e-2, only=_BRUTE, answers=answers, refit=True, wide=16)


TWINS = {
    "sklearn.cluster.DBSCAN": Twin(
        0.0,
        {"labels_": "int64", "core_sample_indices_": "int64", "components_": ""},
        {"algorithm": one_of("auto", "brute"), "metric": one_of("euclidean")},
    ),
    # With other starts than rows that the user gives, it draws other centres.
    "sklearn.cluster.KMeans": Twin(
        1e-3,
        _as_they_are("cluster_centers_", "labels_", "inertia_", "n_iter_", "_n_threads"),
        {"init": lambda value: np.ndim(value) == 2, "algorithm": one_of("lloyd")},
    ),
    "sklearn.decomposition.PCA": Twin(
        1e-3,
        _as_they_are(
            "components_",
            "explained_variance_",
            "explained_variance_ratio_",
            "mean_",
            "n_components_",
            "n_samples_",
            "noise_variance_",
            "singular_values_",
            "_fit_svd_solver",
        ),
        {"svd_solver": one_of("full")},
    ),
    "sklearn.linear_model.LinearRegression": Twin(
        1e-4,
        _as_they_are("coef_", "intercept_"),
        {"positive": one_of(False)},
        lacks=("rank_", "singular_"),
        independent=True,
    ),
    "sklearn.linear_model.LogisticRegression": Twin(
        1e-2,
        _as_they_are("coef_", "intercept_", "classes_", "n_iter_"),
        {
            "solver": one_of("lbfgs"),
            "penalty": one_of("deprecated", "l2"),
            "l1_ratio": one_of(0),
            "dual": one_of(False),
            "class_weight": _none,
            "intercept_scaling": one_of(1),
            "warm_start": one_of(False),
        },
    ),
    "sklearn.linear_model.Ridge": Twin(
        1e-4,
        _as_they_are("coef_", "intercept_"),
        {"solver": one_of("auto"), "positive": one_of(False), "alpha": _number},
        {"n_iter_": None, "solver_": "cholesky"},
        independent=True,
    ),
    "sklearn.neighbors.KNeighborsClassifier": _neighbours("predict", "predict_proba"),
    "sklearn.neighbors.KNeighborsRegressor": _neighbours("predict"),
    "sklearn.svm.SVC": Twin(
        1e-2,
        {**_VECTORS, "classes_": ""},
        {**_KERNELS, "probability": one_of("deprecated", False), "break_ties": one_of(False)},
        _NO_PROBABILITY,
        _for_libsvm,
        answers=("predict", "decision_function"),
    ),
    "sklearn.svm.SVR": Twin(
        1e-2, _VECTORS, _KERNELS, _NO_PROBABILITY, _for_libsvm, answers=("predict",)
    ),
}
"""Public name of scikit-learn's class -> its twin, ``sklearn`` spelt ``sklearnex``."""
