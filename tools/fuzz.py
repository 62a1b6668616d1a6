"""Random programs on random tables, in plain scikit-learn and in ours: `make fuzz`.

A case is the text of a small program, made from its number alone. It runs twice: `wrap` returns
the estimator itself, then an `Accelerated`. After each statement the two results or errors are
compared. What differs is printed as a program that shows it, unless `fuzz.toml` lists the
difference with its reason.
"""

from __future__ import annotations

import argparse
import ast
import os
import pickle
import random
import re
import sys
import tempfile
import time
import tomllib
import warnings
from collections import Counter
from collections.abc import Iterator
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np
import pandas as pd
import sklearn
from pebble import ProcessPool
from sklearn.base import BaseEstimator
from sklearn.utils import all_estimators

from pipeline import Accelerated, load, save
from pipeline.errors import PipelineError

WORDS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
LIMIT = 60
"""Seconds that a case may take."""
METHODS = """transform predict predict_proba predict_log_proba decision_function inverse_transform
score score_samples get_feature_names_out kneighbors fit_predict"""
INTEGERS = ("int64", "uint8", "bool", "Int64")


def column(values: str, kind: str, seed: int, n: int, missing: float = 0.0) -> Any:
    """Return a column of `n` values."""
    rng = np.random.default_rng(seed)
    few = rng.integers(0, 5, n)
    holes = rng.random(n) < missing
    made: dict[str, Any] = {
        "normal": rng.normal(size=n).round(3),
        "repeats": few + 3.5,
        "constant": np.full(n, 2.0),
        "wide": rng.normal(size=n) * 10.0 ** rng.integers(-6, 7, n),
        "infinite": np.where(few == 0, np.inf, few),
        "integers": few * 1.0,
        "texts": np.array(["b", "a", "Ü", "", "c d"], dtype=object)[few],
        "dates": pd.to_datetime("2021-03-27 22:30") + pd.to_timedelta(few * 5, unit="h"),
    }
    if kind in ("datetime64[ns]", "zoned"):
        dates = pd.Series(made["dates"]).dt.as_unit("ns")
        return (dates.dt.tz_localize("Europe/Berlin") if kind == "zoned" else dates).mask(holes)
    cells: Any = few if kind in INTEGERS else few > 2 if kind == "boolean" else made[values]
    one: Any = pd.Series(cells)
    one = one.astype(object if values == "texts" and kind != "str" else kind).astype(kind)
    if kind == "object":
        return one.mask(holes, None if seed % 2 else np.nan)
    return one if kind in INTEGERS[:3] else one.mask(holes)


def change(model: Any, **params: Any) -> Any:
    """Set parameters of the estimator."""
    prefix = "estimator__" if isinstance(model, Accelerated) else ""
    return model.set_params(**{prefix + name: value for name, value in params.items()})


def stored(model: Any) -> Any:
    """Return a model that was saved and loaded."""
    if not hasattr(model, "plan_"):
        return pickle.loads(pickle.dumps(model))
    with tempfile.TemporaryDirectory() as folder:
        return load(save(model, Path(folder, "model")), device="cpu")


def plain(model: Any) -> Any:
    """Return the estimator of scikit-learn."""
    if not isinstance(model, Accelerated):
        return model
    return model.to_sklearn() if hasattr(model, "plan_") else model.estimator


def methods(model: Any) -> list[str]:
    """Return which methods there are."""
    return [name for name in METHODS.split() if hasattr(model, name)]


def learnt(model: Any) -> dict[str, Any]:
    """Return the fitted attributes, with those of the steps, by their path."""
    return dict(sorted(_learnt(plain(model), "")))


def _learnt(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, BaseEstimator):
        yield path, type(value)
        containers = {"steps", "transformer_list", "transformers_"}
        for name, each in vars(value).items():
            if name in containers or (name.endswith("_") and not name.startswith("_")):
                yield from _learnt(each, f"{path}.{name}")
    elif isinstance(value, list | tuple) and not path.endswith("categories_"):
        for i, each in enumerate(value):
            yield from _learnt(each, f"{path}[{i}]")
    else:
        yield path, value


