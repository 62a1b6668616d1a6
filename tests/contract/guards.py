"""What a function refuses, read from its source.

A guard is an ``if`` that raises. It is kept when its condition is decidable
from the arguments alone; everything else is left out rather than guessed.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

KINDS = ("NotImplementedError", "TypeError", "ValueError")
SAFE = ("isinstance", "len", "callable", "bool", "str", "int", "float", "list", "tuple", "dict")

Reached = list[str | None]
"""The conditions under which a line runs; None is one that the arguments do not decide."""


class Guard(NamedTuple):
    """One refusal.

    `condition` is a Python expression over the parameters, ``"True"`` if none.
    """

    condition: str
    raises: str
    says: str


def guards(function: Any) -> list[Guard]:
    """Return what a function refuses; empty when its source cannot be read."""
    function = inspect.unwrap(function)
    try:
        node = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    except (OSError, TypeError, SyntaxError):
        return []
    if not isinstance(node, ast.FunctionDef):
        return []
    names = {arg.arg for arg in ast.walk(node.args) if isinstance(arg, ast.arg)}
    reader = _Reader(names - {"self", "cls"})
    reader.walk(node.body, [])
    return reader.found


class _Reader:
    """Walks a body in order; `found` collects the guards that the arguments decide."""

    def __init__(self, known: set[str]) -> None:
        self.known = known | set(SAFE)
        self.found: list[Guard] = []

    def walk(self, body: list[ast.stmt], reached: Reached) -> str:
        """Return how the body ends: it may ``"return"``, must ``"raise"``, or runs ``"on"``."""
        for statement in body:
            if isinstance(statement, ast.Raise):
                self._keep(statement, reached)
                return "raise"
            if isinstance(statement, ast.Return):
                return "return"
            if isinstance(statement, ast.If):
                end, reached = self._branch(statement, reached)
                if end != "on":
                    return end
            else:
                self._forget(statement)
                if any(isinstance(node, ast.Return) for node in ast.walk(statement)):
                    reached = [*reached, None]
        return "on"

    def _branch(self, statement: ast.If, reached: Reached) -> tuple[str, Reached]:
        # A branch that raises needs no negation after it: past it or in it, the call fails.
        test = ast.unparse(statement.test) if self._decidable(statement.test) else None
        other = None if test is None else f"not ({test})"
        ends = (
            self.walk(statement.body, [*reached, test]),
            self.walk(statement.orelse, [*reached, other]),
        )
        if "on" not in ends:
            return ("return" if "return" in ends else "raise"), reached
        if ends == ("return", "on"):
            return "on", [*reached, other]
        return "on", [*reached, test] if ends == ("on", "return") else reached

    def _keep(self, statement: ast.Raise, reached: Reached) -> None:
        error = statement.exc
        called = isinstance(error, ast.Call)
        name = getattr(error.func if called else error, "id", "")
        if name not in KINDS or None in reached:
            return
        condition = " and ".join(f"({test})" for test in reached) or "True"
        said = error.args[0] if called and error.args else None
        says = said.value[:60] if isinstance(said, ast.Constant) else ""
        self.found.append(Guard(condition, name, says))

    def _decidable(self, test: ast.expr) -> bool:
        return all(node.id in self.known for node in _names(test))

    def _forget(self, statement: ast.stmt) -> None:
        """Names that are set anew no longer hold what the caller passed."""
        self.known -= {node.id for node in _names(statement) if isinstance(node.ctx, ast.Store)}


def _names(tree: ast.AST) -> Iterator[ast.Name]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Name))


def holds(guard: Guard, arguments: Mapping[str, Any]) -> bool:
    """Return whether a guard would raise; an undecidable one would not."""
    scope = {name: getattr(builtins, name) for name in SAFE}
    try:
        return bool(eval(guard.condition, {"__builtins__": {}}, scope | dict(arguments)))
    except Exception:
        return False
