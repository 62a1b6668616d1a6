"""Hold recorded calls against the contract of the real packages.

A call fails when the real library has no such name, when the arguments do not
fit its signature, when a guard would raise, or when a parameter that was left
out has another default than in pandas or NumPy, where the CPU path runs.
"""

from __future__ import annotations

import importlib
import inspect
import json
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from tests.contract.guards import Guard, holds
from tests.contract.recorder import RECORDER, Call
from tests.contract.signatures import UNKNOWN, parse
from tests.contract.snapshot import FILE

COUNTERPARTS = {
    "cudf": "pandas",
    "cudf.DataFrame": "pandas.DataFrame",
    "cudf.Index": "pandas.Index",
    "cudf.Series": "pandas.Series",
    "cudf.Series.dt": "pandas.core.indexes.accessors.DatetimeProperties",
    "cudf.Series.str": "pandas.core.strings.accessor.StringMethods",
    "cupy": "numpy",
}
"""Whose defaults the CPU path runs with."""

MATTERS = (
    "as_index ascending axis bias bins closed correction ddof drop dropna dummy_na duplicates how "
    "include_lowest interpolation join keep keepdims left_index method min_periods na_action "
    "na_option na_position normalize numeric_only observed ordered q right right_index side "
    "skipna sort use_na_sentinel value"
)
"""Parameters whose default changes the result."""

SAME = {
    ("cudf.Series.clip", "axis"): "a series has one axis",
    ("cudf.DataFrame.clip", "axis"): "with scalar bounds the axis plays no part",
}
"""Differences in wording only."""


class Contract:
    """The names, signatures and guards of the real packages, as `snapshot.take` returns them."""

    def __init__(self, content: dict[str, Any]) -> None:
        self.versions: dict[str, str] = content["versions"]
        self.owners: dict[str, Any] = content["owners"]

    def has(self, owner: str, name: str) -> bool:
        return name in self.owners[owner]

    def faults(self, call: Call) -> list[str]:
        """Return what the real library would object to in a call."""
        if not self.has(call.owner, call.name):
            return [f"{call.owner} has no {call.name}"]
        entry = self.owners[call.owner][call.name]
        text = entry.get("signature", UNKNOWN)
        if call.args is None or text == UNKNOWN:
            return []
        signature, args = parse(text), call.args
        if next(iter(signature.parameters), "") == "self":
            args = (None, *args)
        try:
            bound = signature.bind(*args, **call.kwargs)
        except TypeError as error:
            return [f"{call}: {error}"]
        drifted = _drifted(call, signature, set(bound.arguments))
        return [*drifted, *_raised(entry, bound, call)]


def _raised(entry: dict[str, Any], bound: inspect.BoundArguments, call: Call) -> Iterator[str]:
    bound.apply_defaults()
    with RECORDER.paused():
        for guard in (Guard(*fields) for fields in entry.get("guards", ())):
            if holds(guard, bound.arguments):
                yield f"{call} would raise {guard.raises}: {guard.says or guard.condition}"


def _drifted(call: Call, real: inspect.Signature, given: set[str]) -> list[str]:
    found = []
    for name, default in _defaults(call.owner, call.name).items():
        there = real.parameters.get(name)
        if there is None or name in given or (f"{call.owner}.{call.name}", name) in SAME:
            continue
        if not _alike(default, there.default):
            found.append(f"{call}: {name}={there.default!r} is the default, {default!r} on the CPU")
    return found


@cache
def _defaults(owner: str, name: str) -> dict[str, Any]:
    """Return the defaults that matter of the CPU library's function; empty if unknown."""
    if owner not in COUNTERPARTS:
        return {}
    module, _, kind = COUNTERPARTS[owner].rpartition(".")
    counterpart = (
        getattr(importlib.import_module(module), kind) if module else importlib.import_module(kind)
    )
    try:
        parameters = inspect.signature(getattr(counterpart, name)).parameters
    except (AttributeError, TypeError, ValueError):
        return {}
    return {key: p.default for key, p in parameters.items() if key in MATTERS.split()}


def _alike(default: Any, other: Any) -> bool:
    """Compare two defaults; a sentinel may mean anything, and so passes."""
    literals = (type(None), bool, int, float, str)
    if not isinstance(default, literals) or not isinstance(other, literals):
        return True
    return default == other or {repr(default), repr(other)} <= {"0", "None", "'index'"}


@cache
def frozen() -> Contract:
    """Return the contract in the repository."""
    return Contract(json.loads(FILE.read_text(encoding="utf-8")))


def faults(calls: Iterable[Call], contract: Contract | None = None) -> list[str]:
    """Return every distinct objection to the calls, in their order."""
    judge = contract or frozen()
    return list(dict.fromkeys(fault for call in calls for fault in judge.faults(call)))
