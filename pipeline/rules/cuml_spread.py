"""Which class of cuml.dask trains in the place of which estimator of cuML: one row each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pipeline import frames, gathering
from pipeline.rules.untranslated import Check, one_of, only_none, scalar, whole, whole_or_none


@dataclass(frozen=True)
class Learnt:
    """What a model was learnt from, and by what.

    Parameters
    ----------
    by : estimator of cuml.dask
        Fitted.
    table : dask.array.Array, shape (n_rows, n_columns)
        Its blocks are with the workers.
    classes : numpy.ndarray or None
        Of a classifier, as they are in y.
    """

    by: Any
    table: Any
    classes: Any


def _nothing(model: Any, learnt: Learnt) -> None:
    """Add nothing."""


def _classes(model: Any, learnt: Learnt) -> None:
    """Give the classes their own names: the labels were sent as their numbers."""
    model.classes_ = learnt.classes


def _samples(model: Any, learnt: Learnt) -> None:
    """Tell how many rows there were, which scikit-learn's PCA knows."""
    model.n_samples_ = learnt.table.shape[0]


def _steps(model: Any, learnt: Learnt) -> None:
    """Tell that a closed form takes no steps, as the class for one GPU does."""
    model.n_iter_ = None


def _labels(model: Any, learnt: Learnt) -> None:
    """Give the labels and the inertia of all rows: the model has those of one GPU."""
    labels = gathering.joined(gathering.each(_labelled, learnt.table, model))
    model.labels_ = frames.to_device(labels, frames.device_of(learnt.table))
    model.inertia_ = float(learnt.by.inertia_)


def _labelled(X: Any, model: Any) -> Any:
    return frames.to_device(model.predict(X), "cpu")


@dataclass(frozen=True)
class Spread:
    """How a class of cuml.dask stands in for the one that learns on one GPU.

    Its constructors swallow keywords that they do not know, so those that it honours are here.

    Parameters
    ----------
    path : str
        Dotted name of the class.
    takes : mapping
        Parameter of cuML's class -> whether a value means the same there.
    y : {"", "values", "codes", "numbers"}
        What its `fit` takes as y: nothing, values of the table's type, classes as integers from
        0 on, or these as numbers of the table's type.
    told : bool
        Its `fit` is told the classes.
    weights : bool
        Its `fit` takes `sample_weight`.
    columns : int
        The least number of columns that it learns from.
    supply : callable
        Adds to the combined model what it lacks.
    """

    path: str
    takes: Mapping[str, Check]
    y: Literal["", "values", "codes", "numbers"] = ""
    told: bool = False
    weights: bool = False
    columns: int = 1
    supply: Callable[[Any, Learnt], None] = _nothing


def _any(value: Any) -> bool:
    return True


def _text(*values: str) -> Check:
    """Return a check that a value is one of these texts; an array is none."""
    return lambda value: isinstance(value, str) and value in values


_TREES: dict[str, Check] = {
    **dict.fromkeys(
        (
            "n_estimators",
            "split_criterion",
            "max_depth",
            "min_samples_split",
            "min_samples_leaf",
            "max_features",
            "max_leaves",
            "max_samples",
            "min_impurity_decrease",
            "bootstrap",
        ),
        _any,
    ),
    "random_state": whole_or_none,
    # Out-of-bag answers would be those of one GPU's rows.
    "oob_score": one_of(False),
}

SPREAD = {
    "sklearn.cluster.KMeans": Spread(
        "cuml.dask.cluster.KMeans",
        {
            "n_clusters": whole,
            "init": _text("scalable-k-means++"),
            "n_init": one_of("auto", 1),
            "max_iter": _any,
            "tol": _any,
            "random_state": whole_or_none,
        },
        weights=True,
        supply=_labels,
    ),
    "sklearn.decomposition.PCA": Spread(
        "cuml.dask.decomposition.PCA",
        {
            "n_components": whole_or_none,
            "whiten": one_of(False),
            "svd_solver": one_of("auto", "full"),
            **dict.fromkeys(("copy", "tol", "iterated_power"), _any),
        },
        supply=_samples,
    ),
    "sklearn.decomposition.TruncatedSVD": Spread(
        "cuml.dask.decomposition.TruncatedSVD",
        {
            "n_components": whole,
            "algorithm": one_of("full"),
            **dict.fromkeys(("n_iter", "tol"), _any),
        },
    ),
    "sklearn.ensemble.RandomForestClassifier": Spread(
        "cuml.dask.ensemble.RandomForestClassifier",
        {**_TREES, "class_weight": only_none},
        y="codes",
        supply=_classes,
    ),
    "sklearn.ensemble.RandomForestRegressor": Spread(
        "cuml.dask.ensemble.RandomForestRegressor", _TREES, y="values"
    ),
    # Of one column it would need a singular value decomposition, which is not there.
    "sklearn.linear_model.LinearRegression": Spread(
        "cuml.dask.linear_model.LinearRegression",
        {"fit_intercept": _any, "copy_X": _any},
        y="values",
        columns=2,
    ),
    "sklearn.linear_model.LogisticRegression": Spread(
        "cuml.dask.linear_model.LogisticRegression",
        {
            "penalty": one_of("l2", None),
            "l1_ratio": only_none,
            "class_weight": only_none,
            "solver": one_of("qn"),
            **dict.fromkeys(("C", "fit_intercept", "tol", "max_iter"), _any),
        },
        y="numbers",
        supply=_classes,
    ),
    "sklearn.linear_model.Ridge": Spread(
        "cuml.dask.linear_model.Ridge",
        {
            "alpha": scalar,
            "solver": one_of("auto", "eig"),
            **dict.fromkeys(("fit_intercept", "tol", "max_iter", "copy_X"), _any),
        },
        y="values",
        columns=2,
        supply=_steps,
    ),
    "sklearn.naive_bayes.MultinomialNB": Spread(
        "cuml.dask.naive_bayes.MultinomialNB",
        dict.fromkeys(("alpha", "fit_prior", "class_prior"), _any),
        y="codes",
        told=True,
        supply=_classes,
    ),
}
"""Name of the estimator -> cuML's class for several GPUs, in the order of the names."""
