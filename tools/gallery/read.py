"""The estimators that a Python file makes, as expressions that stand alone; no file is run.

A name is replaced by what it was last assigned. What is known only when the file runs, such as the
variable of a loop, is left out where there is a default in its place, and so is taken for it; a
function of the file is `own`, a list of columns is ``["column"]``, a grid of a search is empty. An
expression in which an estimator is not known is left out and counted.
"""

from __future__ import annotations

import ast
import inspect
import pkgutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
import sklearn
from sklearn.base import BaseEstimator
from sklearn.experimental import enable_halving_search_cv, enable_iterative_imputer  # noqa: F401
from sklearn.utils import all_estimators

MAKERS = ("make_pipeline", "make_union", "make_column_transformer")
FILLED = {"param_grid": "{}", "param_distributions": "{}", "columns": '["column"]', "func": "own"}
"""Parameters without a default, and what stands for a value that is not known."""


def own(X: Any) -> Any:
    """Stand for a function that an example defines."""
    return X


@cache
def namespace() -> dict[str, Any]:
    """Return the public names of scikit-learn, `np`, and `own`."""
    found: dict[str, Any] = {"np": np, "own": own}
    for _, name, _ in pkgutil.iter_modules(sklearn.__path__):
        if not name.startswith("_") and name not in ("conftest", "experimental", "tests"):
            module = import_module(f"sklearn.{name}")
            for each in getattr(module, "__all__", ()):
                held = getattr(module, each)
                if not inspect.ismodule(held):
                    found.setdefault(each, held)
    kernels = import_module("sklearn.gaussian_process.kernels")
    found |= {k: v for k, v in vars(kernels).items() if inspect.isclass(v) and k[0] != "_"}
    return found | dict(all_estimators())


class Unknown(LookupError):
    """A value is known only when the file runs."""


@dataclass
class Expression:
    """An estimator that a file makes.

    Parameters
    ----------
    node : ast.expr
        What makes it, standing alone.
    inside : bool
        Another one is made of it, in which it counts.
    """

    node: ast.expr
    inside: bool = False


@dataclass
class Reader(ast.NodeVisitor):
    """Collects the estimators of a file, in order.

    Parameters
    ----------
    found : list of Expression
    left_out : int
        Expressions of which an estimator is not known.
    """

    found: list[Expression] = field(default_factory=list)
    left_out: int = 0
    names: dict[str, ast.expr | Expression] = field(default_factory=dict)
    functions: dict[str, Expression | None] = field(default_factory=dict)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:  # noqa: N802
        """Read a function, and remember which estimator it returns, if it does."""
        self._forget(node.args)
        for each in node.body[:-1]:
            self.visit(each)
        before, last = len(self.found), node.body[-1]
        self.visit(last)
        made = self.found[before:]
        returns = isinstance(last, ast.Return) and last.value is not None and len(made) == 1
        whole = returns and bool(_called(_unwrapped(last.value)))  # type: ignore[attr-defined]
        self.functions[node.name] = made[0] if whole else None

    def visit_For(self, node: ast.For) -> None:  # noqa: N802
        """Read what is gone through, and forget what the variable was."""
        self.visit(node.iter)
        self._forget(node.target)
        for each in node.body:
            self.visit(each)

    def visit_Assign(self, node: ast.Assign) -> None:  # noqa: N802
        """Remember what a name stands for."""
        before = len(self.found)
        self.visit(node.value)
        self._forget(*node.targets)
        (target, *more) = node.targets
        if more or not isinstance(target, ast.Name):
            return
        bare = _unwrapped(node.value)
        made = self.found[before:]
        if isinstance(bare, ast.Call) and _called(bare) and len(made) == 1:
            self.names[target.id] = made[0]
            return
        try:
            self.names[target.id] = self.known(node.value)
        except Unknown:
            return

    def visit_Call(self, node: ast.Call) -> None:  # noqa: N802
        """Take an estimator as a whole, and look inside other calls."""
        if not _called(node):
            self.generic_visit(node)
            return
        try:
            self.found.append(Expression(self._call(node)))
        except Unknown:
            self.left_out += 1
            self.generic_visit(node)

    def known(self, node: ast.expr) -> ast.expr:
        """Return an expression that stands alone.

        Raises
        ------
        Unknown
            It does not.
        """
        match node:
            case ast.Constant():
                return node
            case ast.Lambda():
                return ast.Name("own")
            case ast.Name(id=name):
                return self._name(name)
            case ast.Attribute():
                return _attribute(node)
            case ast.UnaryOp(op=op, operand=operand):
                return ast.UnaryOp(op, self.known(operand))
            case ast.BinOp(left=left, op=op, right=right):
                return ast.BinOp(self.known(left), op, self.known(right))
            case ast.List(elts=held):
                return ast.List([self.known(each) for each in held])
            case ast.Tuple(elts=held):
                return ast.Tuple([self.known(each) for each in held])
            case ast.Dict(keys=keys, values=values) if all(keys):
                return ast.Dict([*map(self.known, keys)], [*map(self.known, values)])  # type: ignore[arg-type]
            case ast.Call():
                return self._call(_unwrapped(node))
        raise Unknown

    def _name(self, name: str) -> ast.expr:
        held = self.names.get(name)
        if isinstance(held, Expression):
            held.inside = True
            return held.node
        if held is not None:
            return held
        if name in self.functions:
            return ast.Name("own")
        if name in namespace():
            return ast.Name(name)
        raise Unknown

    def _call(self, node: ast.expr) -> ast.expr:
        if not isinstance(node, ast.Call):
            raise Unknown
        name = _called(node)
        if isinstance(node.func, ast.Name) and (made := self.functions.get(node.func.id)):
            made.inside = True
            return made.node
        if not name:
            args, keywords = map(self.known, node.args), map(self._keyword, node.keywords)
            return ast.Call(self.known(node.func), [*args], [*keywords])
        if name in MAKERS:
            held = [self._part(each) for each in node.args]
            return ast.Call(ast.Name(name), held, list(self._keywords(name, node.keywords)))
        return ast.Call(ast.Name(name), [], list(self._keywords(name, _by_name(name, node))))

    def _part(self, node: ast.expr) -> ast.expr:
        """Return a step, or a transformer with its columns."""
        if not isinstance(node, ast.Tuple):
            return self.known(node)
        held = [each for each in node.elts if _called(_unwrapped(each)) or _known(self, each)]
        made: list[ast.expr] = [self.known(each) for each in held]
        return ast.Tuple(made if len(made) == len(node.elts) else [*made, _parsed('["column"]')])

    def _keyword(self, keyword: ast.keyword) -> ast.keyword:
        if keyword.arg is None:
            raise Unknown
        return ast.keyword(keyword.arg, self.known(keyword.value))

    def _keywords(self, name: str, given: Sequence[ast.keyword]) -> Iterator[ast.keyword]:
        """Yield the parameters that are known; others where they have no default."""
        needed = _needed(name)
        for each in given:
            try:
                yield self._steps(each) if each.arg in STEPS else self._keyword(each)
            except Unknown:
                if each.arg in STEPS or (each.arg in needed and each.arg not in FILLED):
                    raise
                if each.arg in FILLED and each.arg in needed:
                    yield ast.keyword(each.arg, _parsed(FILLED[each.arg]))

    def _steps(self, keyword: ast.keyword) -> ast.keyword:
        value = keyword.value
        if keyword.arg == "transformers" and isinstance(value, ast.List):
            return ast.keyword(keyword.arg, ast.List([self._part(each) for each in value.elts]))
        return self._keyword(keyword)

    def _forget(self, *targets: ast.AST) -> None:
        for target in targets:
            for node in ast.walk(target):
                if isinstance(node, ast.Name | ast.arg):
                    self.names.pop(node.id if isinstance(node, ast.Name) else node.arg, None)


