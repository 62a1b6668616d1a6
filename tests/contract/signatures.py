"""Signatures as short text, from whatever a package offers.

Python functions are inspected. CuPy's ufuncs and array methods are compiled
and carry theirs in the first line of the docstring. ``"?"`` stands for a
callable that says nothing.
"""

from __future__ import annotations

import ast
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
    except (SyntaxError, ValueError):
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


@cache
def parse(text: str) -> inspect.Signature:
    """Return the signature that a text of `describe` stands for.

    >>> parse("(a, axis=None, *, out=...)")
    <Signature (a, axis=None, *, out=Ellipsis)>
    """
    function = ast.parse(f"def _{text}: pass").body[0]
    assert isinstance(function, ast.FunctionDef)
    given = function.args
    positional = [*given.posonlyargs, *given.args]
    defaults = [None] * (len(positional) - len(given.defaults)) + list(given.defaults)
    kinds = inspect.Parameter
    found = [
        _parameter(
            arg,
            default,
            kinds.POSITIONAL_ONLY if i < len(given.posonlyargs) else kinds.POSITIONAL_OR_KEYWORD,
        )
        for i, (arg, default) in enumerate(zip(positional, defaults, strict=True))
    ]
    found += [kinds(arg.arg, kinds.VAR_POSITIONAL) for arg in [given.vararg] if arg]
    found += [
        _parameter(arg, default, kinds.KEYWORD_ONLY)
        for arg, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)
    ]
    found += [kinds(arg.arg, kinds.VAR_KEYWORD) for arg in [given.kwarg] if arg]
    return inspect.Signature(found)


def _parameter(arg: ast.arg, default: ast.expr | None, kind: Any) -> inspect.Parameter:
    return inspect.Parameter(arg.arg, kind, default=_value(default))


def _value(default: ast.expr | None) -> Any:
    if default is None:
        return inspect.Parameter.empty
    try:
        return ast.literal_eval(default)
    except ValueError:
        return ...
