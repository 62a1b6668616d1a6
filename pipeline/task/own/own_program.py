"""The file of a new task: a program to read and to change, written as `ruff format` would."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined

WIDTH = 100
_MODULES = {
    "functools": ["partial"],
    "numpy": ["np"],
    "sklearn.compose": ["make_column_transformer"],
    "sklearn.feature_extraction.text": ["TfidfVectorizer"],
    "sklearn.impute": ["SimpleImputer"],
    "sklearn.linear_model": ["LogisticRegression", "Ridge"],
    "sklearn.metrics": [
        "accuracy_score", "f1_score", "log_loss", "mean_absolute_error", "r2_score",
        "roc_auc_score",
    ],
    "sklearn.model_selection": ["KFold", "StratifiedKFold"],
    "sklearn.pipeline": ["Pipeline", "make_pipeline"],
    "sklearn.preprocessing": ["OneHotEncoder", "OrdinalEncoder", "StandardScaler", "TargetEncoder"],
    "xgboost": ["XGBClassifier", "XGBRegressor"],
    "pipeline": ["CalendarFeatures"],
    "pipeline.data.table_format": [
        "Boolean", "Date", "Duration", "Number", "TableFormat", "Text", "Time",
    ],
    "pipeline.task.own.own_table": ["OwnTable"],
    "pipeline.task.task": ["Task"],
}  # fmt: skip
"""Where the names are from that a program may use, in the order of the imports."""


class Name(str):
    """A name, which stands in a program as it is."""

    __slots__ = ()


class Call(NamedTuple):
    """A call with parameters by name."""

    name: str
    given: Mapping[str, Any]


def write_program(**values: Any) -> str:
    """Return the program of a task."""
    environment = Environment(
        loader=PackageLoader("pipeline.task.own"), undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    environment.filters["code"] = format_code
    body = environment.get_template("task.py.j2").render(**values)
    about = "".join(each if each.isprintable() else " " for each in values["about"])
    about = about.replace("\\", " ").replace('"', "'")
    about = about if len(about) < WIDTH - 6 else about[: WIDTH - 8] + "…"
    return f'"""{about}."""\n\n{_imports(body)}\n{body}'


def _imports(body: str) -> str:
    used = {node.id for node in ast.walk(ast.parse(body)) if isinstance(node, ast.Name)}
    sections: list[list[str]] = [["from __future__ import annotations"], [], [], []]
    for module, names in _MODULES.items():
        if found := [name for name in names if name in used]:
            section = 1 if module == "functools" else 3 if module.startswith("pipeline") else 2
            line = f"from {module} import {', '.join(found)}"
            sections[section].append("import numpy as np" if found == ["np"] else line)
    return "\n".join("\n".join(lines) + "\n" for lines in sections if lines)


def format_code(value: Any, before: str = "", after: str = "") -> str:
    r"""Return an expression behind and before other text, in as many lines as it takes.

    >>> print(format_code(["a" * 50, "it's", 'the "b"', "c" * 40], "NAMES = "))
    NAMES = [
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "it's",
        "the \"b\"",
        "cccccccccccccccccccccccccccccccccccccccc",
    ]
    """
    flat = before + _flat(value) + after
    opening, items, closing = _parts(value)
    if len(flat) <= WIDTH or not items:
        return flat
    indent = " " * (len(before) - len(before.lstrip()))
    lines = [format_code(item, f"{indent}    {key}", ",") for key, item in items]
    return "\n".join([before + opening, *lines, indent + closing + after])


def _flat(value: Any) -> str:
    if isinstance(value, Name):
        return str(value)
    if isinstance(value, str):  # JSON escapes as Python does, and quotes as programs do here
        return json.dumps(value, ensure_ascii=False)
    opening, items, closing = _parts(value)
    if not opening:
        return repr(value)
    end = "," if isinstance(value, tuple) and len(items) == 1 else ""
    return opening + ", ".join(key + _flat(item) for key, item in items) + end + closing


def _parts(value: Any) -> tuple[str, Sequence[tuple[str, Any]], str]:
    """Return the brackets around a value and what is in them, with what stands before each."""
    if isinstance(value, msgspec.Struct):
        value = Call(type(value).__name__, _changed(value))
    if isinstance(value, Call):
        return f"{value.name}(", [(f"{name}=", each) for name, each in value.given.items()], ")"
    if isinstance(value, Mapping):
        return "{", [(f"{_flat(key)}: ", each) for key, each in value.items()], "}"
    if isinstance(value, list | tuple):
        opening, closing = "[]" if isinstance(value, list) else "()"
        return opening, [("", each) for each in value], closing
    return "", (), ""


def _changed(value: msgspec.Struct) -> dict[str, Any]:
    """Return the fields of a struct that are not the default, by name."""
    found = {}
    for each in msgspec.structs.fields(value):
        new = each.default_factory
        default = each.default if new is msgspec.NODEFAULT else new()
        if getattr(value, each.name) != default:
            found[each.name] = getattr(value, each.name)
    return found