STEPS = ("steps", "transformers", "transformer_list", "estimator", "estimators", "regressor")
"""Parameters without whose value an estimator is another one."""


def _known(reader: Reader, node: ast.expr) -> bool:
    try:
        reader.known(node)
    except Unknown:
        return False
    return True


def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _unwrapped(node: ast.expr) -> ast.expr:
    """Return the estimator of which a method is called, which returns it."""
    while (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("fit", "set_output", "set_params", "set_fit_request")
    ):
        node = node.func.value
    return node


def _attribute(node: ast.expr) -> ast.Name | ast.Attribute:
    """Return what a name in a module stands for."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        if node.value.id == "np" and hasattr(np, node.attr):
            return node
        if node.value.id != "np" and node.attr in namespace():
            return ast.Name(node.attr)
    raise Unknown


def _called(node: ast.expr) -> str:
    """Return the class of scikit-learn's, or the maker, that a call is of; empty for others."""
    if not isinstance(node, ast.Call):
        return ""
    func = node.func
    name = func.id if isinstance(func, ast.Name) else getattr(func, "attr", "")
    held = namespace().get(name)
    makes = inspect.isclass(held) and issubclass(held, BaseEstimator)
    return name if makes or name in MAKERS else ""


def _needed(name: str) -> set[str]:
    parameters = inspect.signature(namespace()[name]).parameters.values()
    return {p.name for p in parameters if p.default is p.empty}


def _by_name(name: str, node: ast.Call) -> list[ast.keyword]:
    names = [*inspect.signature(namespace()[name]).parameters]
    positional = [ast.keyword(*each) for each in zip(names, node.args, strict=False)]
    if any(isinstance(each, ast.Starred) for each in node.args):
        raise Unknown
    return [*positional, *node.keywords]


def read(source: str) -> tuple[list[str], int]:
    """Return the estimators of a file, and how many more are not known before it runs.

    >>> read("model = make_pipeline(StandardScaler(), Ridge(alpha=alpha))")
    (['make_pipeline(StandardScaler(), Ridge())'], 0)
    """
    reader = Reader()
    reader.visit(ast.parse(source))
    whole = [each.node for each in reader.found if not each.inside]
    return [ast.unparse(ast.fix_missing_locations(node)) for node in whole], reader.left_out
