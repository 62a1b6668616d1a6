"""What a search draws candidates from: a space of parameters, in one part or several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any

from sklearn.base import clone
from sklearn.utils._param_validation import Interval, RealNotInt

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

_SHARES = {"subsample", "colsample_bylevel", "colsample_bynode", "colsample_bytree"}
"""Parameters of XGBoost of at most 1; scikit-learn's estimators know the limits of theirs."""


class Space:
    """Parameters of an estimator and what each is drawn from.

    Parameters
    ----------
    parts : sequence of mapping of str to Parameter
        Each trial is drawn from one of them.
    estimator : estimator
        Whose parameters they are.
    """

    def __init__(self, parts: Sequence[Mapping[str, Parameter]], estimator: Estimator) -> None:
        self.parts = parts
        self.estimator = estimator
        self._names = [{name: self._name(name, i) for name in part} for i, part in enumerate(parts)]

    @classmethod
    def of(cls, given: Any, estimator: Estimator) -> Space:
        """Return the space that a user describes.

        Parameters
        ----------
        given : mapping, sequence of mapping, or "default"
            Parameter of the estimator -> distribution of Optuna, frozen distribution of scipy, or
            list of values. Of several mappings, each trial is drawn from one, as in
            `RandomizedSearchCV`. ``"default"`` is `default_space` of the estimator.
        estimator : estimator

        Raises
        ------
        ConfigError
            The estimator has no such parameter, nothing can be drawn from what is given for one,
            or there is no default space.
        """
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

    @cached_property
    def distributions(self) -> dict[str, BaseDistribution]:
        """What a study knows of: parameter of a trial -> distribution of Optuna."""
        known = {
            self._names[i][name]: each.distribution
            for i, part in enumerate(self.parts)
            for name, each in part.items()
        }
        if len(self.parts) > 1:
            categorical = load("optuna.distributions.CategoricalDistribution")
            known[PART] = categorical(tuple(range(len(self.parts))))
        return known

    def draw(self, trial: Trial) -> dict[str, Any]:
        """Draw a candidate; return parameters as `set_params` takes them."""
        several = len(self.parts) > 1
        part = _suggest(trial, PART, self.distributions[PART]) if several else 0
        drawn = {PART: part} if several else {}
        for name, each in self.parts[part].items():
            held = self._names[part][name]
            drawn[held] = _suggest(trial, held, each.distribution)
        return self.read(drawn)

    def read(self, drawn: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters that the `params` of a trial stand for."""
        return {name: each.value(drawn[held]) for name, held, each in self._part(drawn)}

    def place(self, params: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return what a trial with these parameters holds; None where they are not in the space."""
        known = {**params, **unset(self.estimator, params)}
        for i, part in enumerate(self.parts):
            try:
                held = {name: self._hold(name, each, known[name]) for name, each in part.items()}
            except LookupError:
                continue
            drawn = {self._names[i][name]: value for name, value in held.items()}
            return drawn | ({PART: i} if len(self.parts) > 1 else {})
        return None

    def edges(self, drawn: Mapping[str, Any]) -> dict[str, str]:
        """Return the numbers of a trial that lie at an end of their range.

        An end that the parameter cannot go beyond, as ``subsample=1``, is none.

        Parameters
        ----------
        drawn : mapping
            The `params` of a trial.

        Returns
        -------
        edges : dict of str to {"low", "high"}
            Parameters within 5 % of the range, on its scale, of its end; whole numbers at it.
        """
        edges = {
            name: each.edge(drawn[held], _limits(self.estimator, name))
            for name, held, each in self._part(drawn)
        }
        return {name: edge for name, edge in edges.items() if edge}

    def describe(self) -> dict[str, str]:
        """Return each parameter with what it is drawn from, as text that tells spaces apart.

        Parameters of several parts are followed by the number of the part.
        """
        several = len(self.parts) > 1
        return {
            f"{name} [{i}]" if several else name: each.text
            for i, part in enumerate(self.parts)
            for name, each in part.items()
        }

    def _hold(self, name: str, each: Parameter, value: Any) -> Any:
        """Return what a study holds for a value; LookupError where it cannot be drawn.

        1 and 1.0 are the same, but for parameters that tell a number of rows from a share.
        """
        held = each.hold(value)
        tells = any(end.type is RealNotInt for end in _intervals(self.estimator, name))
        if tells and isinstance(each.value(held), int) is not isinstance(value, Integral):
            raise LookupError(value)
        return held

    def _part(self, drawn: Mapping[str, Any]) -> list[tuple[str, str, Parameter]]:
        """Return name, name in the study and parameter, of the part that a trial is drawn from."""
        i = drawn.get(PART, 0)
        return [(name, self._names[i][name], each) for name, each in self.parts[i].items()]

    def _name(self, name: str, part: int) -> str:
        """Return what the study calls a parameter: with the part, where parts differ in it."""
        texts = {each[name].text for each in self.parts if name in each}
        return name if len(texts) == 1 else f"{name} [{part}]"


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
            raise ConfigError(f"space[{name!r}]: {_say_unknown(name, known, part, estimator)}")


def _common_params(each: Parameter) -> set[str] | None:
    """Return the parameters that all values have; None where no value is an estimator."""
    values = each.values.values() if isinstance(each, Listed) else ()
    names = [set(value.get_params()) if hasattr(value, "get_params") else set() for value in values]
    return set.intersection(*names) if any(names) else None


def _say_unknown(
    name: str, known: set[str], part: Mapping[str, Parameter], estimator: Estimator
) -> str:
    if not isinstance(name, str):
        return "the name of a parameter is a text"
    for other in part:
        if name.startswith(f"{other}__"):
            return (
                f"not every value of space[{other!r}] has it; pass a list of mappings, one for "
                f"each of these values"
            )
    lacks = f"{type(estimator).__name__} has no such parameter"
    if isinstance(estimator, Accelerated) and f"estimator__{name}" in known:
        return f"{lacks}; those of its pipeline begin with estimator__: 'estimator__{name}'"
    ending = sorted(other for other in known if other.endswith(f"__{name}"))
    near = ending or get_close_matches(name, known, n=1)
    return f"{lacks}; did you mean {near[0]!r}?" if near else f"{lacks}; see its get_params()"


def _intervals(estimator: Estimator, name: str) -> list[Interval]:
    """Return which numbers an estimator of scikit-learn takes for a parameter."""
    prefix, _, last = name.rpartition("__")
    owner = estimator.get_params().get(prefix) if prefix else estimator
    constraints = getattr(owner, "_parameter_constraints", {}).get(last, [])
    return [each for each in constraints if isinstance(each, Interval)]


def _limits(estimator: Estimator, name: str) -> list[float]:
    """Return the least and the largest values that an estimator takes for a parameter."""
    ends = [end for each in _intervals(estimator, name) for end in (each.left, each.right)]
    share = name.rpartition("__")[2] in _SHARES
    return [end for end in ends if end is not None] + [1.0] * share


def _suggest(trial: Trial, name: str, distribution: BaseDistribution) -> Any:
    module = load("optuna.distributions")
    if isinstance(distribution, module.CategoricalDistribution):
        choices: Sequence[Any] = distribution.choices
        return trial.suggest_categorical(name, choices)
    low, high, step = distribution.low, distribution.high, distribution.step
    if isinstance(distribution, module.IntDistribution):
        return trial.suggest_int(name, low, high, step=step, log=distribution.log)
    return trial.suggest_float(name, low, high, step=step, log=distribution.log)
