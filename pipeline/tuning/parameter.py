"""What one parameter of a space is drawn from, and how values are held in a study."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from math import isclose, isfinite, isinf, log
from numbers import Integral, Real
from types import FunctionType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import scipy.stats
from scipy.stats.distributions import rv_frozen
from sklearn.base import clone

from pipeline.backends.identity import identify_if_known
from pipeline.errors import ConfigError
from pipeline.optional import load

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

EDGE = 0.05
"""The share of a range that counts as its end."""

_PLAIN = (type(None), bool, int, float, str)
"""What Optuna's storages hold."""

_TAIL = 1e-9
"""The probability that is cut off at each end of what has no distribution of Optuna."""


class Parameter(Protocol):
    """What a parameter is drawn from."""

    @property
    def distribution(self) -> BaseDistribution:
        """What a study draws from."""

    @property
    def text(self) -> str:
        """The same in each process, and another one for another parameter."""

    def value(self, held: Any) -> Any:
        """Return what the estimator is given for what a study holds."""

    def hold(self, value: Any) -> Any:
        """Return what a study holds for a value; LookupError where it cannot be drawn."""

    def edge(self, held: Any, limits: Sequence[float]) -> str:
        """Return the end of the range that the value is at: "low", "high", or empty.

        An end is none where the parameter can take no values beyond it, its `limits`.
        """


def parameter(name: str, given: Any) -> Parameter:
    """Return what a user's words for a parameter stand for.

    Parameters
    ----------
    name : str
    given : distribution of Optuna, frozen distribution of scipy, or sequence
        A sequence holds values of any type.

    Raises
    ------
    ConfigError
        It is none of these, or nothing can be drawn from it.
    """
    where = f"space[{name!r}]"
    kinds = load("optuna.distributions")
    if isinstance(given, kinds.CategoricalDistribution):
        return Listed.of(where, given.choices)
    if isinstance(given, kinds.FloatDistribution | kinds.IntDistribution):
        return Ranged.of(where, given)
    if isinstance(given, rv_frozen):
        return _of_scipy(where, given)
    if isinstance(given, scipy.stats.rv_continuous | scipy.stats.rv_discrete):
        said = f"scipy.stats.{given.name}"
        raise ConfigError(f"{where} is a distribution without its arguments; pass {said}(...)")
    if isinstance(given, np.ndarray) and given.ndim or _is_sequence(given):
        return Listed.of(where, given)
    if hasattr(given, "rvs"):
        raise ConfigError(
            f"{where} has no quantiles; pass a frozen distribution of scipy, or a list"
        )
    many = isinstance(given, Iterable) and not isinstance(given, str | bytes)
    wanted = "a list of its values" if many else f"[{_short(given)}] for this value alone"
    raise ConfigError(
        f"{where} is {_short(given)}, which is neither a list of values nor a distribution of "
        f"Optuna or scipy; pass {wanted}"
    )


def _is_sequence(given: Any) -> bool:
    return isinstance(given, Sequence) and not isinstance(given, str | bytes)


@dataclass(frozen=True)
class Ranged:
    """Numbers between two ends, as Optuna draws them."""

    distribution: Any

    @classmethod
    def of(cls, where: str, given: BaseDistribution) -> Ranged:
        """Check a distribution of Optuna."""
        ends = given.low, given.high
        if not all(map(isfinite, ends)):
            raise ConfigError(f"{where} has the ends {ends[0]} and {ends[1]}; both must be numbers")
        return cls(given)

    @property
    def text(self) -> str:
        """Optuna's own."""
        return str(self.distribution)

    @property
    def whole(self) -> bool:
        """Whether the numbers are whole."""
        return isinstance(self.distribution, load("optuna.distributions.IntDistribution"))

    def value(self, held: Any) -> Any:
        """Return the number."""
        return held

    def hold(self, value: Any) -> Any:
        """Return the number, where it lies in the range."""
        each = self.distribution
        if isinstance(value, bool) or not isinstance(value, Integral if self.whole else Real):
            raise LookupError(value)
        number = float(value)
        if not isfinite(number) or (each.log and number <= 0) or not each._contains(number):
            raise LookupError(value)
        return int(number) if self.whole else number

    def edge(self, held: Any, limits: Sequence[float]) -> str:
        """Return the end that a number is at."""
        each = self.distribution
        return _edge(held, each.low, each.high, limits, whole=self.whole, logarithmic=each.log)


