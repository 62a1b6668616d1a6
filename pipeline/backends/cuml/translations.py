"""How cuML translates the parameters of scikit-learn, and what it rejects.

``translations.json`` holds cuML's own translation as ``make contract-snapshot`` learns it from one
release; it is used where cuML is not installed. Each question is a list of cases, the first of
which that holds counts. For classes that cuML has no translation of, a `Translation` is ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
import numpy as np
from sklearn.base import BaseEstimator, clone

from pipeline import records
from pipeline.errors import Reason, Unsupported
from pipeline.typing import Array, Estimator, ReadParams

SCHEMA: Final = "pipeline.translations/2"
PATH = Path(__file__).with_name("translations.json")


class TranslationOutcome(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True
):
    """The value of a parameter of cuML: a constant, or that of a parameter of the estimator."""

    of: str = ""
    """The parameter of the estimator; empty for the constant."""
    constant: Any = None
    times: int = 1
    plus: int = 0
    first: int = 0
    """How many of its items; 0 for all of it."""

    def __call__(self, params: ReadParams) -> Any:
        """Return the value for the parameters of a estimator."""
        value = params[self.of] if self.of else self.constant
        value = value if self.times == 1 else self.times * value
        value = value + self.plus if self.plus else value
        return value[: self.first] if self.first else value


class Case(
    msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, omit_defaults=True
):
    """An outcome for some values of a parameter; without a parameter, for all others."""

    then: TranslationOutcome | str | None
    """The reason for what is rejected, or the value of a parameter; None if there is none."""
    parameter: str = ""
    test: str = ""
    against: list[Any] = []


class FrozenTranslation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """For one estimator: what cuML rejects, and the value of each parameter of its class."""

    refused: list[Case]
    takes: dict[str, list[Case]]
    same: list[str] = []
    """Parameters of its class that have the name and the value of one of the estimator."""


class FrozenTranslations(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All of it, with the releases that were asked."""

    schema: Literal["pipeline.translations/2"]
    versions: dict[str, str]
    estimators: dict[str, FrozenTranslation]
    """By the public name of the estimator."""


def same(value: Array, other: Any) -> bool:
    """Return whether a value is one from JSON, of which true and false are no numbers.

    >>> same(0.0, 0), same(0, False), same((None, None), [None, None])
    (True, False, True)
    """
    if isinstance(other, list):
        alike = isinstance(value, tuple | list) and len(value) == len(other)
        return alike and all(map(same, value, other))
    if other is None or isinstance(other, bool):
        return value is other
    return isinstance(value, str if isinstance(other, str) else Real) and bool(value == other)


TESTS: dict[str, Callable[[Any, list[Any]], bool]] = {
    "none": lambda value, _: value is None,
    "true": lambda value, _: isinstance(value, bool | dict) and bool(value),
    "callable": lambda value, _: callable(value),
    "text": lambda value, _: isinstance(value, str),
    "integer": lambda value, _: isinstance(value, int),
    "in": lambda value, against: any(same(value, each) for each in against),
    "other text": lambda value, against: isinstance(value, str) and value not in against,
    "below": lambda value, against: isinstance(value, Real) and value < against[0],
    "above": lambda value, against: isinstance(value, Real) and value > against[0],
}
"""Tests of a value; "not " before the name negates one."""


def holds(test: str, against: list[Any], value: Array) -> bool:
    """Return whether a test holds of a value.

    >>> holds("not in", ["l2"], "l1"), holds("above", [1024], 1025), holds("none", [], 0)
    (True, True, False)
    """
    return TESTS[test.removeprefix("not ")](value, against) != test.startswith("not ")


def first(cases: list[Case], params: ReadParams) -> Any:
    """Return the outcome of the first case that holds."""
    return next(
        case.then
        for case in cases
        if not case.parameter or holds(case.test, case.against, params[case.parameter])
    )


@lru_cache(maxsize=1)
def load_frozen() -> FrozenTranslations:
    """Read and validate the frozen translations."""
    return records.load_record(
        PATH, FrozenTranslations, schema=SCHEMA, command="make contract-snapshot"
    )


