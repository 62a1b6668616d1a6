"""On a GPU: XGBoost by its own parameter, cuML's estimators by table, or scikit-learn on CuPy."""

from __future__ import annotations

from pipeline.backends import array_api
from pipeline.backends.base import Model, Placement, changed
from pipeline.backends.cpu import is_xgboost
from pipeline.backends.cuml import estimator as cuml_estimator
from pipeline.backends.cuml import text
from pipeline.backends.cuml.tables import SUBSTITUTES, XGBOOST, rule
from pipeline.backends.xgboost.estimator import XGBoostModel, on_host_only
from pipeline.errors import Reason, Unsupported
from pipeline.typing import Estimator

ON_DEVICE = {"device": "cuda"}
PAIRS = "of more than two classes rows go through the host, and to_sklearn() is not possible"


def place(estimator: Estimator, step: str, dtype: str = "float32") -> Model:
    """Return the estimator's twin on the GPU.

    Parameters
    ----------
    estimator : estimator
    step : str
        Path of the step, for messages.
    dtype : {"float32", "float64"}
        Type of the matrix that a text vectorizer hands on, where its own cannot be had.

    Raises
    ------
    Unsupported
        There is none, or not for these parameters.
    """
    if _boosts(estimator, step):
        return XGBoostModel(estimator, "cuda")
    if text.handles(estimator):
        return text.Vectorizer(estimator, step, dtype)
    if found := rule(estimator):
        return cuml_estimator.Cuml(estimator, found, step)
    if array_api.handles(estimator):
        return array_api.ArrayApiModel(estimator, step)
    raise Unsupported(no_twin(estimator, step))


def describe(estimator: Estimator, step: str) -> Placement:
    """Return what runs an estimator, or raise `Unsupported`."""
    if _boosts(estimator, step):
        return Placement(step, f"xgboost.{type(estimator).__name__}", "cuda", parameters=ON_DEVICE)
    if text.handles(estimator):
        return text.describe(estimator, step)
    if array_api.handles(estimator):
        return array_api.describe(estimator, step)
    found = rule(estimator)
    if not found:
        raise Unsupported(no_twin(estimator, step))
    estimator = cuml_estimator.in_python(estimator)
    takes = changed(
        estimator.get_params(deep=False), cuml_estimator.translate(found, estimator, step)
    )
    takes |= {"dtype": "float64"} if found.cutoff else {}
    takes |= {"dtype": "float32"} if found.narrow else {}
    lost = tuple(cuml_estimator.dropped(found, estimator, step))
    notes = [f"without effect in cuML: {', '.join(lost)}"] if lost else []
    notes += [PAIRS] if found.pairs else []
    return Placement(step, found.twin, "cuda", "; ".join(notes), takes, lost)


def knows(estimator: Estimator) -> bool:
    """Return whether an estimator is in a table here, with a twin (PCA) or without (FastICA)."""
    return (
        rule(estimator) is not None
        or array_api.handles(estimator)
        or _substitute(estimator) is not None
    )


def _boosts(estimator: Estimator, step: str) -> bool:
    found = is_xgboost(estimator) and type(estimator).__name__ in XGBOOST
    if found and (reasons := on_host_only(estimator, step)):
        raise Unsupported(*reasons)
    return found


def no_twin(estimator: Estimator, step: str) -> Reason:
    """Return the reason for an estimator that is in no table, with the nearest that is."""
    name = type(estimator).__name__
    on_host = "device='auto' to run this step on the CPU"
    if nearest := _substitute(estimator):
        instead = f"the nearest on the GPU is {nearest}; use it, or {on_host}"
    elif {"estimator", "estimators"} & set(estimator.get_params(deep=False)):
        instead = f"put Accelerated around the estimators inside it, or use {on_host}"
    else:
        instead = f"use {on_host}"
    return Reason(step, f"{name} has no rule for the GPU", instead)


def _substitute(estimator: Estimator) -> str | None:
    scikit_learns = type(estimator).__module__.startswith("sklearn.")
    return SUBSTITUTES.get(type(estimator).__name__) if scikit_learns else None


def order(estimator: Estimator) -> str:
    """Return the order of the matrix that an estimator learns from without making a copy."""
    found = rule(estimator)
    return found.order if found else "C"


def needs_dense(estimator: Estimator, step: str) -> Reason | None:
    """Return the reason against an estimator after a text vectorizer, if there is one."""
    found = rule(estimator)
    if text.handles(estimator) or (found and found.sparse):
        return None
    return Reason(
        step,
        f"{type(estimator).__name__} takes no sparse rows on the GPU, which text makes",
        "use one that does, as LogisticRegression, MultinomialNB or PCA, "
        "or device='auto' to run this step on the CPU",
    )