@dataclass(frozen=True)
class Listed:
    """Values of any type; those that Optuna's storages cannot hold are held by a label."""

    values: Mapping[Any, Any]
    """What is held -> the value."""

    @classmethod
    def of(cls, where: str, given: Any) -> Listed:
        """Label what needs a label.

        Raises
        ------
        ConfigError
            There is no value, one is NaN, or one is there twice.
        """
        values = [each.item() if isinstance(each, np.generic) else each for each in given]
        if not values:
            raise ConfigError(f"{where} is empty; leave the parameter out, or give it values")
        if any(isinstance(each, float) and each != each for each in values):
            raise ConfigError(f"{where} holds NaN; leave it out")
        known: dict[str, Any] = {}
        for each in values:
            text = identity(each)
            if text in known and (_is_data(each) or known[text] is each):
                raise ConfigError(f"{where} holds {_short(each)} twice; leave one out")
            known[text] = each
        return cls(_labelled(values))

    @cached_property
    def distribution(self) -> Any:
        """Of what is held."""
        return load("optuna.distributions.CategoricalDistribution")(tuple(self.values))

    @cached_property
    def text(self) -> str:
        """All values, in their order."""
        return f"[{', '.join(map(identity, self.values.values()))}]"

    def value(self, held: Any) -> Any:
        """Return the value; estimators as clones, so that no two candidates share one."""
        value = self.values[held]
        return value if isinstance(value, _PLAIN) else clone(value, safe=False)

    def hold(self, value: Any) -> Any:
        """Return what stands for a value that is the same as one of the list."""
        value = value.item() if isinstance(value, np.generic) else value
        text, number = identity(value), type(value) in (int, float)
        same = {
            held: each is value or (_is_data(each) and identity(each) == text)
            for held, each in self.values.items()
        }
        equal = {
            held: number and type(each) in (int, float) and each == value
            for held, each in self.values.items()
        }
        for held in (*filter(same.get, same), *filter(equal.get, equal)):
            return held
        raise LookupError(value)

    def edge(self, held: Any, limits: Sequence[float]) -> str:
        """Return nothing: a list has no ends."""
        return ""


@dataclass(frozen=True)
class Quantiles:
    """A distribution of scipy that Optuna lacks, as its quantile of a uniform number."""

    frozen: Any
    discrete: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "discrete", hasattr(self.frozen.dist, "pmf"))

    @cached_property
    def distribution(self) -> Any:
        """Of the uniform number."""
        return load("optuna.distributions.FloatDistribution")(_TAIL, 1 - _TAIL)

    @cached_property
    def text(self) -> str:
        """The name of the distribution and its arguments; quantiles of those that have no name."""
        dist, args = self.frozen.dist, identity((self.frozen.args, self.frozen.kwds))
        points = "" if _is_named(dist) else str(self.frozen.ppf([0.01, 0.25, 0.5, 0.75, 0.99]))
        return f"{dist.name}{args}{points}"

    def value(self, held: Any) -> Any:
        """Return the quantile."""
        value = float(self.frozen.ppf(held))
        return int(value) if self.discrete and value.is_integer() else value

    def hold(self, value: Any) -> Any:
        """Return the probability below a number, where that leads back to it."""
        if isinstance(value, bool) or not isinstance(value, Real):
            raise LookupError(value)
        held = float(np.clip(self.frozen.cdf(value), _TAIL, 1 - _TAIL))
        if not isclose(self.value(held), value, rel_tol=1e-6, abs_tol=1e-12):
            raise LookupError(value)
        return held

    def edge(self, held: Any, limits: Sequence[float]) -> str:
        """Return the end that a number is at, where both are finite."""
        low, high = map(float, self.frozen.support())
        if isinf(low) or isinf(high):
            return ""
        return _edge(self.value(held), low, high, limits, whole=self.discrete, logarithmic=False)


def _edge(
    value: float,
    low: float,
    high: float,
    limits: Sequence[float],
    *,
    whole: bool,
    logarithmic: bool,
) -> str:
    if low == high:
        return ""
    if whole:
        place = 0.0 if value == low else 1.0 if value == high else 0.5
    elif logarithmic:
        place = (log(value) - log(low)) / (log(high) - log(low))
    else:
        place = (value - low) / (high - low)
    if place <= EDGE:
        return "" if low in limits else "low"
    return "high" if place >= 1 - EDGE and high not in limits else ""