def translate_frozen(name: str, params: ReadParams) -> dict[str, Any]:
    """Return cuML's parameters for those of an estimator, by its public name, as cuML itself would.

    As there, a value without equivalent is a ValueError, with the reason in cuML's words.
    """
    frozen = load_frozen().estimators[name]
    if why := first(frozen.refused, params):
        raise ValueError(why.format(**params))
    outcomes = {taken: first(cases, params) for taken, cases in frozen.takes.items()}
    others = {taken: outcome(params) for taken, outcome in outcomes.items() if outcome is not None}
    return {name: params[name] for name in frozen.same} | others


Check = Callable[[Any], bool]


@dataclass(frozen=True)
class Translation:
    """The translation of one class, in both directions."""

    same: tuple[str, ...]
    """Parameters that mean the same to cuML."""
    only: Mapping[str, Check]
    """Parameter -> whether a value of it can be honoured."""
    attributes: Callable[[Any], dict[str, Any]]
    """From the fitted cuML estimator to the fitted attributes of scikit-learn's, which may still be
    on the device."""

    def translate(self, estimator: BaseEstimator, step: str) -> dict[str, Any]:
        """Return cuML's parameters, or raise `Unsupported` for values that it cannot honour."""
        refuse_values(self.only, estimator, step)
        given = {name: getattr(estimator, name) for name in self.same}
        # cuML asks lists for their shape.
        lists = {name: np.asarray(v) for name, v in given.items() if isinstance(v, list | tuple)}
        return given | lists

    def lift(self, fitted: Estimator, estimator: BaseEstimator) -> Any:
        """Return a fitted scikit-learn estimator with the state of the cuML one."""
        lifted = clone(estimator)
        lifted.n_features_in_ = int(fitted.n_features_in_)
        for name, value in self.attributes(fitted).items():
            setattr(lifted, name, value)
        return lifted


def refuse_values(only: Mapping[str, Check], estimator: BaseEstimator, step: str) -> None:
    """Raise `Unsupported` for values of parameters that cannot be honoured."""
    suggestion = "change it, or run the step on the CPU with device='auto'"
    refused = [
        Reason(step, f"cuML has no equivalent of {getattr(estimator, name)!r}", suggestion, name)
        for name, honoured in only.items()
        if not honoured(getattr(estimator, name))
    ]
    if refused:
        raise Unsupported(*refused)


def scalar(value: Array) -> bool:
    """Return whether a value is no array."""
    return np.ndim(value) == 0


def one_of(*values: Any) -> Check:
    """Return a check that a value is one of these; an array is none."""
    return lambda value: scalar(value) and value in values


def whole(value: Array) -> bool:
    """Return whether a value is a whole number; True and False are none."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def whole_or_none(value: Array) -> bool:
    """Return whether a value is a whole number or None."""
    return value is None or whole(value)


def _named(*names: str) -> Callable[[Any], dict[str, Any]]:
    return lambda fitted: {name: getattr(fitted, name) for name in names}


def _gaussian(fitted: Estimator) -> dict[str, Any]:
    state = _named("classes_", "class_count_", "class_prior_", "theta_")(fitted)
    # cuML adds the smoothing to the variances, as scikit-learn does.
    return {**state, "var_": fitted.sigma_, "epsilon_": float(fitted.epsilon_)}


def _projection(fitted: Estimator) -> dict[str, Any]:
    state = _named("components_", "n_components_")(fitted)
    density = {"density_": fitted.density_} if hasattr(fitted, "density_") else {}
    return {**state, **density, "_n_features_out": fitted.n_components_}


_COUNTED = ("classes_", "class_count_", "class_log_prior_", "feature_count_", "feature_log_prob_")
_PRIOR = ("alpha", "fit_prior", "class_prior")
_SMOOTHED = {"alpha": scalar, "force_alpha": one_of(True)}
_PROJECTED = ("n_components", "eps", "random_state")
_NO_INVERSE = {"compute_inverse_components": one_of(False)}

MULTINOMIAL = Translation(_PRIOR, _SMOOTHED, _named(*_COUNTED))
BERNOULLI = Translation((*_PRIOR, "binarize"), _SMOOTHED, _named(*_COUNTED))
COMPLEMENT = Translation((*_PRIOR, "norm"), _SMOOTHED, _named(*_COUNTED, "feature_all_"))
GAUSSIAN = Translation(("priors", "var_smoothing"), {}, _gaussian)
GAUSSIAN_PROJECTION = Translation(_PROJECTED, _NO_INVERSE, _projection)
SPARSE_PROJECTION = Translation((*_PROJECTED, "density", "dense_output"), _NO_INVERSE, _projection)
