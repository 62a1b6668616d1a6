"""On a GPU: XGBoost by its own parameter, cuML's estimators by table, or scikit-learn on CuPy."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import FeatureUnion

from pipeline.backends import meta
from pipeline.backends.array_api import ArrayApiBackend
from pipeline.backends.base import Backend, Model, Placement
from pipeline.backends.cuml.cuml_model import CumlBackend
from pipeline.backends.cuml.text import ON_CPU, DocumentsModel, TextBackend, is_container
from pipeline.backends.gpu_rules import RULES, SUBSTITUTES, name_of_class, rule
from pipeline.backends.xgboost.xgboost_model import XGBoostModel, find_host_only_params
from pipeline.errors import Reason, Unsupported
from pipeline.typing import Estimator

MODELS = (
    "sklearn.cluster.",
    "sklearn.cross_decomposition.",
    "sklearn.decomposition.",
    "sklearn.kernel_approximation.",
    "sklearn.manifold.",
    "sklearn.neighbors.",
    "sklearn.neural_network.",
)
"""Modules whose classes learn from a matrix, and do not run on blocks."""


class XGBoostBackend(Backend):
    """Runs XGBoost's own classes by their parameter `device`."""

    runner = "XGBoost"
    sparse_note = "sparse rows are copied to the host, where XGBoost bins the stored values"

    def place(self, estimator: Estimator, step: str, dtype: str = "float32") -> Model:
        """Return the estimator, placed on the GPU."""
        return XGBoostModel(estimator, "cuda")

    def describe(self, estimator: Estimator, step: str) -> Placement:
        """Return what runs an estimator."""
        if reasons := find_host_only_params(estimator, step):
            raise Unsupported(*reasons)
        name, on_device = type(estimator).__name__, {"device": "cuda"}
        return Placement(step, f"xgboost.{name}", "cuda", parameters=on_device)


class DocumentsBackend(Backend):
    """Runs pipelines of vectorizers by what runs their steps."""

    def describe(self, estimator: Estimator, step: str) -> Placement:
        """Return what runs the parts, in order, and how they differ."""
        if type(estimator) is FeatureUnion:
            why = "a FeatureUnion of text vectorizers runs on the CPU only"
            instead = f"put each of them in a ColumnTransformer, {ON_CPU}"
            raise Unsupported(Reason(step, why, instead))
        found: list[Placement] = []
        against: list[Reason] = []
        for _, path, part in _held(estimator, step):
            try:
                found.append(_transformer(part, path).describe(part, path))
            except Unsupported as refused:
                against += refused.reasons
        if against:
            raise Unsupported(*against)
        runs = " + ".join(place.implementation for place in found)
        remarks = dict.fromkeys(filter(None, (place.remarks for place in found)))
        return Placement(step, runs, "cuda", "; ".join(remarks))

    def place(self, estimator: Estimator, step: str, dtype: str = "float32") -> Model:
        """Return the models of the parts."""
        models = {
            name: _transformer(part, path).place(part, path, dtype)
            for name, path, part in _held(estimator, step)
        }
        return DocumentsModel(estimator, models)


def _held(estimator: Estimator, step: str) -> list[tuple[str, str, Any]]:
    """Return names, paths and steps of a pipeline; none of those that do nothing."""
    held = [(name, how) for name, how in estimator.steps if how not in (None, "passthrough")]
    return [(name, f"{step}.{name}", how) for name, how in held]


def _transformer(part: Any, path: str) -> Backend:
    """Return what runs a step of a pipeline of vectorizers."""
    found = find_transformer(part)
    if found is None:
        kind = part if isinstance(part, str) else type(part).__name__
        why = f"{kind} is not supported on the GPU after a text vectorizer"
        raise Unsupported(Reason(path, why, f"leave it out, {ON_CPU}"))
    return found


RUNNERS = {
    "cupy": ArrayApiBackend(),
    "documents": DocumentsBackend(),
    "text": TextBackend(),
    "xgboost": XGBoostBackend(),
}
"""What runs estimators of a kind; each of cuML's has its own."""


def find_backend(estimator: Estimator) -> Backend | None:
    """Return what runs an estimator on the GPU, by its exact class; None if nothing does."""
    if is_container(estimator):
        return RUNNERS["documents"]
    found = rule(estimator)
    if found is None:
        return None
    return RUNNERS.get(found.runner) or CumlBackend(found)


def find_transformer(estimator: Estimator) -> Backend | None:
    """Return what runs a transformer of cuML's inside preprocessing, where a saved one can go on.

    >>> from sklearn.decomposition import FastICA, PCA
    >>> find_transformer(PCA()) is None, find_transformer(FastICA()) is None
    (False, True)
    """
    found = find_backend(estimator) if hasattr(estimator, "transform") else None
    ours = isinstance(found, CumlBackend) and found.rule.translation
    return None if ours or isinstance(found, ArrayApiBackend) else found


def knows(kind: type) -> bool:
    """Return whether a class is in a table here, with a twin (PCA) or without (FastICA)."""
    name = name_of_class(kind)
    ruled = name in RULES or name in meta.META
    return ruled or name.startswith(MODELS) or _substitute(kind) is not None


def no_twin(estimator: Estimator, step: str) -> Reason:
    """Return the reason for an estimator that is not supported, with the nearest one that is."""
    name = type(estimator).__name__
    on_host = "device='auto' to run this step on the CPU"
    if nearest := _substitute(type(estimator)):
        instead = f"the nearest on the GPU is {nearest}; use it, or {on_host}"
    elif hasattr(type(estimator), "to_sklearn"):
        instead = "use one Accelerated around the pipeline, not inside it"
    elif {"estimator", "estimators"} & set(vars(estimator)):
        instead = f"put Accelerated around the estimators inside it, or use {on_host}"
    else:
        instead = f"use {on_host}"
    return Reason(step, f"{name} is not supported on the GPU", instead)


def _substitute(kind: type) -> str | None:
    return SUBSTITUTES.get(kind.__name__) if kind.__module__.startswith("sklearn.") else None
