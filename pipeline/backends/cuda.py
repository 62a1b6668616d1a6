"""On a GPU: XGBoost by its own parameter, cuML's estimators by table, or scikit-learn on CuPy."""

from __future__ import annotations

from typing import Any

from pipeline.backends import array_api
from pipeline.backends.base import Model, Placement, changed
from pipeline.backends.cpu import is_xgboost
from pipeline.backends.cuml import estimator as cuml_estimator
from pipeline.backends.cuml import text
from pipeline.backends.cuml.tables import SUBSTITUTES, XGBOOST, rule
from pipeline.backends.xgboost.estimator import Boosting, on_host_only
from pipeline.errors import Reason, Unsupported

ON_DEVICE = {"device": "cuda"}
PAIRS = "of more than two classes rows go through the host, and to_sklearn() is not possible"


def place(spec: Any, step: str, dtype: str = "float32") -> Model:
    """Return the estimator's twin on the GPU.

    Parameters
    ----------
    spec : estimator
    step : str
        Path of the step, for messages.
    dtype : {"float32", "float64"}
        Type of the matrix that a text vectorizer hands on, where its own cannot be had.

    Raises
    ------
    Unsupported
        There is none, or not for these parameters.
    """
    if _boosts(spec, step):
        return Boosting(spec, "cuda")
    if text.handles(spec):
        return text.Vectorizer(spec, step, dtype)
    if found := rule(spec):
        return cuml_estimator.Cuml(spec, found, step)
    if array_api.handles(spec):
        return array_api.OnCupy(spec, step)
    raise Unsupported(no_twin(spec, step))


def describe(spec: Any, step: str) -> Placement:
    """Return what runs an estimator, or raise `Unsupported`."""
    if _boosts(spec, step):
        return Placement(step, f"xgboost.{type(spec).__name__}", "cuda", parameters=ON_DEVICE)
    if text.handles(spec):
        return text.describe(spec, step)
    if array_api.handles(spec):
        return array_api.describe(spec, step)
    found = rule(spec)
    if not found:
        raise Unsupported(no_twin(spec, step))
    spec = cuml_estimator.in_python(spec)
    takes = changed(spec.get_params(deep=False), cuml_estimator.translate(found, spec, step))
    takes |= {"dtype": "float64"} if found.cutoff else {}
    takes |= {"dtype": "float32"} if found.narrow else {}
    lost = tuple(cuml_estimator.dropped(found, spec, step))
    notes = [f"without effect in cuML: {', '.join(lost)}"] if lost else []
    notes += [PAIRS] if found.pairs else []
    return Placement(step, found.twin, "cuda", "; ".join(notes), takes, lost)


def knows(spec: Any) -> bool:
    """Return whether an estimator is in a table here, with a twin (PCA) or without (FastICA)."""
    return rule(spec) is not None or array_api.handles(spec) or _substitute(spec) is not None


def _boosts(spec: Any, step: str) -> bool:
    found = is_xgboost(spec) and type(spec).__name__ in XGBOOST
    if found and (reasons := on_host_only(spec, step)):
        raise Unsupported(*reasons)
    return found


def no_twin(spec: Any, step: str) -> Reason:
    """Return the reason for an estimator that is in no table, with the nearest that is."""
    name = type(spec).__name__
    on_host = "device='auto' to run this step on the CPU"
    if nearest := _substitute(spec):
        instead = f"the nearest on the GPU is {nearest}; use it, or {on_host}"
    elif {"estimator", "estimators"} & set(spec.get_params(deep=False)):
        instead = f"put Accelerated around the estimators inside it, or use {on_host}"
    else:
        instead = f"use {on_host}"
    return Reason(step, f"{name} has no rule for the GPU", instead)


def _substitute(spec: Any) -> str | None:
    scikit_learns = type(spec).__module__.startswith("sklearn.")
    return SUBSTITUTES.get(type(spec).__name__) if scikit_learns else None


def order(spec: Any) -> str:
    """Return the order of the matrix that an estimator learns from without making a copy."""
    found = rule(spec)
    return found.order if found else "C"


def needs_dense(spec: Any, step: str) -> Reason | None:
    """Return the reason against an estimator after a text vectorizer, if there is one."""
    found = rule(spec)
    if text.handles(spec) or (found and found.sparse):
        return None
    return Reason(
        step,
        f"{type(spec).__name__} takes no sparse rows on the GPU, which text makes",
        "use one that does, as LogisticRegression, MultinomialNB or PCA, "
        "or device='auto' to run this step on the CPU",
    )
