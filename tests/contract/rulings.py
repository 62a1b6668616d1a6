"""What can be said against a rule by asking the real class, and rules with a known fault."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import IsolationForest, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import get_tags

from pipeline.backends.cuml import estimator as cuml_estimator
from pipeline.backends.cuml.tables import CUML, Rule, public_name
from pipeline.errors import ConfigError
from pipeline.optional import load
from tests.contract.estimators import ASKING, LEARNING

ABSENT = {"IsolationForest": {"score"}, "PCA": {"score", "score_samples"}}
"""What scikit-learn's class can and cuML's cannot: refused with a way out when it is called."""

NO_MATTER = {"compute_full_tree", "copy", "memory"}
"""Parameters that change the effort and not the model."""


def objections(row: Rule, estimator: BaseEstimator) -> list[str]:
    """Return what cuML's class says against a rule; nothing when it is true."""
    try:
        twin = load(row.twin)
    except (AttributeError, ConfigError) as error:
        return [f"no class: {error}"]
    return [
        *_parameters(row, twin, estimator),
        *_methods(row, twin, estimator),
        *_tags(row, twin, estimator),
    ]


def _parameters(row: Rule, twin: Any, estimator: BaseEstimator) -> Iterator[str]:
    try:
        params = cuml_estimator.translate(row, estimator, "step")
        kept = clone(twin(**params)).get_params()
    except Exception as error:  # whatever a wrong rule makes cuML or us raise
        yield f"parameters: {error!r}"
        return
    lost = [name for name, value in params.items() if name not in kept or kept[name] != value]
    if lost:
        yield f"parameters that clone loses: {lost}"
    unread = set(estimator.get_params(deep=False)) - set(params) - NO_MATTER
    if row.translation and (unread := unread - set(row.translation.only)):
        yield f"parameters that nobody looks at: {sorted(unread)}"


def _methods(row: Rule, twin: Any, estimator: BaseEstimator) -> Iterator[str]:
    public = {name for name in (*LEARNING, *ASKING) if hasattr(estimator, name)}
    missing = {name for name in public if not hasattr(twin, name)}
    if unknown := missing - ABSENT.get(type(estimator).__name__, set()):
        yield f"methods: {sorted(unknown)}"
    if hasattr(twin, "as_sklearn") == bool(row.translation):
        yield "lift: cuML has one" if row.translation else "lift: cuML has none"


def _tags(row: Rule, twin: Any, estimator: BaseEstimator) -> Iterator[str]:
    if row.weights != ("sample_weight" in inspect.signature(twin.fit).parameters):
        yield f"weights: {row.weights}"
    path = public_name(estimator)
    if path.startswith("sklearn."):
        # With its usual init="pca", TSNE takes no sparse rows anywhere.
        both = get_tags(type(estimator)()).input_tags.sparse and not path.endswith(".TSNE")
        if row.sparse != (both and "sparse" in twin().__sklearn_tags__().X_types_gpu):
            yield f"sparse: {row.sparse}"


class Seeded(NamedTuple):
    estimator: BaseEstimator
    row: Rule
    objection: str
    """How what is said against it begins."""


def _but(estimator: BaseEstimator, objection: str, **changes: Any) -> Seeded:
    return Seeded(estimator, replace(CUML[public_name(estimator)], **changes), objection)


def _own(estimator: BaseEstimator, objection: str, **changes: Any) -> Seeded:
    own = CUML[public_name(estimator)].translation
    assert own is not None
    return _but(estimator, objection, translation=replace(own, **changes))


FAULTY = {
    "a class of another module": _but(Ridge(), "no class", twin="cuml.svm.Ridge"),
    "a class that only looks alike": _but(
        LogisticRegression(), "parameters", twin="cuml.linear_model.MBSGDClassifier"
    ),
    "a scaler for a model": _but(
        NearestNeighbors(), "methods", twin="cuml.preprocessing.StandardScaler"
    ),
    "a parameter of another class": _but(
        RandomForestClassifier(), "parameters", fixed={"fit_intercept": True}
    ),
    "a parameter that cuML lacks": _own(GaussianNB(), "parameters", same=("priors", "smoothing")),
    "weights that it does not take": _but(IsolationForest(), "weights", weights=True),
    "weights that it takes": _but(Ridge(), "weights", weights=False),
    "sparse rows that it does not take": _but(GaussianNB(), "sparse", sparse=True),
    "sparse rows that it takes": _but(LogisticRegression(), "sparse", sparse=False),
    "a translation where cuML has its own": _but(
        Ridge(), "lift", translation=CUML["sklearn.naive_bayes.GaussianNB"].translation
    ),
}
