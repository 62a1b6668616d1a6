"""Measure the structure of the package: ``.venv/bin/python -m tools.layout`` prints a table.

Modules, import chains, calls of one `fit` and one `predict`, names, annotations, lengths.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from pipeline import Accelerated

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "pipeline"
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


def trees(folder: Path) -> dict[str, ast.Module]:
    """Return the syntax tree of every module, by its dotted name."""
    files = {name_of(path): path for path in sorted(folder.rglob("*.py"))}
    return {name: ast.parse(path.read_text("utf-8")) for name, path in files.items()}


def name_of(path: Path) -> str:
    """Return the dotted name of a module."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imports(tree: ast.Module, known: set[str]) -> set[str]:
    """Return the modules of the package that a module imports when it is loaded."""
    later = [n for n in ast.walk(tree) if isinstance(n, FUNCTION) or _is_for_types(n)]
    inside = {id(n) for f in later for n in ast.walk(f)}
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and id(node) not in inside:
            full = (f"{node.module}.{alias.name}" for alias in node.names)
            found |= {name if name in known else str(node.module) for name in full}
    return found & known


def _is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def longest_chain(modules: dict[str, ast.Module]) -> int:
    """Return the number of modules in the longest chain of imports."""
    edges = {
        name: imports(tree, set(modules)) - {name, "pipeline"} for name, tree in modules.items()
    }

    @cache
    def length(name: str) -> int:
        return 1 + max(map(length, edges[name]), default=0)

    return max(map(length, edges))


INLINED = {"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"}
"""What Python 3.12 makes no call of, or several of one."""


def calls(run: Callable[[], Any]) -> tuple[int, int]:
    """Return how many calls within the package a function makes, and in how many modules."""
    seen: Counter[str] = Counter()

    def note(frame: Any, event: str, _: Any) -> None:
        file, name = frame.f_code.co_filename, frame.f_code.co_name
        if event == "call" and file.startswith(str(PACKAGE)) and name not in INLINED:
            seen[file] += 1

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    return seen.total(), len(seen)


def small_program() -> tuple[Any, pd.DataFrame, np.ndarray]:
    """Return a program for a table of three columns, the table, and its target."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(100, 2)), columns=["a", "b"])
    X["c"] = np.where(X.a > 0, "yes", "no")
    steps = make_column_transformer((StandardScaler(), ["a", "b"]), (OneHotEncoder(), ["c"]))
    return make_pipeline(steps, LogisticRegression()), X, (X.a > 0).to_numpy().astype(int)


def functions(modules: dict[str, ast.Module]) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield every function."""
    every = chain.from_iterable(map(ast.walk, modules.values()))
    return (node for node in every if isinstance(node, FUNCTION))


def length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the lines of a function without its docstring."""
    first = function.body[0]
    text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    lines = int(function.end_lineno or 0) - function.lineno + 1
    return lines - (int(first.end_lineno or 0) - first.lineno + 1 if text else 0)


def share_of_any(modules: dict[str, ast.Module]) -> float:
    """Return the share of the parameters whose annotation names `Any`."""
    args = [
        ast.unparse(arg.annotation)
        for f in functions(modules)
        for arg in (*f.args.posonlyargs, *f.args.args, *f.args.kwonlyargs)
        if arg.annotation
    ]
    return sum("Any" in arg for arg in args) / len(args)


def defined_twice(modules: dict[str, ast.Module]) -> list[str]:
    """Return the public functions and classes that more than one module defines."""
    names = Counter(
        node.name
        for tree in modules.values()
        for node in tree.body
        if isinstance(node, (*FUNCTION, ast.ClassDef)) and not node.name.startswith("_")
    )
    return sorted(name for name, n in names.items() if n > 1)


def lines(*folders: str) -> int:
    """Return the lines of code in folders."""
    files = chain.from_iterable((ROOT / folder).rglob("*.py") for folder in folders)
    return sum(len(path.read_text("utf-8").splitlines()) for path in files)


def words() -> int:
    """Return the words of the documentation."""
    return sum(len(path.read_text("utf-8").split()) for path in (ROOT / "docs").glob("*.md"))


def rows() -> Iterator[tuple[str, str]]:
    """Yield what is measured, and how much it is."""
    modules = trees(PACKAGE)
    spec, X, y = small_program()
    Accelerated(spec, device="cpu").fit(X, y).predict(X)  # what is loaded once is not counted
    model = Accelerated(spec, device="cpu")
    sizes = sorted(map(length, functions(modules)))
    yield "modules at the root", str(sum(p.stem[0] != "_" for p in PACKAGE.glob("*.py")))
    yield "modules", str(len(modules))
    yield "longest chain of imports", str(longest_chain(modules))
    yield "`fit`: calls in modules", "{} in {}".format(*calls(lambda: model.fit(X, y)))
    yield "`predict`: calls in modules", "{} in {}".format(*calls(lambda: model.predict(X)))
    twice = defined_twice(modules)
    yield "public names defined twice", f"{len(twice)} ({', '.join(twice)})"
    yield "parameters annotated `Any`", f"{share_of_any(modules):.1%}"
    yield (
        "lines of a function: median, p90, most",
        f"{sizes[len(sizes) // 2]}, {sizes[int(len(sizes) * 0.9)]}, {sizes[-1]}",
    )
    for folder in ("pipeline", "tests", "tools"):
        yield f"lines of `{folder}/`", f"{lines(folder):,}"
    yield "words of `docs/`", f"{words():,}"


if __name__ == "__main__":
    for name, value in rows():
        print(f"| {name} | {value} |")
