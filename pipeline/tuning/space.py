"""What a search draws candidates from: a space of parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sklearn.base import clone

from pipeline.errors import ConfigError
from pipeline.estimator.accelerated import Accelerated
from pipeline.optional import load
from pipeline.tuning.default_spaces import default_space, unset
from pipeline.tuning.parameter import Parameter, parameter
from pipeline.typing import Estimator

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.trial import Trial

DEFAULT = "default"


class Space:
    """Parameters of an `estimator`, and what each trial draws them from."""

    def __init__(self, parameters: Mapping[str, Parameter], estimator: Estimator) -> None:
        self.parameters = parameters
        self.estimator = estimator

    @classmethod
    def of(cls, given: Any, estimator: Estimator) -> Space:
        """Return the space of `Search`, or raise `ConfigError` where it cannot be used."""
        if isinstance(given, str):
            if given != DEFAULT:
                raise ConfigError(f"space={given!r} is neither {DEFAULT!r} nor a mapping")
            given = default_space(estimator)
        if not isinstance(given, Mapping):
            raise ConfigError(
                f"space is of type {type(given).__name__}; pass a mapping, or {DEFAULT!r}; search "
                "each of several spaces by itself"
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

    def draw(self, trial: Trial) -> dict[str, Any]:
        """Draw a candidate; return parameters as `set_params` takes them."""
        return self.read({name: _suggest(trial, name, d) for name, d in self.distributions.items()})

    def read(self, drawn: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters that the `params` of a trial stand for."""
        return {name: each.value(drawn[name]) for name, each in self.parameters.items()}

    def place(self, params: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return what a trial with these parameters holds; None where they are not in the space."""
        known = {**params, **unset(self.estimator, params)}
        try:
            return {name: each.hold(known[name]) for name, each in self.parameters.items()}
        except LookupError:
            return None

    def describe(self) -> dict[str, str]:
        """Return each parameter with what it is drawn from, as text that tells spaces apart."""
        return {name: each.text for name, each in self.parameters.items()}


def candidate_of(estimator: Estimator, params: Mapping[str, Any]) -> Estimator:
    """Return a clone of an estimator with parameters, of which no other candidate has a part."""
    return clone(estimator).set_params(**clone(dict(params), safe=False))


def _say_unknown(name: str, known: Mapping[str, Any], estimator: Estimator) -> str:
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
