"""What the fitted estimator has and a model has not: lifted when it is first asked for."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from pipeline.errors import PipelineError
from pipeline.planning.plan import Plan
from pipeline.typing import Estimator

CHANGE = ("fit", "load_model", "partial_fit", "set_")
"""How the methods begin that would change what was lifted, and not the model."""


class Lifts(BaseEstimator):
    """A model that answers as the fitted scikit-learn estimator does where it has no answer."""

    estimator: Any
    plan_: Plan

    def to_sklearn(self) -> Any:
        """Return the fitted scikit-learn or XGBoost estimator; it needs no GPU and not us."""
        check_is_fitted(self, "plan_")
        return self.plan_.to_sklearn()

    @cached_property
    def _lifted(self) -> Any:
        """What `to_sklearn` returns, without a step that the estimator has not."""
        lifted = self.to_sklearn()
        alone = isinstance(lifted, Pipeline) and not isinstance(self.estimator, Pipeline)
        return lifted[-1] if alone else lifted

    def _forget(self) -> None:
        """Forget what was found out about what was learnt before."""
        for name in ("_lifted", "certificate_"):
            self.__dict__.pop(name, None)

    def __getattr__(self, name: str) -> Any:
        """Return a public attribute of the fitted estimator."""
        if hasattr(type(self), name):  # a method that the estimator has not
            return self._why_missing(name)
        missing = f"{type(self).__name__!r} object has no attribute {name!r}"
        if name.startswith("_"):
            raise AttributeError(missing)
        if "plan_" not in vars(self):
            raise NotFittedError(f"{missing} before `fit`; see its estimator")
        try:
            found = getattr(self._lifted, name)
        except (AttributeError, PipelineError) as error:
            raise AttributeError(f"{error}{_where(self._lifted, name)}") from error
        if callable(found) and name.startswith(CHANGE):
            raise AttributeError(f"{missing}: it would not change this model; call to_sklearn()")
        return found

    def _why_missing(self, name: str) -> Any:
        """Raise the error of a method that is not there, with its reason."""
        try:
            return object.__getattribute__(self, name)
        except AttributeError as error:
            if error.__cause__ is None:
                raise
            raise AttributeError(f"{error}: {error.__cause__}") from error

    def __dir__(self) -> Iterable[str]:
        """Return the names of the fitted estimator too."""
        own = super().__dir__()
        if "plan_" not in vars(self):
            return own
        try:
            fitted = {*dir(self._lifted)}
        except PipelineError:  # there is no such estimator
            return own
        methods = {name for name in dir(type(self._lifted)) if name.startswith(CHANGE)}
        return {*own, *(name for name in fitted - methods if not name.startswith("_"))}

    def __getstate__(self) -> dict[str, Any]:
        """Leave what is lifted behind: it is made again."""
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_lifted"}

    def __getitem__(self, key: Any) -> Any:
        """Return a fitted step, or a pipeline of some; a tree of a forest."""
        return self._lifted[key]

    def __len__(self) -> int:
        """Return the number of fitted steps or of trees."""
        return len(self._lifted)

    def __bool__(self) -> bool:
        """Return True: it is a model, whatever its length."""
        return True


def _where(fitted: Estimator, name: str) -> str:
    """Return which step of a pipeline has an attribute, as the end of a sentence."""
    last = isinstance(fitted, Pipeline) and hasattr(fitted[-1], name)
    return f"; its last step has it: model[-1].{name}" if last else ""
