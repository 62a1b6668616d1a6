"""What a search draws candidates from: parameters, and how a study holds their values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
import scipy.stats
from scipy.stats.distributions import rv_frozen
from sklearn.base import clone

from pipeline.errors import ConfigError, close_to
from pipeline.optional import load
from pipeline.tuning.default_spaces import default_space, unset
from pipeline.typing import Estimator

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

DEFAULT = "default"
_PLAIN = (type(None), bool, int, float, str)
"""The types that Optuna's storages hold."""
_NO_MATTER = {"memory", "n_jobs", "verbose", "verbosity"}
"""Parameters that do not change what an estimator learns."""
_OF_TEXT = "text "


@dataclass(frozen=True)
class Ranged:
    """Numbers between two ends, as Optuna draws them."""

    distribution: Any

    @property
    def text(self) -> str:
        """The same in each process, and another one for another parameter."""
        return str(self.distribution)

    @property
    def whole(self) -> bool:
        """Whether the numbers are whole."""
        return isinstance(self.distribution, load("optuna.distributions.IntDistribution"))

    def value(self, held: Any) -> Any:
        """Return what the estimator is given for what a study holds."""
        return held

    def hold(self, value: Any) -> Any:
        """Return what a study holds for a value; LookupError where it cannot be drawn.

        Where a range ends at 1.0, it is of shares, and 1 means one row or column.
        """
        each, known = self.distribution, isinstance(value, Integral if self.whole else Real)
        if not known or isinstance(value, bool) or not isfinite(float(value)):
            raise LookupError(value)
        count = not self.whole and isinstance(value, Integral) and value == 1 == each.high
        if count or not each._contains(float(value)):
            raise LookupError(value)
        return int(value) if self.whole else float(value)


@dataclass(frozen=True)
class Listed:
    """Values of any type; those that Optuna's storages cannot hold are held by a label."""

    values: Mapping[Any, Any]
    """What is held -> the value."""

    @classmethod
    def of(cls, where: str, given: Any) -> Listed:
        """Label the values, if one needs it; reject an empty list."""
        values = [each.item() if isinstance(each, np.generic) else each for each in given]
        if not values:
            raise ConfigError(f"{where} is empty; leave the parameter out, or pass values")
        # For Optuna and as a key, True and 1.0 are 1, and NaN is not itself.
        plain = all(isinstance(each, _PLAIN) and each == each for each in values)
        if not plain or len(set(values)) < len(values):
            return cls({f"{i}: {_short(each)}": each for i, each in enumerate(values)})
        return cls({each: each for each in values})

    @cached_property
    def distribution(self) -> Any:
        """Of what is held."""
        return load("optuna.distributions.CategoricalDistribution")(tuple(self.values))

    @cached_property
    def text(self) -> str:
        """All labels in their order, and a digest of the values."""
        return f"{[*self.values]} {digest(described([*self.values.values()]))}"

    def value(self, held: Any) -> Any:
        """Return the value; estimators as clones, so that no two candidates share one."""
        value = self.values[held]
        return value if isinstance(value, _PLAIN) else clone(value, safe=False)

    def hold(self, value: Any) -> Any:
        """Return what stands for a value that is the same as one of the list."""
        value = value.item() if isinstance(value, np.generic) else value
        for held, each in self.values.items():
            if _same(each, value):
                return held
        raise LookupError(value)


Parameter = Ranged | Listed


def parameter(name: str, given: Any) -> Parameter:
    """Return what a parameter is drawn from, or raise `ConfigError` where it cannot be used."""
    where, kinds = f"space[{name!r}]", load("optuna.distributions")
    if isinstance(given, kinds.CategoricalDistribution):
        return Listed.of(where, given.choices)
    if isinstance(given, kinds.FloatDistribution | kinds.IntDistribution):
        if not isfinite(given.low) or not isfinite(given.high):
            said = f"has the bounds {given.low} and {given.high}"
            raise ConfigError(f"{where} {said}; both must be finite")
        return Ranged(given)
    if isinstance(given, rv_frozen):
        return _of_scipy(where, given)
    text = isinstance(given, str | bytes)
    if isinstance(given, np.ndarray) and given.ndim or isinstance(given, Sequence) and not text:
        return Listed.of(where, given)
    raise ConfigError(
        f"{where} is {_short(given)}; pass a list of values, or a distribution of Optuna"
    )


