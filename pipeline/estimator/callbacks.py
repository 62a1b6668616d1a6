"""scikit-learn's callbacks, told of the steps of a plan as its `Pipeline` tells them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from sklearn.callback import AutoPropagatedCallback, CallbackContext

from pipeline.planning.plan import Step, Watch
from pipeline.typing import Estimator, Table, Target


def tell_callbacks(model: Estimator, context: CallbackContext, X: Table, y: Target) -> Watch:
    """Return what tells callbacks of each step that is fitted; see `Plan.fit`.

    Parameters
    ----------
    model : Accelerated
    context : CallbackContext
        That of its `fit`.
    X, y : table and target
        What it is fitted on.
    """

    @contextmanager
    def fitting(step: Step, last: bool) -> Iterator[None]:
        name = "fit-final-estimator" if last else f"fit-transform-{step.name}"
        part = context.subcontext(task_name=name)
        with propagated(part, getattr(step.worker, "native", None)):
            part.call_on_fit_task_begin(estimator=model, X=X, y=y)
            yield
            part.call_on_fit_task_end(estimator=model, X=X, y=y)

    return fitting


def propagated(context: CallbackContext, estimator: Estimator) -> AbstractContextManager[Any]:
    """Return a context in which an estimator tells the callbacks what it does, if it can."""
    own = getattr(estimator, "_skl_callbacks", [])
    # One that has callbacks that hear of all inside it is heard by them alone.
    hears_itself = any(isinstance(each, AutoPropagatedCallback) for each in own)
    if hears_itself or not hasattr(estimator, "set_callbacks"):
        return nullcontext()
    telling: AbstractContextManager[Any] = context.propagate_callback_context(estimator)
    return telling
