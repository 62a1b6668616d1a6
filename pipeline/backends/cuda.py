"""On a GPU: XGBoost by its own parameter, cuML's estimators by table, or scikit-learn on CuPy."""

from __future__ import annotations

from pipeline.backends import array_api, meta
from pipeline.backends.base import Backend, Model, Placement
from pipeline.backends.cpu import is_xgboost
from pipeline.backends.cuml import documents, text
from pipeline.backends.cuml import estimator as cuml_estimator
from pipeline.backends.cuml.documents import DocumentsBackend
from pipeline.backends.cuml.tables import CUML, SUBSTITUTES, XGBOOST, name_of_class, rule
from pipeline.backends.xgboost.estimator import XGBoostModel, find_host_only_params
from pipeline.errors import Reason, Unsupported
from pipeline.typing import Estimator

MODELS = tuple(
    f"sklearn.{module}."
    for module in (
        "cluster",
        "cross_decomposition",
        "decomposition",
        "kernel_approximation",
        "manifold",
        "neighbors",
        "neural_network",
    )
)
"""Modules whose classes learn from a matrix, and do not run on blocks."""


class XGBoostBackend(Backend):
    """Runs XGBoost's own classes by their parameter `device`."""

    sparse_note = "sparse rows come to the host, where it bins the cells that are there"

    def place(self, estimator: Estimator, step: str, dtype: str = "float32") -> Model:
        """Return the estimator, placed on the GPU."""
        self.describe(estimator, step)
        return XGBoostModel(estimator, "cuda")

    def describe(self, estimator: Estimator, step: str) -> Placement:
        """Return what runs an estimator."""
        if reasons := find_host_only_params(estimator, step):
            raise Unsupported(*reasons)
        name, on_device = type(estimator).__name__, {"device": "cuda"}
        return Placement(step, f"xgboost.{name}", "cuda", parameters=on_device)


XGBOOST_BACKEND = XGBoostBackend()


def find_backend(estimator: Estimator) -> Backend | None:
    """Return what runs an estimator on the GPU, by its exact class; None where nothing does."""
    if is_xgboost(estimator):
        return XGBOOST_BACKEND if type(estimator).__name__ in XGBOOST else None
    if found_for_text := _find_for_text(estimator):
        return found_for_text
    if found := rule(estimator):
        return cuml_estimator.CumlBackend(found)
    on_cupy = name_of_class(type(estimator)) in array_api.ESTIMATORS
    return array_api.ARRAY_API_BACKEND if on_cupy else None


def _find_for_text(estimator: Estimator) -> Backend | None:
    """Return what runs a vectorizer, or a container of some."""
    if text.is_vectorizer(estimator):
        return text.TEXT_BACKEND
    return DOCUMENTS_BACKEND if documents.is_container(estimator) else None


def find_transformer(estimator: Estimator) -> Backend | None:
    """Return what runs a transformer of cuML's inside preprocessing, where a saved one can go on.

    >>> from sklearn.decomposition import FastICA, PCA
    >>> find_transformer(PCA()) is None, find_transformer(FastICA()) is None
    (False, True)
    """
    if found_for_text := _find_for_text(estimator):
        return found_for_text
    found = rule(estimator) if hasattr(estimator, "transform") else None
    return cuml_estimator.CumlBackend(found) if found and not found.translation else None


DOCUMENTS_BACKEND = DocumentsBackend(find_transformer)


def knows(kind: type) -> bool:
    """Return whether a class is in a table here, with a twin (PCA) or without (FastICA)."""
    name = name_of_class(kind)
    ruled = any(name in table for table in (CUML, array_api.ESTIMATORS, meta.META))
    return ruled or name.startswith(MODELS) or _substitute(kind) is not None


def no_twin(estimator: Estimator, step: str) -> Reason:
    """Return the reason for an estimator that is in no table, with the nearest that is."""
    name = type(estimator).__name__
    on_host = "device='auto' to run this step on the CPU"
    if nearest := _substitute(type(estimator)):
        instead = f"the nearest on the GPU is {nearest}; use it, or {on_host}"
    elif hasattr(type(estimator), "to_sklearn"):
        instead = "an Accelerated stands alone: put one around the whole"
    elif {"estimator", "estimators"} & set(vars(estimator)):
        instead = f"put Accelerated around the estimators inside it, or use {on_host}"
    else:
        instead = f"use {on_host}"
    return Reason(step, f"{name} has no rule for the GPU", instead)


def _substitute(kind: type) -> str | None:
    return SUBSTITUTES.get(kind.__name__) if kind.__module__.startswith("sklearn.") else None
