"""Attributes of the fitted estimator that a model does not have itself: lifted on first use."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from pipeline.compile.plan import Plan
from pipeline.errors import ConfigError, PipelineError
from pipeline.table.borrowed import Held, same, shown

CHANGE = ("fit", "load_model", "partial_fit", "set_")
"""How the methods begin that would change the lifted estimator, not the model."""
COLUMNS = ("n_features_in_", "feature_names_in_")
"""What a model stores about its columns, as the schema decides."""
OWN = {
    *("checkpoint", "device", "dtype", "estimator", "fallback", "host_bytes", "profile"),
    *("certificate_", "classes_", "device_", "device_why_", "execution_log_"),
    *("inputs_", "plan_", "profile_", "table_format_", "target_names_"),
}
"""The attributes of a model that are not the estimator's."""


class Lifts(BaseEstimator):
    """A model with the attributes of the fitted scikit-learn estimator beside its own."""

    estimator: Any
    plan_: Plan
    _as_fitted: tuple[Held, dict[str, Any]]
    _as_lifted: Held
    _learnt_classes: Any

    def to_sklearn(self) -> Any:
        """Return the fitted scikit-learn or XGBoost estimator.

        It needs neither a GPU nor this package.
        """
        check_is_fitted(self, "plan_")
        self._check_lifted()
        return self.plan_.to_sklearn()

    @cached_property
    def _lifted(self) -> Any:
        """What `to_sklearn` returns, without a step that the estimator does not have."""
        lifted = shown(self.fitted_estimator())
        how = vars(self).get("_sklearn_output_config", {}).get("transform")
        if how is not None:  # it may have been chosen after `fit`
            lifted.set_output(transform=how)
        self._as_lifted = Held(lifted, fitted=True)
        return lifted

    def fitted_estimator(self) -> Any:
        """Return what `to_sklearn` does, without a step that the estimator does not have."""
        lifted = self.to_sklearn()
        alone = isinstance(lifted, Pipeline) and not isinstance(self.estimator, Pipeline)
        return lifted[-1] if alone else lifted

    def _check_lifted(self) -> None:
        """Check that nothing was written to what was lifted, which the device would not read.

        If something was, it is undone, and a `ConfigError`.
        """
        if "_lifted" in vars(self) and (what := self._as_lifted.changed):
            self._forget()
            raise ConfigError(
                f"{what} was changed after `fit`, but this model does not use the change, which "
                "was undone; change what to_sklearn() returns, or call fit again"
            )

    def _check_unchanged(self) -> None:
        """Check that parameters and fitted attributes are those of `fit`."""
        now = vars(self)
        if "_lifted" in now:
            self._check_lifted()
        held, settings = self._as_fitted
        what = "estimator" if self.estimator is not held.estimator else held.changed
        for name, value in settings.items():
            what = what or ("" if (new := now.get(name)) is value or same(new, value) else name)
        if what:
            raise ConfigError(
                f"{what} was changed after `fit`, but this model does not use the change; call fit "
                "again, or change what to_sklearn() returns"
            )

    def __setattr__(self, name: str, value: Any) -> None:
        """Set a parameter, or what is the model's own; the fitted estimator would not change."""
        own = name[:1] == "_" or name in OWN or hasattr(type(self), name)
        learnt = name.endswith("_") or hasattr(vars(self).get("estimator"), name)
        if learnt and not own and "plan_" in vars(self):
            raise AttributeError(
                f"{name} belongs to the fitted estimator, and this model does not use a new value; "
                "set it on what to_sklearn() returns, or call fit again"
            )
        super().__setattr__(name, value)

    def _remember_parameters(self, held: Held) -> None:
        """Remember what `fit` has read, and labels that later changes could not reach."""
        now = self.__dict__
        settings = {"device": now.get("device"), "dtype": now.get("dtype")}
        if not isinstance(self._learnt_classes, np.ndarray):
            settings["classes_"] = now.get("classes_")
        now["_as_fitted"] = held, settings

    def _forget(self) -> None:
        """Forget results that belong to an earlier state."""
        for name in ("_lifted", "_as_lifted", "certificate_"):
            self.__dict__.pop(name, None)

    def __getattr__(self, name: str) -> Any:
        """Return a public attribute of the fitted estimator."""
        if hasattr(type(self), name):  # a method that the estimator does not have, with its reason
            try:
                return object.__getattribute__(self, name)
            except AttributeError as error:
                if error.__cause__ is None:
                    raise
                raise AttributeError(f"{error}: {error.__cause__}") from error
        missing = f"{type(self).__name__!r} object has no attribute {name!r}"
        if name.startswith("_"):
            raise AttributeError(missing)
        if "plan_" not in vars(self):
            raise NotFittedError(
                f"{missing} before `fit`; read it from its `estimator`, or call fit"
            )
        try:
            found = getattr(self._lifted, name)
        except (AttributeError, PipelineError) as error:
            lifted = self._lifted
            last = isinstance(lifted, Pipeline) and hasattr(lifted[-1], name)
            where = f"; use that of its last step, model[-1].{name}" if last else ""
            raise AttributeError(f"{error}{where}") from error
        if callable(found) and name.startswith(CHANGE):
            raise AttributeError(
                f"{missing}: it would not change this model; call it on what to_sklearn() returns"
            )
        return found

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
        """Leave out what is lifted: it is created again."""
        self._check_lifted()
        state: dict[str, Any] = super().__getstate__()
        return {n: value for n, value in state.items() if n not in ("_lifted", "_as_lifted")}

    def __getitem__(self, key: Any) -> Any:
        """Return a fitted step, or a pipeline of some; a tree of a forest."""
        return self._lifted[key]

    def __len__(self) -> int:
        """Return the number of fitted steps or of trees."""
        return len(self._lifted)

    def __bool__(self) -> bool:
        """Return True: it is a model, whatever its length."""
        return True