class Case:
    """The text of one program, drawn by its number."""

    def __init__(self, seed: int) -> None:
        rng = random.Random(seed)
        self.pick: Any = rng.choice
        self.draw: Any = rng.randint
        self.chance: Any = lambda p: rng.random() < p
        self.some: Any = lambda many, k: rng.sample(many, min(k, len(many)))
        self.n = self.pick([1, 2, 7, 12, 23, 40, 40])
        self.numeric = self.chance(0.5)
        names = self.pick(["abcd", "abcd", "abcd", ["x y", "ä", "b__c", "nan"], range(4)])
        self.columns: list[Any] = [(name, self._kind()) for name in names][: self.draw(1, 4)]
        forms = WORDS["table"]["forms"] + WORDS["table"]["numeric_forms"] * self.numeric
        self.form = self.pick(forms)

    def text(self) -> str:
        """Return the program."""
        final = self._estimator(WORDS["finals"]) if self.chance(0.55) else ""
        steps = self._steps()
        how = f"(transform_output={self.pick(['pandas', 'polars'])!r})"
        parts = [*steps, *[final] * bool(final)] or ["'passthrough'"]
        whole = parts[0] if len(parts) == 1 else f"make_pipeline({', '.join(parts)})"
        lines = [
            *[f"set_config{how}"] * self.chance(0.06), f"n = {self.n}",
            f"X = {self._table('n', 0)}", f"y = {self._target(final)}",
            f"model = wrap({whole if whole[0] != chr(39) else f'make_pipeline({whole})'})",
            *[f"model.set_output{how.replace('_output', '')}"] * self.chance(0.15),
            *self._calls(steps, final),
        ]  # fmt: skip
        return ast.unparse(ast.parse("\n".join(lines)))

    def _kind(self) -> tuple[str, str, float]:
        missing = self.pick([0.0, 0.0, 0.0, 0.2, 0.2, 0.2, 0.2, 1.0])
        if self.numeric or self.chance(0.5):
            return self.pick(WORDS["table"]["values"]), self.pick(WORDS["table"]["types"]), missing
        kind = self.pick(WORDS["table"]["kinds"])
        return ("texts" if kind in ("object", "str", "category") else "integers"), kind, missing

    def _table(self, rows: str, seed: int, *, mixed: bool = False) -> str:
        made = [
            f"{name!r}: column({values!r}, {kind!r}, {seed + i}, {rows}, {missing})"
            for i, (name, (values, kind, missing)) in enumerate(self.columns)
        ]
        frame = f"pd.DataFrame({{{', '.join(self.some(made, 9) if mixed else made)}}})"
        return re.sub(r"\bn\b(?=\])", rows, self.form).format(frame)

    def _target(self, final: str) -> str:
        if not re.search("Classifier|NB|SVC|Logistic|LabelB", final):
            return f"column({self.pick(['normal', 'integers'])!r}, 'float64', 9, n)"
        form = self.pick(["", "", ".to_numpy()", ".tolist()"])
        return f"column('texts', {self.pick(WORDS['table']['targets'])!r}, 9, n){form}"

    def _estimator(self, pool: dict[str, str]) -> str:
        name = self.pick([*pool])
        chosen = []
        for each in pool[name].split("; "):
            param, _, values = each.partition(": ")
            if param in ("random_state", "estimator") or self.chance(0.35):
                chosen.append(f"{param}={self.pick(values.split(' '))}")
        return f"{name}({', '.join(chosen)})"

    def _step(self, *, numeric: bool = True, depth: int = 0) -> str:
        kind, inner = self.draw(0, 99), partial(self._step, depth=depth + 1)
        if kind < 14 and depth < 2:
            maker = "make_pipeline" if kind < 6 else "make_union"
            return f"{maker}({inner(numeric=numeric)}, {inner(numeric=numeric or kind < 6)})"
        if kind < 18 and depth:
            return self.pick(["'passthrough'", "'drop'"])
        return self._estimator(WORDS["transformers" if numeric else "encoders"])

    def _steps(self) -> list[str]:
        some = [self._step() for _ in range(self.pick([0, 1, 1, 1, 2, 3]))]
        if self.numeric and self.chance(0.6):
            holes = any(missing for _, (_, _, missing) in self.columns)
            return ["SimpleImputer()"] * (holes and self.chance(0.7)) + some
        if not self.numeric and self.chance(0.2):
            return [self._step(numeric=False), *some[:1]]
        return [self._column_transformer(), *some[:2]]

    def _column_transformer(self) -> str:
        numbers = [i for i, (_, kind) in enumerate(self.columns) if kind[0] != "texts"]
        texts = [i for i in range(len(self.columns)) if i not in numbers]
        parts: list[str] = []
        for places, numeric in ((numbers, True), (texts, False), (numbers, False)):
            chosen = sorted(self.some(places, self.draw(1, 3)))
            if chosen and self.chance(0.8 if len(parts) < 2 else 0.2):
                step = self._step(numeric=numeric, depth=1)
                if numeric and "make" not in step and "(" in step and self.chance(0.6):
                    step = f"make_pipeline(SimpleImputer(), {step})"
                parts.append(f"({step}, {self._key(chosen)})")
        options: list[str] = self.some(
            ["remainder='passthrough'", "sparse_threshold=0"], self.draw(0, 2)
        )
        options += ["verbose_feature_names_out=False"] * self.chance(0.2)
        return f"make_column_transformer({', '.join([*parts, *options])})"

    def _key(self, places: list[int]) -> str:
        names = [self.columns[i][0] for i in places]
        mask = [i in places for i in range(len(self.columns))]
        ways = [f"{places}", f"{mask}", f"np.array({places})", f"np.array({mask})",
                f"slice({places[0]}, {places[-1] + 1})",
                f"{[i - len(mask) for i in places]}"]  # fmt: skip
        if "to_numpy" not in self.form and isinstance(names[0], str):
            ways += [f"{names}", f"{names}", f"{names}", f"pd.Index({names})", f"{names[0]!r}",
                     f"slice({names[0]!r}, {names[-1]!r})", f"pd.Series({names})", f"{(*names,)}",
                     f"make_column_selector(pattern={'|'.join(names)!r})", f"np.array({names})",
                     "make_column_selector(dtype_include='number')", "lambda X: X.columns[:1]",
                     ]  # fmt: skip
        return self.pick(ways)

    def _calls(self, steps: list[str], final: str) -> list[str]:
        """Return the statements that use the model."""
        first, last = (
            re.sub(r"\W.*", "", each)
            for each in ([*steps, final][0], final or steps[-1] if steps else final)
        )
        alone = len(steps) + bool(final) < 2
        calls, fit = WORDS["calls"], self.pick(WORDS["calls"]["fit"])
        if self.chance(0.15):
            name = "" if alone else f"{last.lower()}__"
            fit = f"model.fit(X, y, {name}sample_weight={self.pick(calls['weights'])})"
        between = self.pick(calls["between"])
        params = {**WORDS["transformers"], **WORDS["encoders"], **WORDS["finals"]}.get(first)
        if params and self.chance(0.15):
            name, _, values = self.pick(params.split("; ")).partition(": ")
            prefix = "" if alone else f"{first.lower()}__"
            between = f"change(model, {prefix}{name}={values.split(' ')[0]})"
        mixed = self.chance(0.3) and isinstance(self.columns[0][0], str)
        asked = [f"model.{call}" for call in self.some(calls["asked"], 6)]
        asked += ["methods(model)", "learnt(model)", "plain(model).transform(Z)"]
        return [
            *["methods(model)"] * self.chance(0.2), f"Z = {self._table('7', 50, mixed=mixed)}", fit,
            *[between] * self.chance(0.5), *["model.fit(X, y)"] * self.chance(0.1),
            *["model.transform(Z)"] * (not final), *self.some(asked, 9),
        ]  # fmt: skip


