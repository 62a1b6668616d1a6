"""Values to ask cuML's translation about, and its answers.

A parameter is given all that scikit-learn lets it be, numbers of every size, and each value that
the frozen translation compares with, with its neighbours: where a branch may change.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, Options, _InstancesOf, make_constraint

from pipeline.backends.cuml.translations import load_frozen
from pipeline.backends.gpu_rules import CUML
from pipeline.optional import load
from tests.contract.signatures import parse

NUMBERS = (-1, 0, 1, 2, 3, 4, 5, 7, 10, 20, 30, 50, 100, 200, 300, 500, 1000, 2000)
PARTS = (0.0, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 0.2, 0.25, 0.5, 0.7, 0.8, 1.0, 1.5, 5.0, 10.0, 200.0)
OTHERS = (None, True, False, len, [1.0, 2.0], np.ones(2), {}, {"a": 1}, {0: 1, 1: 2})
DRAWS = np.random.RandomState(0)
MIXED = 1_000
"""Draws of two or three parameters together."""
DISTANCES = (
    "braycurtis canberra chebyshev cityblock correlation cosine dice euclidean hamming "
    "haversine hellinger jaccard kulsinski l1 l2 linf ll_dirichlet mahalanobis manhattan "
    "matching minkowski nan_euclidean poincare precomputed rogerstanimoto russellrao "
    "seuclidean sokalmichener sokalsneath sqeuclidean symmetric_kl taxicab wminkowski yule"
)
TEXTS = {"init": "pca tswspectral", "metric": DISTANCES, "target_metric": DISTANCES}
"""Of parameters whose class lists no values."""
USUAL_SIGNATURES = {
    "hdbscan.hdbscan_.HDBSCAN": (
        "(min_cluster_size=5, min_samples=None, cluster_selection_epsilon=0.0, max_cluster_size=0, "
        "metric='euclidean', alpha=1.0, p=None, algorithm='best', leaf_size=40, memory=None, "
        "approx_min_span_tree=True, gen_min_span_tree=False, core_dist_n_jobs=4, "
        "cluster_selection_method='eom', allow_single_cluster=False, prediction_data=False, "
        "branch_detection_data=False, match_reference_implementation=False)"
    ),
    "umap.umap_.UMAP": (
        "(n_neighbors=15, n_components=2, metric='euclidean', metric_kwds=None, "
        "output_metric='euclidean', output_metric_kwds=None, n_epochs=None, learning_rate=1.0, "
        "init='spectral', min_dist=0.1, spread=1.0, low_memory=True, n_jobs=-1, "
        "set_op_mix_ratio=1.0, local_connectivity=1.0, repulsion_strength=1.0, "
        "negative_sample_rate=5, transform_queue_size=4.0, a=None, b=None, random_state=None, "
        "angular_rp_forest=False, target_n_neighbors=-1, target_metric='categorical', "
        "target_metric_kwds=None, target_weight=0.5, transform_seed=42, "
        "transform_mode='embedding', force_approximation_algorithm=False, verbose=False, "
        "tqdm_kwds=None, unique=False, densmap=False, dens_lambda=2.0, dens_frac=0.3, "
        "dens_var_shift=0.1, output_dens=False, disconnection_distance=None, "
        "precomputed_knn=(None, None, None))"
    ),
}
USUAL = {
    name: {each.name: each.default for each in parse(text).parameters.values()}
    for name, text in USUAL_SIGNATURES.items()
}
"""Parameters, with their defaults, of classes whose packages are not among ours."""


class Absent(BaseEstimator):
    """In the place of an estimator whose package is not installed."""

    def __init__(self, **params: Any) -> None:
        vars(self).update(params)


def translated() -> list[str]:
    """Return the estimators that cuML translates itself."""
    return [name for name, row in CUML.items() if not row.translation]


def make(name: str, **params: Any) -> Any:
    if name in USUAL:
        return Absent(**{**USUAL[name], **params})
    module, _, kind = name.rpartition(".")
    return getattr(import_module(module), kind)(**params)


@cache
def defaults(name: str) -> dict[str, Any]:
    return dict(USUAL[name]) if name in USUAL else make(name).get_params(deep=False)


class Answer(NamedTuple):
    """What cuML makes of the parameters of an estimator: its own, or why not."""

    params: Mapping[str, Any]
    given: dict[str, Any] | None
    why: str | None


def ask(name: str, changes: Mapping[str, Any]) -> Answer:
    """Return cuML's answer to an estimator with some parameters changed."""
    params = {**defaults(name), **changes}
    try:
        return Answer(params, load(CUML[name].twin)._params_from_cpu(make(name, **params)), None)
    except ValueError as error:
        return Answer(params, None, str(error))


