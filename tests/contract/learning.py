"""Cases that say what cuML's translation does, learnt from its answers to `probes`.

What its answers leave open is an error, and no guess: numbers are told apart only by those that the
source of the translation speaks of.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from pipeline.backends.cuml.translations import (
    SCHEMA,
    Case,
    FrozenTranslation,
    FrozenTranslations,
    TranslationOutcome,
    holds,
    same,
)
from pipeline.optional import load
from tests.contract import probes
from tests.contract.probes import Answer, number

PLAIN = [
    f"{turned}{test}"
    for test in ("none", "true", "callable", "integer", "text")
    for turned in ("", "not ")
]
Then = TranslationOutcome | str | None
Tiers = list[list[Then]]
"""What may be said, by what is to be said first."""
Sayable = Callable[[list["Row"], list[str], list[Any]], Tiers]


class Row(NamedTuple):
    """Some parameters of an estimator, and what came of them."""

    changed: frozenset[tuple[str, int]]
    params: Mapping[str, Any]
    made: Any


class Nothing:
    """In the place of a reason or of a parameter that there is not."""


def take() -> FrozenTranslations:
    """Return what the installed cuML does, of every estimator that it translates itself."""
    versions = {name: str(load(name).__version__) for name in ("cuml", "sklearn")}
    found = {name: learnt(name) for name in probes.translated()}
    return FrozenTranslations(SCHEMA, versions, found)


def learnt(name: str) -> FrozenTranslation:
    """Return what cuML does with the parameters of an estimator."""
    answers = list(probes.pairs(name))
    whys = [Row(each.changed, each.params, each.why or Nothing) for each in answers]
    taken = [each for each in answers if each.given is not None]
    names = list(dict.fromkeys(param for each in taken for param in each.given or {}))
    constants = [value for value in probes.constants(name) if number(value)]
    takes = {param: cases([*_given(param, taken)], outcomes, constants) for param in names}
    return FrozenTranslation(cases(whys, reasons, constants), takes)


def _given(param: str, answers: list[Answer]) -> Iterator[Row]:
    for each in answers:
        assert each.given is not None
        yield Row(each.changed, each.params, each.given.get(param, Nothing))


def cases(rows: list[Row], sayable: Sayable, numbers: list[Any]) -> list[Case]:
    """Return cases, the first of which that holds gives what came of each row.

    Raises
    ------
    LookupError
        No such cases can be told from the answers.
    """
    matter = deciding(rows)
    left = list(_projected(rows, matter))
    tiers = sayable(left, matter, numbers)
    found: list[Case] = []
    while True:
        of_all = [then for then in tiers[-1] if all(explains(then, row) for row in left)]
        if of_all:
            return [*found, Case(of_all[0])]
        found.append(_best(left, matter, tiers, numbers))
        left = [row for row in left if not found[-1].holds(row.params)]


def deciding(rows: list[Row]) -> list[str]:
    """Return the parameters whose value alone makes a difference."""
    made = {row.changed: row.made for row in rows}
    found = {
        change[0]
        for changed, value in made.items()
        for change in changed
        if not alike(made.get(changed - {change}, value), value)
    }
    return [param for param in rows[0].params if param in found]


def _projected(rows: list[Row], params: list[str]) -> Iterator[Row]:
    seen = set()
    for row in rows:
        key = tuple(id(row.params[param]) for param in params)
        if key not in seen:
            seen.add(key)
            yield Row(row.changed, {param: row.params[param] for param in params}, row.made)


def alike(value: Any, other: Any) -> bool:
    """Return whether two answers are the same value."""
    if value is other:
        return True
    plain = type(value) is type(other) and isinstance(value, str | int | float | tuple)
    return plain and bool(value == other)


def outcomes(rows: list[Row], params: list[str], numbers: list[Any]) -> Tiers:
    """Return what a parameter of cuML's may be given, the plainest first."""
    made = [row.made for row in rows if row.made is not Nothing and _in_json(row.made)]
    constants = {repr(each): TranslationOutcome(constant=each) for each in made}
    whole = {value for value in numbers if type(value) is int}
    found: list[Then] = [
        *(TranslationOutcome(of=param) for param in params),
        *constants.values(),
        None,
    ]
    for param in params:
        found.append(TranslationOutcome(of=param, first=2))
        found += [
            TranslationOutcome(of=param, plus=step * value) for value in whole for step in (-1, 1)
        ]
        found += [TranslationOutcome(of=param, times=value) for value in whole if value > 1]
    return [found]


def reasons(rows: list[Row], params: list[str], numbers: list[Any]) -> Tiers:
    """Return what may be said of refusals, the most general first; that there is none last."""
    texts = [[*templates(row)] for row in rows if row.made is not Nothing]
    general = dict.fromkeys(text for each in texts for text in each[1:])
    return [[*general, *dict.fromkeys(each[0] for each in texts)], [None]]


