"""Classes that stand in the places of scikit-learn's and run through `Accelerated`.

Each has the name, the parameters and the signatures of the class it stands for. Its methods are
those of ``Accelerated(estimator, device="cpu")``, which is given scikit-learn's own classes; its
fitted attributes are those of `to_sklearn()`. An error is whatever `Accelerated` raises.
"""

from __future__ import annotations

import copy
from abc import ABCMeta
from collections.abc import Callable
from functools import partial, wraps
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.utils import all_estimators
from sklearn.utils.metaestimators import available_if

from pipeline import Accelerated
from pipeline.twins import TWINS

LEARNING = {"fit", "fit_transform", "fit_predict", "partial_fit"}
METHODS = LEARNING | {
    "transform", "inverse_transform", "predict", "predict_proba", "predict_log_proba",
    "decision_function", "score", "score_samples", "get_feature_names_out",
}  # fmt: skip
FAMILIES = (
    "linear_model", "ensemble", "svm", "decomposition", "neighbors", "cluster", "naive_bayes",
)  # fmt: skip
"""The modules whose estimators are stood in for, beside those that have a twin."""
calls: list[str] = []
"""The classes whose methods ran, one entry a call; whoever counts empties it."""


class StandInType(ABCMeta):
    """The type of the stand-ins: to every check they are the class that they stand for."""

    real: type

    def __new__(cls, name: str, bases: tuple[type, ...], space: dict[str, Any]) -> Any:
        """Make a stand-in; of a class that a test derives, one of scikit-learn's own."""
        if not any(isinstance(base, StandInType) for base in bases):
            return super().__new__(cls, name, bases, space)
        bases = tuple(real_of(base) for base in bases)
        return type(bases[0])(name, bases, space)

    def __instancecheck__(cls, instance: Any) -> bool:
        return cls.real in type(instance).__mro__

    def __subclasscheck__(cls, subclass: type) -> bool:
        return cls.real in subclass.__mro__

    def __eq__(cls, other: object) -> bool:
        return cls.real is (other.real if isinstance(other, StandInType) else other)

    def __hash__(cls) -> int:
        return hash(cls.real)


def real_of(value: Any, around: frozenset[int] = frozenset()) -> Any:
    """Return a value with scikit-learn's own classes, and their state, for every stand-in in it.

    `around` holds what the value is in; what is in itself stays.
    """
    if isinstance(value, StandInType):
        return value.real
    if not isinstance(value, (list, tuple, dict, BaseEstimator)) or id(value) in around:
        return value
    around |= {id(value)}
    if isinstance(value, BaseEstimator):
        return _real_estimator(value, around)
    parts = list(value.values() if isinstance(value, dict) else value)
    made = [real_of(each, around) for each in parts]
    if all(a is b for a, b in zip(made, parts, strict=True)):
        return value
    return dict(zip(value, made, strict=True)) if isinstance(value, dict) else type(value)(made)


def _real_estimator(estimator: Any, around: frozenset[int]) -> Any:
    state = {name: each for name, each in vars(estimator).items() if name != "_model"}
    changed = real_of(state, around)
    kind = type(estimator)
    if isinstance(kind, StandInType):
        made = object.__new__(kind.real)
    elif changed is state:
        return estimator
    else:
        made = copy.copy(estimator)
    vars(made).update(changed)
    return made


def _model(estimator: Any, method: str = "") -> Any:
    """Return what a method of a stand-in is called on: a new model where it learns anew."""
    known = vars(estimator).get("_model")
    if known is None or method in LEARNING - {"partial_fit"}:
        return Accelerated(real_of(estimator), device="cpu", dtype="auto")
    return known


def _has(method: str, estimator: Any) -> bool:
    """Return True, or raise the first cause of why `Accelerated` has no such method."""
    try:
        return getattr(_model(estimator, method), method) is not None
    except AttributeError as error:
        while isinstance(error.__cause__, AttributeError):
            error = error.__cause__
        raise error


def _through(method: str, own: Callable[..., Any]) -> Any:
    """Return the method of a stand-in."""

    @available_if(partial(_has, method))
    @wraps(own)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        calls.append(type(self).__name__)
        model = _model(self, method)
        made = getattr(model, method)(*args, **kwargs)
        if method in LEARNING:
            adopt(self, model.to_sklearn(), model)
        return self if made is model else made

    return call


def adopt(estimator: Any, fitted: Any, model: Any) -> None:
    """Give a stand-in the fitted attributes of a lifted estimator, and the model of its methods."""
    state = vars(estimator)
    parameters = {*type(fitted)._get_param_names()}
    for name in {name for name in state if name.endswith("_")} - parameters:
        del state[name]
    own = {*parameters, *(name for name in state if not name.startswith("_"))}
    learnt = {name: each for name, each in vars(fitted).items() if name not in own}
    state.update(learnt, _model=model)
    for steps in {"steps", "transformer_list"} & parameters:
        pairs = zip(getattr(estimator, steps), getattr(fitted, steps), strict=True)
        copied = getattr(estimator, "memory", None) is not None
        made = [new if copied else _adopt_step(old, new) for old, new in pairs]
        setattr(estimator, steps, made)


def _adopt_step(given: tuple[str, Any], lifted: tuple[str, Any]) -> tuple[str, Any]:
    """Fit a step where it stands, as scikit-learn's `Pipeline` and `FeatureUnion` do."""
    step = given[1]
    if isinstance(type(step), StandInType):
        adopt(step, lifted[1], lifted[1])
    elif isinstance(step, str) or step is None:
        return lifted
    elif type(step) is type(lifted[1]) and hasattr(step, "__dict__"):
        vars(step).update(vars(lifted[1]))
    return given


def _set_output(real: Any) -> Any:
    @wraps(real.set_output)
    def set_output(self: Any, *, transform: str | None = None) -> Any:
        real.set_output(self, transform=transform)
        if "_model" in vars(self):
            self._model.set_output(transform=transform)
        return self

    return set_output


def _stand_in(real: type) -> type:
    """Return the class that stands in the place of another."""
    made = StandInType(real.__name__, (real,), {"__module__": __name__, "real": real})
    # Set after the class is made: scikit-learn would wrap what `transform` returns.
    for name in METHODS & {*dir(real)}:
        setattr(made, name, _through(name, getattr(real, name)))
    if hasattr(real, "set_output"):
        made.set_output = _set_output(real)
    return made


FINALS = {real for _, real in all_estimators() if real.__module__.split(".")[1] in FAMILIES}
STAND_INS = {
    real: _stand_in(real)
    for real in (*TWINS, Pipeline, ColumnTransformer, FeatureUnion, *FINALS)
    if real.__module__.startswith("sklearn.")
}
# Pickle finds them by name.
globals().update({made.__name__: made for made in STAND_INS.values()})
