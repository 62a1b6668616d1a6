"""Which methods a model has, and which arguments by position: as its estimator does."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from types import MethodType
from typing import Any

from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if

from pipeline.backends.base import METHODS
from pipeline.compile.compile import as_step
from pipeline.compile.rules import obstacles_to_batches
from pipeline.errors import Unsupported
from pipeline.model.inputs import takes_weights
from pipeline.typing import Estimator

AS_IT_IS = ("predict", "score", "inverse_transform", "get_feature_names_out")
"""Methods that an unfitted estimator runs itself if it has nothing to learn."""


def spec_has(name: str) -> Any:
    """Return a decorator: the method exists if the estimator has one of this name.

    Some, such as `StackingClassifier`, have it once they are fitted. The estimator's own error is
    the cause of the error.
    """

    def has(model: Estimator) -> bool:
        own = hasattr(model.estimator, name) or _fitted_has(model, name)
        asked = None if own else model.estimator
        if own and name in METHODS and hasattr(model, "plan_"):
            # What a search has chosen may have fewer.
            fitted = getattr(model.plan_.steps[-1].worker, "native", None)
            asked = getattr(fitted, "best_estimator_", None)
        return asked is None or getattr(asked, name) is not None

    def decorate(method: Callable[..., Any]) -> Any:
        ours = by_position(method)

        @wraps(method)
        def call(model: Estimator, *args: Any, **params: Any) -> Any:
            if name in AS_IT_IS and not hasattr(model, "plan_") and not needs_fit(model.estimator):
                return getattr(model.estimator, name)(*args, **params)
            return ours(model, *args, **params)

        return available_if(has)(call)

    return decorate


def _fitted_has(model: Estimator, name: str) -> bool:
    if not hasattr(model, "plan_"):
        return False
    whole, step = model.estimator, model.plan_.steps[-1]
    fitted = getattr(step.worker, "native", None)
    if isinstance(whole, Pipeline) and not model.plan_.as_given:
        last, own = whole.steps[-1]
        if step.name != last or type(fitted) is not type(own):
            return False
        # All that a fit may give a pipeline is what its last step gives it.
        fitted = Pipeline([*whole.steps[:-1], (last, fitted)])
    return type(fitted) is type(whole) and hasattr(fitted, name)


def needs_fit(estimator: Estimator) -> bool:
    """Return whether an estimator, or a step of a container, has something to learn."""
    if isinstance(estimator, (Pipeline, FeatureUnion)):
        whole = isinstance(estimator, Pipeline)
        steps = [step for _, step in (estimator.steps if whole else estimator.transformer_list)]
        return any(needs_fit(step) for step in steps if step not in ("passthrough", "drop", None))
    return not hasattr(estimator, "__sklearn_tags__") or bool(get_tags(estimator).requires_fit)


def by_position(method: Callable[..., Any]) -> Any:
    """Return a method that takes by position, behind its own, what the estimator's does."""
    n = sum(p.kind is p.POSITIONAL_OR_KEYWORD for p in signature(method).parameters.values()) - 1

    @wraps(method)
    def call(model: Estimator, *args: Any, **params: Any) -> Any:
        if args[n:]:
            given = signature(getattr(model.estimator, method.__name__)).bind(*args).arguments
            params = {**params, **dict(list(given.items())[n:])}
        return method(model, *args[:n], **params)

    return call


class weighted:  # noqa: N801 - a decorator
    """A `fit` that shows `sample_weight` only if the estimator supports it.

    Meta-estimators of scikit-learn read the signature to know whether to pass weights.
    """

    def __init__(self, fit: Callable[..., Any]) -> None:
        self.fit, self.plain, self.__doc__ = by_position(fit), by_position(fit), fit.__doc__
        shown = signature(fit)
        others = [each for each in shown.parameters.values() if each.name != "sample_weight"]
        self.plain.__signature__ = shown.replace(parameters=others)

    def __get__(self, model: Estimator, owner: type | None = None) -> Callable[..., Any]:
        """Return the method of a model, or the function of the class."""
        if model is None:
            return self.fit
        return MethodType(self.fit if takes_weights(model.estimator) else self.plain, model)


def learns_in_batches(model: Estimator) -> bool:
    """Return whether there is a `partial_fit`; the error says why a transformer has none."""
    op = as_step(model.estimator)
    blocks = op is not None and op.on_blocks
    if op is not None and blocks and (found := obstacles_to_batches(op)):
        raise AttributeError(f"{Unsupported(*found)}")
    if hasattr(model, "plan_"):
        forgotten = [program.forgotten for program in model.plan_.programs]
        if any(forgotten) and len(forgotten) == len(model.plan_.steps):
            raise AttributeError("; ".join(filter(None, forgotten)))
    return blocks or hasattr(model.estimator, "partial_fit")