def templates(row: Row) -> Iterator[str]:
    """Return a reason as it is, and with values of the estimator left open in it."""
    text = _escaped(row.made)
    yield text
    for param, value in row.params.items():
        if isinstance(value, bool):
            continue
        for shown, form in ((repr(value), f"{{{param}!r}}"), (str(value), f"{{{param}}}")):
            for before in (f"{param}=", "`" if callable(value) else f"{param}="):
                if before + _escaped(shown) in text:
                    yield text.replace(before + _escaped(shown), before + form)


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def explains(then: Then, row: Row) -> bool:
    """Return whether an outcome is what came of a row."""
    if then is None or row.made is Nothing:
        return then is None and row.made is Nothing
    if isinstance(then, str):
        return then.format(**row.params) == row.made
    try:
        return alike(then(row.params), row.made)
    except (KeyError, TypeError):  # a calculation with what is no number, a part of what has none
        return False


def _best(rows: list[Row], params: list[str], tiers: Tiers, numbers: list[Any]) -> Case:
    """Return the case that says the most of the rows in the fewest words."""
    for thens in tiers:
        found = [each for param in params for each in _of(rows, param, thens, numbers)]
        if found:
            return max(found, key=lambda each: each[0])[1]
    raise LookupError(f"the answers do not tell what {params} decide: {rows[:3]}")


def _of(
    rows: list[Row], param: str, thens: list[Then], numbers: list[Any]
) -> Iterator[tuple[float, Case]]:
    """Return the cases that a parameter makes, and how many rows of each word."""
    values = {id(row.params[param]): row.params[param] for row in rows}
    of: dict[int, list[Row]] = {at: [] for at in values}
    for row in rows:
        of[id(row.params[param])].append(row)
    for then in thens:
        told = {at for at, each in of.items() if all(explains(then, row) for row in each)}
        inside = [values[at] for at in told]
        outside = [value for at, value in values.items() if at not in told]
        true = [*tests(inside, outside, numbers)]
        whole = [each for each in true if all(holds(*each, value) for value in inside)]
        for test, against in whole or true:
            size = sum(len(of[at]) for at in told if holds(test, against, values[at]))
            yield size / (1 + len(against)), Case(then, param, test, against)


def tests(
    inside: list[Any], outside: list[Any], numbers: list[Any]
) -> Iterator[tuple[str, list[Any]]]:
    """Return the tests that hold of some of the ones and of none of the others."""
    texts = [value for value in outside if isinstance(value, str)]
    asked = [*((test, []) for test in PLAIN), ("in", inside), ("not in", outside)]
    asked += [("other text", texts)] if texts else []
    if any(map(number, inside)):
        asked += [(test, [value]) for test in ("below", "above") for value in numbers]
    for test, against in asked if inside and outside else ():
        if _tellable(against, numbers):
            listed = _listed(against)
            some = any(holds(test, listed, value) for value in inside)
            if some and not any(holds(test, listed, value) for value in outside):
                yield test, listed


def _tellable(values: list[Any], numbers: list[Any]) -> bool:
    """Return whether a list of values can be meant: each is plain, or a number that cuML names."""
    return all(
        _in_json(value) and (not number(value) or any(same(value, each) for each in numbers))
        for value in values
    )


def _listed(values: list[Any]) -> list[Any]:
    """Return each value once, as JSON has it; what is a number as well goes as the number."""
    found: list[Any] = []
    for value in sorted(values, key=lambda each: (isinstance(each, bool), repr(each))):
        if not any(same(value, each) for each in found):
            found.append(list(value) if isinstance(value, tuple) else value)
    return found


def _in_json(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_in_json, value))
    return value is None or isinstance(value, str | int | float)


def render(record: FrozenTranslations) -> str:
    """Return JSON with one line a question, so that a change of cuML reads as a diff."""
    lines = ["{", f' "schema": {json.dumps(record.schema)},']
    lines += [f' "versions": {json.dumps(record.versions)},', ' "estimators": {']
    blocks = [_block(name, found) for name, found in record.estimators.items()]
    return "\n".join([*lines, ",\n".join(blocks), " }", "}", ""])


def _block(name: str, found: FrozenTranslation) -> str:
    plain = msgspec.to_builtins(found)
    refused = [f"    {json.dumps(_short(case))}" for case in plain["refused"]]
    takes = [
        f"    {json.dumps(param)}: {json.dumps([_short(case) for case in of])}"
        for param, of in plain["takes"].items()
    ]
    return "\n".join(
        [f'  "{name}": {{', '   "refused": [', ",\n".join(refused), "   ],"]
        + ['   "takes": {', ",\n".join(takes), "   }", "  }"]
    )


def _short(case: list[Any]) -> list[Any]:
    then = {"constant": None} if case[0] == {} else case[0]
    return [then, *(part for part in case[1:] if part)]