def answers(name: str) -> Iterator[Answer]:
    """Return what cuML makes of each value of each parameter, and of values drawn together."""
    tried = {param: values(name, param) for param in defaults(name)}
    each = [{param: value} for param, found in tried.items() for value in found]
    # What to change for cuML to take the rest: nothing, as a rule.
    start = next(change for change in ({}, *each) if ask(name, change).why is None)
    yield from (ask(name, start | change) for change in ({}, *each))
    rng = random.Random(0)
    for _ in range(MIXED):
        chosen = rng.sample(list(tried), min(rng.randint(2, 3), len(tried)))
        yield ask(name, start | {param: rng.choice(tried[param]) for param in chosen})


def number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@cache
def constants(name: str) -> list[Any]:
    """Return the values that the frozen translation compares with."""
    found = load_frozen().estimators[name]
    cases = [*found.refused, *(case for of in found.takes.values() for case in of)]
    return [value for case in cases for value in case.against if not isinstance(value, list)]


def _around(found: list[Any]) -> list[Any]:
    """Return values, and the whole numbers beside them."""
    return [*found, *(value + step for value in found if type(value) is int for step in (-1, 1))]


@cache
def values(name: str, param: str) -> list[Any]:
    """Return what a parameter may be, as far as it makes sense to try."""
    usual = defaults(name)[param]
    every = [*_around([usual]), *OTHERS, *NUMBERS, *PARTS, *_around(constants(name)), DRAWS]
    every += [*_options(name, param), *TEXTS.get(param, "").split(), (1, 2, 3), (4, 5, 6)]
    found: list[Any] = []
    for value in every:
        if _allowed(name, param, value) and not any(_equal(value, each) for each in found):
            found.append(value)
    return found


def _equal(value: Any, other: Any) -> bool:
    plain = type(value) is type(other) and not isinstance(value, np.ndarray)
    return value is other or (plain and bool(value == other))


def _constraints(name: str, param: str) -> list[Any]:
    """Return what scikit-learn lets a parameter be; nothing where its class does not say."""
    listed = getattr(make(name), "_parameter_constraints", {}).get(param, "no_validation")
    return [] if listed == "no_validation" else [make_constraint(each) for each in listed]


def _options(name: str, param: str) -> list[Any]:
    options = [each.options for each in _constraints(name, param) if isinstance(each, Options)]
    return sorted((value for each in options for value in each), key=repr)


def _allowed(name: str, param: str, value: Any) -> bool:
    listed = _constraints(name, param)
    if not listed:
        array = param == "init" and isinstance(value, np.ndarray)
        return array or isinstance(value, _kinds(defaults(name)[param]))
    # To Python, and to scikit-learn's ranges, True is a number.
    ranges = (Interval, _InstancesOf) if isinstance(value, bool) else ()
    return any(each.is_satisfied_by(value) for each in listed if not isinstance(each, ranges))


def _kinds(usual: Any) -> tuple[type, ...]:
    """Return what a value without a list of values may be, by the usual one."""
    if usual is None:
        return int, float, dict, type(None)
    return (int, float) if number(usual) else (type(usual),)
