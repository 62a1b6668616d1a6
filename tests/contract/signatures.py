"""Signatures as short text, from whatever a package offers.

Python functions are inspected. CuPy's ufuncs and array methods are compiled
and carry theirs in the first line of the docstring. ``"?"`` stands for a
callable that says nothing.
"""

from __future__ import annotations

import inspect
import re
from functools import cache
from typing import Any

UNKNOWN = "?"


def describe(function: Any) -> str:
    """Return ``"(a, axis=None, *, out=None)"``; a default that is no literal becomes ``...``."""
    try:
        return _text(inspect.signature(function))
    except (TypeError, ValueError):
        return _from_docstring(getattr(function, "__doc__", None) or "")


def _from_docstring(docstring: str) -> str:
    first = docstring.strip().partition("\n")[0].replace("\\*", "*")
    match = re.fullmatch(r"[\w.]+(\(.*\))( *->.*)?", first)
    if match is None:
        return UNKNOWN
    try:
        return _text(parse(match[1]))
    except (SyntaxError, TypeError):
        return UNKNOWN


def _text(signature: inspect.Signature) -> str:
    parameters = [
        parameter.replace(annotation=parameter.empty, default=_shown(parameter.default))
        for parameter in signature.parameters.values()
    ]
    return str(inspect.Signature(parameters))


class _Verbatim:
    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _shown(default: Any) -> Any:
    if default is inspect.Parameter.empty:
        return default
    plain = default is None or type(default) in (bool, int, float, str, tuple)
    return _Verbatim(repr(default) if plain else "...")


class _Sentinel(dict[str, Any]):
    """Names of defaults that are no literals, and their attributes."""

    def __missing__(self, name: str) -> Any:
        return self

    def __getattr__(self, name: str) -> Any:
        return self


@cache
def parse(text: str) -> inspect.Signature:
    """Return the signature that a text of `describe` stands for.

    >>> parse("(a, axis=None, *, out=...)")
    <Signature (a, axis=None, *, out=Ellipsis)>
    """
    return inspect.signature(eval(f"lambda {text[1:-1]}: None", {"__builtins__": {}}, _Sentinel()))
