"""cuML classes that scikit-learn's parameters and fitted state have no translation for in cuML."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from pipeline import frames
from pipeline.errors import Reason, Unsupported

Check = Callable[[Any], bool]


@dataclass(frozen=True)
class Own:
    """The translation of one class, in both directions.

    Parameters
    ----------
    same : tuple of str
        Parameters that mean the same to cuML.
    only : mapping of str to callable
        Parameter -> whether a value of it can be honoured.
    attributes : callable
        From the fitted cuML estimator to the fitted attributes of scikit-learn's, which may
        still be on the device.
    extra : mapping, optional
        Parameters of cuML's own.
    unknown : callable, optional
        From the fitted cuML estimator and rows to what they hold that was not there at fit, in
        words, where cuML itself does not look.
    """

    same: tuple[str, ...]
    only: Mapping[str, Check]
    attributes: Callable[[Any], dict[str, Any]]
    extra: Mapping[str, Any] = field(default_factory=dict)
    unknown: Callable[[Any, Any], str] = lambda fitted, X: ""

    def translate(self, spec: BaseEstimator, step: str) -> dict[str, Any]:
        """Return cuML's parameters.

        Raises
        ------
        Unsupported
            Values that cuML cannot honour.
        """
        refuse(self.only, spec, step)
        return {name: _array(getattr(spec, name)) for name in self.same} | dict(self.extra)

    def lift(self, fitted: Any, spec: BaseEstimator) -> Any:
        """Return a fitted scikit-learn estimator with the state of the cuML one."""
        lifted = clone(spec)
        lifted.n_features_in_ = int(fitted.n_features_in_)
        for name, value in self.attributes(fitted).items():
            setattr(lifted, name, value)
        return lifted


def refuse(only: Mapping[str, Check], spec: BaseEstimator, step: str) -> None:
    """Raise `Unsupported` for values of parameters that cannot be honoured."""
    way_out = "change it, or run the step on the CPU with device='auto'"
    refused = [
        Reason(step, f"cuML has no equivalent of {getattr(spec, name)!r}", way_out, name)
        for name, honoured in only.items()
        if not honoured(getattr(spec, name))
    ]
    if refused:
        raise Unsupported(*refused)


def _array(value: Any) -> Any:
    """Return a list as an array, whose shape cuML asks for."""
    return np.asarray(value) if isinstance(value, list | tuple) else value


def one_of(*values: Any) -> Check:
    """Return a check that a value is one of these."""
    return lambda value: value in values


def scalar(value: Any) -> bool:
    """Return whether a value is one number."""
    return np.ndim(value) == 0


def whole(value: Any) -> bool:
    """Return whether a value is a whole number; True and False are none."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def whole_or_none(value: Any) -> bool:
    """Return whether a value is a whole number or None."""
    return value is None or whole(value)


def only_none(value: Any) -> bool:
    """Return whether nothing was asked for."""
    return value is None


def _named(*names: str) -> Callable[[Any], dict[str, Any]]:
    return lambda fitted: {name: getattr(fitted, name) for name in names}


def _gaussian(fitted: Any) -> dict[str, Any]:
    state = _named("classes_", "class_count_", "class_prior_", "theta_")(fitted)
    # cuML adds the smoothing to the variances, as scikit-learn does.
    return {**state, "var_": fitted.sigma_, "epsilon_": float(fitted.epsilon_)}


def _categorical(fitted: Any) -> dict[str, Any]:
    """Return one array a column; cuML pads all columns to the most categories of any."""
    counts = frames.to_device(fitted.category_count_, "cpu")
    logs = frames.to_device(fitted.feature_log_prob_, "cpu")
    seen = counts.sum(axis=1) > 0
    sizes = seen.shape[1] - np.argmax(seen[:, ::-1], axis=1)
    return {
        **_named("classes_", "class_count_", "class_log_prior_")(fitted),
        "n_categories_": sizes,
        "category_count_": [each[:, :size] for each, size in zip(counts, sizes, strict=True)],
        "feature_log_prob_": [each[:, :size] for each, size in zip(logs, sizes, strict=True)],
    }


def _unseen(fitted: Any, X: Any) -> str:
    """Return which category is new; for it CuPy would take the number of another one."""
    seen = fitted.category_count_.sum(axis=1) > 0
    xp = frames.array_module(frames.device_of(X))
    sizes = (seen * xp.arange(1, seen.shape[1] + 1)).max(axis=1)
    wrong = (sizes <= X) | (X <= -1)
    if not bool(wrong.any()):
        return ""
    row, column = divmod(int(wrong.ravel().argmax()), X.shape[1])
    category, known = int(X[row, column]), int(sizes[column])
    return f"column {column} holds the category {category} in row {row}; at fit there were {known}"


def _projection(fitted: Any) -> dict[str, Any]:
    state = _named("components_", "n_components_")(fitted)
    density = {"density_": fitted.density_} if hasattr(fitted, "density_") else {}
    return {**state, **density, "_n_features_out": fitted.n_components_}


_COUNTED = ("classes_", "class_count_", "class_log_prior_", "feature_count_", "feature_log_prob_")
_PRIOR = ("alpha", "fit_prior", "class_prior")
_SMOOTHED = {"alpha": scalar, "force_alpha": one_of(True)}
_METRICS = one_of("cityblock", "cosine", "euclidean", "l1", "l2", "manhattan")
_PROJECTED = ("n_components", "eps", "random_state")
_NO_INVERSE = {"compute_inverse_components": one_of(False)}

MULTINOMIAL = Own(_PRIOR, _SMOOTHED, _named(*_COUNTED))
BERNOULLI = Own((*_PRIOR, "binarize"), _SMOOTHED, _named(*_COUNTED))
COMPLEMENT = Own((*_PRIOR, "norm"), _SMOOTHED, _named(*_COUNTED, "feature_all_"))
CATEGORICAL = Own(_PRIOR, {**_SMOOTHED, "min_categories": only_none}, _categorical, unknown=_unseen)
GAUSSIAN = Own(("priors", "var_smoothing"), {}, _gaussian)
AGGLOMERATIVE = Own(
    ("n_clusters", "metric", "linkage"),
    {
        "linkage": one_of("single"),
        "metric": _METRICS,
        "connectivity": only_none,
        "distance_threshold": only_none,
        "compute_distances": one_of(False),
    },
    _named("labels_", "children_", "n_clusters_", "n_leaves_", "n_connected_components_"),
    {"connectivity": "pairwise"},
)
GAUSSIAN_PROJECTION = Own(_PROJECTED, _NO_INVERSE, _projection)
SPARSE_PROJECTION = Own((*_PROJECTED, "density", "dense_output"), _NO_INVERSE, _projection)