@cache
def names() -> dict[str, Any]:
    """Return what a program may name."""
    ours: list[Any] = [column, change, stored, plain, methods, learnt, Accelerated]
    others = {name: resolve_name(path) for name, path in WORDS["names"].items()}
    return dict(all_estimators()) | others | {each.__name__: each for each in ours}


class Raised(Exception):
    """An error, as a result."""


def difference(source: str) -> tuple[str, str, str] | None:
    """Return the first statement after which ours differs, in which way, and how."""
    spaces = [names() | {"wrap": lambda spec: spec},
              names() | {"wrap": partial(Accelerated, device="cpu")}]  # fmt: skip
    with sklearn.config_context(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for statement in ast.parse(source).body:
            text = ast.unparse(statement)
            theirs, ours = (_run(statement, space) for space in spaces)
            if found := compare(ours, theirs, tolerance(source)):
                return text, *found
            if isinstance(theirs, Raised) and (isinstance(statement, ast.Assign) or "fit" in text):
                break
    return None


def _run(statement: ast.stmt, space: dict[str, Any]) -> Any:
    np.random.seed(0)
    try:
        return (eval if isinstance(statement, ast.Expr) else exec)(ast.unparse(statement), space)
    except Exception as error:
        return Raised(error)


def tolerance(source: str) -> float:
    """Return by which share of a column's largest number two numbers may differ."""
    sums, jumps = (re.search(WORDS["tolerance"][each], source) for each in ("sums", "jumps"))
    # The power that makes a column most normal may be one at which little changes.
    wide = "32" in source or "PowerT" in source
    return 0.0 if not sums else np.inf if jumps else 1e-3 if wide else 1e-6


def compare(ours: Any, theirs: Any, bound: float) -> tuple[str, str] | None:
    """Return in which way two results differ, and how; None where they do not."""
    if isinstance(ours, Raised) or isinstance(theirs, Raised):
        return _compare_errors(ours, theirs)
    if isinstance(theirs, BaseEstimator) or callable(theirs):
        return None
    if isinstance(theirs, np.generic | int | float):
        ours, theirs = np.asarray(ours), np.asarray(theirs)
    if type(ours) is not type(theirs):
        return "type", f"{type(ours).__name__} for {type(theirs).__name__}"
    if isinstance(theirs, np.ndarray):
        return _compare_arrays(ours, theirs, bound)
    if not (parts := _parts(ours, theirs)) and " at 0x" not in str(theirs):
        return None if str(ours) == str(theirs) else ("value", f"{ours!r} for {theirs!r}")
    for what, mine, its in parts:
        if found := compare(mine, its, bound):
            return f"{what} {found[0]}", found[1]
    return None


def _compare_errors(ours: Any, theirs: Any) -> tuple[str, str] | None:
    mine, its = (each.args[0] if isinstance(each, Raised) else None for each in (ours, theirs))
    kind, of = type(mine).__name__, type(its).__name__
    if its is None:
        return f"raises {kind}", str(mine)
    if mine is None:
        return f"takes what raises {of}", str(its)
    same = isinstance(mine, type(its) | PipelineError)
    return None if same else (f"raises {kind} for {of}", f"{mine}\n{its}")


def _parts(ours: Any, theirs: Any) -> list[tuple[str, Any, Any]]:
    """Return what two results are made of, by name."""
    if isinstance(theirs, pd.DataFrame):
        return [("frame", _frame_parts(ours), _frame_parts(theirs))]
    if hasattr(theirs, "to_pandas"):
        return [("", ours.to_pandas(), theirs.to_pandas())]
    if hasattr(theirs, "tocsr"):
        return [("format", ours.format, theirs.format), ("", ours.toarray(), theirs.toarray())]
    if isinstance(theirs, dict):
        more, lacks = [*(ours.keys() - theirs.keys())], [*(theirs.keys() - ours.keys())]
        both = [(key, ours.get(key), theirs[key]) for key in theirs]
        return [("more", more, []), ("lacks", lacks, []), *both]
    if isinstance(theirs, list | tuple) and len(ours) == len(theirs):
        return [(f"[{i}]", *pair) for i, pair in enumerate(zip(ours, theirs, strict=True))]
    return []


def _frame_parts(frame: pd.DataFrame) -> dict[str, Any]:
    about = {name: [*map(str, getattr(frame, name))] for name in ("columns", "dtypes", "index")}
    numeric = [str(dtype).startswith(("float", "int", "uint", "bool")) for dtype in frame.dtypes]
    cells = [
        frame.iloc[:, i].to_numpy(None if known else object) for i, known in enumerate(numeric)
    ]
    return about | {"cells": cells}


def _compare_arrays(ours: Any, theirs: Any, bound: float) -> tuple[str, str] | None:
    how = f"{ours!r} for {theirs!r}"
    if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
        return ("shape" if ours.dtype == theirs.dtype else "dtype"), how
    if theirs.dtype == object:
        flat = zip(ours.ravel(), theirs.ravel(), strict=True)
        jumps = bound == np.inf
        same = all(
            a is b or (type(a) is type(b) and (jumps or not compare(a, b, bound))) for a, b in flat
        )
    elif theirs.dtype.kind in "biufU" and bound == np.inf:
        same = True
    elif theirs.dtype.kind != "f" or bound == 0:
        same = np.array_equal(ours, theirs, equal_nan=theirs.dtype.kind in "fcmM")
    else:
        scale = np.abs(np.where(np.isfinite(theirs), theirs, 0)).max(axis=0, initial=1e-3)
        with np.errstate(invalid="ignore"):
            near = np.isclose(ours, theirs, rtol=0, atol=scale * bound, equal_nan=True)
        same = near.all()
    return None if same else ("values", how)


def known(source: str, found: tuple[str, str, str]) -> str:
    """Return why a difference is known; empty where it is not."""
    texts = dict(zip(("program", "statement", "kind", "how"), (source, *found), strict=True))
    for each in WORDS["known"]:
        if all(re.search(each[key], text, re.S) for key, text in texts.items() if key in each):
            return str(each["reason"])
    return ""


def script(source: str, seed: int, found: tuple[str, str, str]) -> str:
    """Return a program that shows what differs; it runs in the root of the repository."""
    *body, last = source.splitlines()
    shown = [*body, last if re.match(r"[\w.]+ = ", last) else f"print({last})"]
    how = [f"#   {line}" for line in found[2][:700].splitlines()]
    return "\n".join([
        f"# Case {seed}: {found[0]}: {found[1]}", *how,
        "from functools import partial", "from tools.fuzz import names", "",
        "globals().update(names())", "",
        'for wrap in (lambda spec: spec, partial(Accelerated, device="cpu")):', "    try:",
        *(f"        {line}" for line in shown),
        "    except Exception as error:", "        print(repr(error))",
    ])  # fmt: skip


def examine(seed: int) -> tuple[str, str]:
    """Return why the difference of a case is known, or the program that shows another."""
    source = Case(seed).text()
    found = difference(source)
    reason = known(source, found) if found else ""
    return reason, script(source, seed, found) if found and not reason else ""


def main() -> int:
    """Run the cases, print what differs, and return the exit code."""
    parser = argparse.ArgumentParser(prog=".venv/bin/python -m tools.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0, help="no case starts after them")
    parser.add_argument("--seed", type=int, default=0, help="the number of the first case")
    parser.add_argument("--cases", type=int, default=10**9, help="how many, at most")
    asked = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"  # of the two processes
    end, unknown, reasons, seed = time.monotonic() + asked.seconds, 0, Counter[str](), asked.seed
    with ProcessPool(2, context=get_context("spawn")) as pool:
        while time.monotonic() < end and seed < asked.seed + asked.cases:
            seeds = range(seed, min(seed + 20, asked.seed + asked.cases))
            made = pool.map(examine, seeds, timeout=LIMIT).result()
            for each in seeds:
                try:
                    reason, program = next(made)
                except TimeoutError:
                    reason, program = "", f"# Case {each} took over {LIMIT} s\n{Case(each).text()}"
                reasons.update([reason] if reason else [])
                unknown += bool(program)
                if program:
                    print(program, end="\n\n", flush=True)
            seed = seeds.stop
    print(*(f"{count:6d}  {reason}" for reason, count in reasons.most_common()), sep="\n")
    print(f"{seed - asked.seed:,} cases from {asked.seed} on: {unknown} differ and are not known")
    return bool(unknown)


if __name__ == "__main__":
    sys.exit(main())