def _of_scipy(where: str, given: Any) -> Ranged:
    kinds, (low, high) = load("optuna.distributions"), given.support()
    _, loc, _ = given.dist._parse_args(*given.args, **given.kwds)
    log = isinstance(given.dist, type(scipy.stats.loguniform)) and not np.any(loc)
    whole = isinstance(given.dist, type(scipy.stats.randint))
    known = log or whole or isinstance(given.dist, type(scipy.stats.uniform))
    if not known or not np.isfinite([low, high]).all():
        raise ConfigError(
            f"{where} is scipy.stats.{given.dist.name} with {given.args} and {given.kwds}, but "
            "only uniform, loguniform without loc, and randint with finite bounds are supported; "
            "pass a FloatDistribution or IntDistribution of Optuna, or a list of values"
        )
    if whole:
        return Ranged(kinds.IntDistribution(int(low), int(high)))
    return Ranged(kinds.FloatDistribution(float(low), float(high), log=log))


def _short(value: Any) -> str:
    if isinstance(value, set | frozenset):  # Their order differs between processes.
        return f"{{{', '.join(sorted(map(_short, value)))}}}"
    text = value.__qualname__ if hasattr(value, "__qualname__") else repr(value)
    text = re.sub(r"\s+", " ", _without_places(text))
    return text if len(text) <= 60 else f"{text[:59]}…"


def _without_places(text: str) -> str:
    return re.sub(r" at 0x[0-9A-Fa-f]+", "", text)


def _same(one: Any, other: Any) -> bool:
    """Whether two values are the same; of what cannot be pickled, only where it is one object."""
    if one is other or type(one) is not type(other):
        return one is other
    digests = {digest(described(each)) for each in (one, other)}
    return len(digests) == 1 and not digests.pop().startswith(_OF_TEXT)


def digest(value: Any) -> str:
    """Return a digest that is the same in each process; of what cannot be pickled, of its text.

    >>> digest([1, "a"]) == digest([1, "a"]) != digest([1, "b"])
    True
    """
    try:
        return str(joblib.hash(value, coerce_mmap=True))
    except Exception:  # An object may refuse to be pickled by any error.
        return f"{_OF_TEXT}{joblib.hash(_without_places(repr(value)))}"


def described(value: Any) -> Any:
    """Return a value with each estimator in it as its class and the parameters that matter.

    >>> from sklearn.decomposition import PCA
    >>> described([PCA(2)])[0][1][:2]
    [('copy', True), ('iterated_power', 'auto')]
    """
    if hasattr(value, "get_params") and not isinstance(value, type):
        params = sorted(value.get_params(deep=False).items())
        matters = [(name, each) for name, each in params if name not in _NO_MATTER]
        return type(value), [(name, described(each)) for name, each in matters]
    return [described(each) for each in value] if isinstance(value, list | tuple) else value


@dataclass(frozen=True)
class Space:
    """Parameters of an `estimator`, and what each trial draws them from."""

    parameters: Mapping[str, Parameter]
    estimator: Estimator

    @classmethod
    def of(cls, given: Any, estimator: Estimator) -> Space:
        """Return the space of `Search`, or raise `ConfigError` where it cannot be used."""
        if isinstance(given, str):
            if given != DEFAULT:
                raise ConfigError(f"space={given!r} is unknown; pass {DEFAULT!r} or a mapping")
            given = default_space(estimator)
        if not isinstance(given, Mapping):
            raise ConfigError(
                f"space is of type {type(given).__name__}; pass a mapping or {DEFAULT!r}, and run "
                "one search for each of several spaces"
            )
        if not given:
            raise ConfigError("space is empty; name at least one parameter")
        known = estimator.get_params()
        for name in given:
            # A step that is drawn itself may bring parameters of its own.
            if name not in known and not any(name.startswith(f"{each}__") for each in given):
                raise ConfigError(f"space[{name!r}]: {_say_unknown(str(name), known, estimator)}")
        return cls({name: parameter(name, each) for name, each in given.items()}, estimator)

    @cached_property
    def distributions(self) -> dict[str, BaseDistribution]:
        """What a study knows of: parameter -> distribution of Optuna."""
        return {name: each.distribution for name, each in self.parameters.items()}

    def read(self, drawn: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the `params` of a trial stand for, as `set_params` takes it."""
        return {name: each.value(drawn[name]) for name, each in self.parameters.items()}

    def place(self, params: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return what a trial with these parameters holds; None where they are not in the space."""
        known = {**params, **unset(self.estimator, params)}
        try:
            return {name: each.hold(known[name]) for name, each in self.parameters.items()}
        except LookupError:
            return None


def candidate_of(estimator: Estimator, params: Mapping[str, Any]) -> Estimator:
    """Return a clone of an estimator with parameters, of which no other candidate has a part."""
    return clone(estimator).set_params(**clone(dict(params), safe=False))


def _say_unknown(name: str, known: Mapping[str, Any], estimator: Estimator) -> str:
    ending = sorted(other for other in known if other.endswith(f"__{name}"))
    near = ending[0] if ending else close_to(name, known)
    way = f"did you mean {near!r}?" if near else "see its get_params()"
    return f"{type(estimator).__name__} has no such parameter; {way}"
