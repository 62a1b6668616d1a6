"""What a search draws candidates from, as Optuna's distributions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pipeline.errors import ConfigError
from pipeline.optional import load
from pipeline.typing import Estimator

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.trial import Trial


class Space:
    """Parameters of an estimator and what each is drawn from.

    Parameters
    ----------
    distributions : mapping of str to optuna.distributions.BaseDistribution
    """

    def __init__(self, distributions: Mapping[str, BaseDistribution]) -> None:
        self.distributions = dict(distributions)

    @classmethod
    def of(cls, given: Any, estimator: Estimator) -> Space:
        """Return the space that a user describes.

        Parameters
        ----------
        given : mapping
            Parameter of the estimator -> distribution of Optuna.
        estimator : estimator

        Raises
        ------
        ConfigError
            The estimator has no such parameter, or a value is no distribution.
        """
        known = estimator.get_params()
        for name in given:
            if name not in known:
                raise ConfigError(f"space[{name!r}]: {type(estimator).__name__} has none")
        return cls(given)

    def draw(self, trial: Trial) -> dict[str, Any]:
        """Draw a candidate; return parameters as `set_params` takes them."""
        return {name: _suggest(trial, name, each) for name, each in self.distributions.items()}

    def read(self, drawn: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters that the `params` of a trial stand for."""
        return dict(drawn)

    def place(self, params: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return what a trial with these parameters holds; None where they are not in the space."""
        held = {name: params[name] for name in self.distributions if name in params}
        inside = len(held) == len(self.distributions) and all(
            _holds(self.distributions[name], value) for name, value in held.items()
        )
        return held if inside else None

    def describe(self) -> dict[str, str]:
        """Return each parameter with what it is drawn from, as text that tells spaces apart."""
        return {name: str(each) for name, each in self.distributions.items()}


def _holds(distribution: BaseDistribution, value: Any) -> bool:
    try:
        return bool(distribution._contains(distribution.to_internal_repr(value)))
    except (TypeError, ValueError):
        return False


def _suggest(trial: Trial, name: str, distribution: BaseDistribution) -> Any:
    module = load("optuna.distributions")
    if isinstance(distribution, module.CategoricalDistribution):
        choices: Sequence[Any] = distribution.choices
        return trial.suggest_categorical(name, choices)
    low, high, step = distribution.low, distribution.high, distribution.step
    if isinstance(distribution, module.IntDistribution):
        return trial.suggest_int(name, low, high, step=step, log=distribution.log)
    return trial.suggest_float(name, low, high, step=step, log=distribution.log)
