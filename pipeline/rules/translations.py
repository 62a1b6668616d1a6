"""cuML's own translation of parameters, frozen: what one release takes, changes and refuses.

``translations.json`` is learnt from the installed cuML by ``make contract-snapshot``, and answers
where cuML is not installed. Each question is a list of cases, the first of which that holds counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from numbers import Real
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from pipeline import records

SCHEMA: Final = "pipeline.translations/1"
PATH = Path(__file__).with_name("translations.json")


class Outcome(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a parameter of cuML's is given: a constant, or what a parameter of the spec has."""

    of: str = ""
    """The parameter of the spec; empty for the constant."""
    constant: Any = None
    times: int = 1
    plus: int = 0
    first: int = 0
    """How many of its items; 0 for all of it."""

    def __call__(self, params: Mapping[str, Any]) -> Any:
        """Return the value for the parameters of a spec."""
        value = params[self.of] if self.of else self.constant
        value = value if self.times == 1 else self.times * value
        value = value + self.plus if self.plus else value
        return value[: self.first] if self.first else value


class Case(
    msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, omit_defaults=True
):
    """An outcome, and of which value of a parameter; without a parameter, of all that are left."""

    then: Outcome | str | None
    """Of a refusal the reason, None for no refusal; of a parameter None where it is not given."""
    parameter: str = ""
    test: str = ""
    against: list[Any] = []

    def holds(self, params: Mapping[str, Any]) -> bool:
        """Return whether the parameters of a spec are of this case."""
        return not self.parameter or holds(self.test, self.against, params[self.parameter])


class Translation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Of one estimator: what cuML refuses, and what each parameter of its class is given."""

    refused: list[Case]
    takes: dict[str, list[Case]]


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All of it, with the releases that were asked."""

    schema: Literal["pipeline.translations/1"]
    versions: dict[str, str]
    estimators: dict[str, Translation]
    """By the public name of the estimator."""


def same(value: Any, other: Any) -> bool:
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
"""What may be asked of a value; "not " before it turns the answer."""


def holds(test: str, against: list[Any], value: Any) -> bool:
    """Return whether a test holds of a value.

    >>> holds("not in", ["l2"], "l1"), holds("above", [1024], 1025), holds("none", [], 0)
    (True, True, False)
    """
    return TESTS[test.removeprefix("not ")](value, against) != test.startswith("not ")


def first(cases: list[Case], params: Mapping[str, Any]) -> Any:
    """Return the outcome of the first case that holds."""
    return next(case.then for case in cases if case.holds(params))


@lru_cache(maxsize=1)
def load(path: Path = PATH) -> Record:
    """Read and validate what was learnt.

    Raises
    ------
    DataError
        The file is missing, is not JSON, or does not have the schema.
    """
    return records.load(path, Record, schema=SCHEMA, command="make contract-snapshot")


def translate(name: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return cuML's parameters for those of an estimator, as cuML itself would.

    Parameters
    ----------
    name : str
        Public name of the estimator.
    params : mapping of str to object
        All parameters of the spec.

    Raises
    ------
    ValueError
        cuML has no equivalent of some value; the reason in cuML's words.
    """
    found = load().estimators[name]
    if why := first(found.refused, params):
        raise ValueError(why.format(**params))
    outcomes = {taken: first(cases, params) for taken, cases in found.takes.items()}
    return {taken: outcome(params) for taken, outcome in outcomes.items() if outcome is not None}