def _of_scipy(where: str, given: Any) -> Parameter:
    kinds = load("optuna.distributions")
    low, high = given.support()
    if np.ndim(low) or np.ndim(high) or np.isnan(low) or np.isnan(high):
        said = f"scipy.stats.{given.dist.name}{identity((given.args, given.kwds))}"
        raise ConfigError(f"{where} = {said} draws no numbers; correct its arguments")
    _, loc, _ = given.dist._parse_args(*given.args, **given.kwds)
    if isinstance(given.dist, type(scipy.stats.uniform)):
        return Ranged.of(where, kinds.FloatDistribution(float(low), float(high)))
    if isinstance(given.dist, type(scipy.stats.loguniform)) and loc == 0:
        return Ranged.of(where, kinds.FloatDistribution(float(low), float(high), log=True))
    if isinstance(given.dist, type(scipy.stats.randint)):
        return Ranged.of(where, kinds.IntDistribution(int(low), int(high)))
    return Quantiles(given)


def _is_named(dist: Any) -> bool:
    """Whether the name of a distribution says what it is."""
    return type(dist) is type(getattr(scipy.stats, dist.name or "", None))


def _labelled(values: Sequence[Any]) -> dict[Any, Any]:
    """Return what is held for each value."""
    labelled: dict[Any, Any] = {}
    for each in values:
        # For Optuna and as a key, True and 1.0 are 1.
        if isinstance(each, _PLAIN) and each not in labelled:
            labelled[each] = each
            continue
        label = short = _short(each)
        count = 1
        while label in labelled:
            count += 1
            label = f"{short} ({count})"
        labelled[label] = each
    return labelled


def _short(value: Any) -> str:
    text = value.__qualname__ if hasattr(value, "__qualname__") else repr(value)
    text = re.sub(r"\s+", " ", _without_places(text))
    return text if len(text) <= 60 else f"{text[:59]}…"


def _is_data(value: Any) -> bool:
    """Whether two values with the same text are the same."""
    if isinstance(value, list | tuple):
        return all(map(_is_data, value))
    plain = isinstance(value, (*_PLAIN, np.ndarray))
    return plain or isinstance(value, type) or is_estimator(value)


def is_estimator(value: Any) -> bool:
    """Return whether a value is an estimator, and no class of one."""
    return hasattr(value, "get_params") and not isinstance(value, type)


def identity(value: Any) -> str:
    """Return a text of a value that is the same in each process: no places in memory.

    Functions of the user's own are other ones when their code is.

    >>> import math
    >>> identity([1, math.sin, {"a": None}])
    "[1, math.sin, {'a': None}]"
    """
    if is_estimator(value):
        params = value.get_params(deep=False).items()
        inside = ", ".join(f"{name}={identity(each)}" for name, each in params)
        return f"{_path(type(value))}({inside})"
    if isinstance(value, np.ndarray):
        data = identity(value.tolist()).encode()
        return f"array({value.dtype}, {hashlib.blake2b(data, digest_size=8).hexdigest()})"
    if isinstance(value, partial):
        return f"partial{identity((value.func, value.args, value.keywords))}"
    if isinstance(value, FunctionType):
        return f"{_path(value)} {(identify_if_known(value) or '')[:8]}".strip()
    if hasattr(value, "__qualname__"):
        return _path(value)
    if isinstance(value, dict):
        items = (f"{identity(key)}: {identity(each)}" for key, each in value.items())
        return f"{{{', '.join(items)}}}"
    if isinstance(value, set | frozenset):
        return f"{{{', '.join(sorted(map(identity, value)))}}}"
    if type(value) in (list, tuple):
        inside = ", ".join(map(identity, value))
        single = "," * (len(value) == 1)
        return f"[{inside}]" if isinstance(value, list) else f"({inside}{single})"
    return _without_places(repr(value))


def _without_places(text: str) -> str:
    return re.sub(r" at 0x[0-9A-Fa-f]+", "", text)


def _path(value: Any) -> str:
    return f"{value.__module__}.{value.__qualname__}"
