"""What a search draws candidates from: a space of parameters, in one part or several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sklearn.base import clone

from pipeline.errors import ConfigError
from pipeline.estimator.accelerated import Accelerated
from pipeline.optional import load
from pipeline.tuning.default_spaces import default_space, unset
from pipeline.tuning.parameter import Listed, Parameter, parameter
from pipeline.typing import Estimator

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.trial import Trial

DEFAULT = "default"
PART = "part of the space"
"""The parameter of a study that says which part a trial is drawn from, where there are several."""


class Space:
    """Parameters of an `estimator`; each trial draws those of one of the `parts`."""

    def __init__(self, parts: Sequence[Mapping[str, Parameter]], estimator: Estimator) -> None:
        self.parts = parts
        self.estimator = estimator

    @classmethod
    def of(cls, given: Any, estimator: Estimator) -> Space:
        """Return the space of `Search`, or raise `ConfigError` where it cannot be used."""
        if isinstance(given, str):
            if given != DEFAULT:
                raise ConfigError(f"space={given!r} is neither {DEFAULT!r} nor a mapping")
            given = default_space(estimator)
        parts = [given] if isinstance(given, Mapping) else given
        if not isinstance(parts, Sequence) or not all(isinstance(each, Mapping) for each in parts):
            said = type(given).__name__
            raise ConfigError(f"space is of type {said}; pass a mapping, or a list of mappings")
        if not any(parts):
            raise ConfigError("space is empty; name at least one parameter")
        read = [{name: parameter(name, each) for name, each in part.items()} for part in parts]
        for part in read:
            _check_names(part, estimator)
        return cls(read, estimator)

    def held(self, name: str, part: int) -> str:
        """Return what a study calls a parameter: with the part, where there are several."""
        return f"{name} [{part}]" if len(self.parts) > 1 else name

    @cached_property
    def distributions(self) -> dict[str, BaseDistribution]:
        """What a study knows of: parameter of a trial -> distribution of Optuna."""
        known = {
            self.held(name, i): each.distribution
            for i, part in enumerate(self.parts)
            for name, each in part.items()
        }
        if len(self.parts) > 1:
            categorical = load("optuna.distributions.CategoricalDistribution")
            known[PART] = categorical(tuple(range(len(self.parts))))
        return known

    def draw(self, trial: Trial) -> dict[str, Any]:
        """Draw a candidate; return parameters as `set_params` takes them."""
        drawn = {PART: 0}
        if len(self.parts) > 1:
            drawn[PART] = _suggest(trial, PART, self.distributions[PART])
        for name in self.parts[drawn[PART]]:
            held = self.held(name, drawn[PART])
            drawn[held] = _suggest(trial, held, self.distributions[held])
        return self.read(drawn)

    def read(self, drawn: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters that the `params` of a trial stand for."""
        i = drawn.get(PART, 0)
        return {name: each.value(drawn[self.held(name, i)]) for name, each in self.parts[i].items()}

    def place(self, params: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return what a trial with these parameters holds; None where they are not in the space."""
        known = {**params, **unset(self.estimator, params)}
        for i, part in enumerate(self.parts):
            with suppress(LookupError):
                own = {self.held(name, i): each.hold(known[name]) for name, each in part.items()}
                return own | ({PART: i} if len(self.parts) > 1 else {})
        return None

    def describe(self) -> dict[str, str]:
        """Return each parameter with what it is drawn from, as text that tells spaces apart."""
        return {
            self.held(name, i): each.text
            for i, part in enumerate(self.parts)
            for name, each in part.items()
        }


def candidate_of(estimator: Estimator, params: Mapping[str, Any]) -> Estimator:
    """Return a clone of an estimator with parameters, of which no other candidate has a part."""
    return clone(estimator).set_params(**clone(dict(params), safe=False))


def _check_names(part: Mapping[str, Parameter], estimator: Estimator) -> None:
    known = set(estimator.get_params())
    for name, each in part.items():
        inner = _common_params(each)
        if inner is not None:
            known = {other for other in known if not other.startswith(f"{name}__")}
            known |= {f"{name}__{other}" for other in inner}
    for name in part:
        if name not in known:
            raise ConfigError(f"space[{name!r}]: {_say_unknown(str(name), known, estimator)}")


def _common_params(each: Parameter) -> set[str] | None:
    """Return the parameters that all values have; None where no value is an estimator."""
    values = each.values.values() if isinstance(each, Listed) else ()
    names = [set(value.get_params()) if hasattr(value, "get_params") else set() for value in values]
    return set.intersection(*names) if any(names) else None


def _say_unknown(name: str, known: set[str], estimator: Estimator) -> str:
    lacks = f"{type(estimator).__name__} has no such parameter"
    if isinstance(estimator, Accelerated) and f"estimator__{name}" in known:
        return f"{lacks}; those of its pipeline begin with estimator__: 'estimator__{name}'"
    ending = sorted(other for other in known if other.endswith(f"__{name}"))
    near = ending or get_close_matches(name, known, n=1)
    return f"{lacks}; did you mean {near[0]!r}?" if near else f"{lacks}; see its get_params()"


def _suggest(trial: Trial, name: str, distribution: BaseDistribution) -> Any:
    module = load("optuna.distributions")
    if isinstance(distribution, module.CategoricalDistribution):
        choices: Sequence[Any] = distribution.choices
        return trial.suggest_categorical(name, choices)
    low, high, step = distribution.low, distribution.high, distribution.step
    if isinstance(distribution, module.IntDistribution):
        return trial.suggest_int(name, low, high, step=step, log=distribution.log)
    return trial.suggest_float(name, low, high, step=step, log=distribution.log)
