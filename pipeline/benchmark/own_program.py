"""The file of a new task: a program to read and to change, written as `ruff format` would."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined

WIDTH = 100
_NOQA = "  # noqa: E501"
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
    "pipeline.benchmark.own_table": ["OwnTable"],
    "pipeline.benchmark.task": ["Task"],
    "pipeline.data.table_format": [
        "Boolean", "Date", "Duration", "Number", "TableFormat", "Text", "Time",
    ],
}  # fmt: skip
"""Where the names are from that a program may use, in the order of the imports."""


class Name(str):
    """A name, which stands in a program as it is."""

    __slots__ = ()


_MANY = 20
"""Names, or columns of one format, from which a rule takes the place of a list."""


class FromKeys(NamedTuple):
    """One value for many keys."""

    keys: list[str]
    value: Any


class Call(NamedTuple):
    """A call with parameters by name."""

    name: str
    given: Mapping[str, Any]


def write_program(**values: Any) -> str:
    """Return the program of a task."""
    environment = Environment(
        loader=PackageLoader("pipeline.benchmark"), undefined=StrictUndefined,
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
    """Return an expression in the lines that it takes behind and before other text.

    >>> print(format_code(["a" * 50, "it's", 'the "b"', "c" * 40], "NAMES = "))
    NAMES = [
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "it's",
        'the "b"',
        "cccccccccccccccccccccccccccccccccccccccc",
    ]
    """
    flat = before + _flat(value) + after
    if len(flat) <= WIDTH:
        return flat
    indent = " " * (len(before) - len(before.lstrip()))
    opening, items, closing = _parts(value)
    if not items:
        return _too_long(before, _flat(value), after, indent)
    lines = [format_code(item, f"{indent}    {key}", ",") for key, item in items]
    head = before + opening
    return "\n".join([head + _NOQA * (len(head) > WIDTH), *lines, indent + closing + after])


def _too_long(before: str, text: str, after: str, indent: str) -> str:
    """Return a value that cannot be cut, on a line of its own where that is enough."""
    if not indent and len(text) + 4 <= WIDTH:
        return f"{before}(\n    {text}\n){after}"
    return before + text + after + _NOQA


def _flat(value: Any) -> str:
    if isinstance(value, Name):
        return str(value)
    if isinstance(value, str):
        return _quoted(value)
    opening, items, closing = _parts(value)
    if not opening:
        return repr(value)
    end = "," if isinstance(value, tuple) and len(items) == 1 else ""
    return opening + ", ".join(key + _flat(item) for key, item in items) + end + closing


def _parts(value: Any) -> tuple[str, Sequence[tuple[str, Any]], str]:
    """Return the brackets around a value and what is in them, with what stands before each."""
    if isinstance(value, list):
        items = _by_rule(value)
        if len(items) == 1 and isinstance(items[0], Name):
            return "[", [("", Name(items[0][2:-1]))], "]"
        return "[", [("", each) for each in items], "]"
    if isinstance(value, FromKeys):
        return "dict.fromkeys(", [("", value.keys), ("", value.value)], ")"
    if isinstance(value, msgspec.Struct):
        value = Call(type(value).__name__, _changed(value))
    if isinstance(value, Call):
        return f"{value.name}(", [(f"{name}=", each) for name, each in value.given.items()], ")"
    if isinstance(value, tuple):
        return "(", [("", each) for each in value], ")"
    if isinstance(value, Mapping):
        return "{", list(_entries(value)), "}"
    return "", (), ""


def _entries(value: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the entries of a dict, those of many keys with one value together."""
    groups: dict[str, list[str]] = {}
    for key, each in value.items():
        groups.setdefault(_flat(each), []).append(key)
    for keys in groups.values():
        if len(keys) >= _MANY:
            yield "**", FromKeys(keys, value[keys[0]])
        else:
            yield from ((f"{_flat(key)}: ", value[key]) for key in keys)


def _by_rule(names: Sequence[Any]) -> list[Any]:
    """Return names with each long run such as x7, x8, … as a rule.

    >>> _by_rule(["a", *(f"x{i}" for i in range(30))])
    ['a', '*(f"x{i}" for i in range(30))']
    """
    found: list[Any] = []
    start = 0
    while start < len(names):
        end, rule = _run(names, start)
        found += [rule] if end - start >= _MANY else names[start:end]
        start = end
    return found


def _run(names: Sequence[Any], start: int) -> tuple[int, Name]:
    """Return where names stop counting on from one of them, and the rule of those before."""
    parts = re.fullmatch(r"(.*?)(0|[1-9]\d*|0\d+)(\D*)", str(names[start]), re.DOTALL | re.ASCII)
    if not parts or not isinstance(names[start], str):
        return start + 1, Name()
    before, digits, after = parts.groups()
    first, width = int(digits), len(digits) if digits[0] == "0" and len(digits) > 1 else 0
    end = start + 1
    while end < len(names) and names[end] == f"{before}{first + end - start:0{width}}{after}":
        end += 1
    before, after = (each.replace("{", "{{").replace("}", "}}") for each in (before, after))
    text = _quoted(f"{before}{{i:0{width}}}{after}" if width else f"{before}{{i}}{after}")
    numbers = f"{first}, {first + end - start}" if first else str(end - start)
    return end, Name(f"*(f{text} for i in range({numbers}))")


def _changed(value: msgspec.Struct) -> dict[str, Any]:
    """Return the fields of a struct that are not the default, by name."""
    found = {}
    for each in msgspec.structs.fields(value):
        new = each.default_factory
        default = each.default if new is msgspec.NODEFAULT else new()
        if getattr(value, each.name) != default:
            found[each.name] = getattr(value, each.name)
    return found


def _quoted(text: str) -> str:
    """Return a literal in the quotes that take fewer escapes, double ones if either does.

    >>> print(_quoted("it's"), _quoted('a "b"'), _quoted("x"))
    "it's" 'a "b"' "x"
    """
    single = text.count('"') > text.count("'")
    quote = "'" if single else '"'
    # What repr escapes, but for quotes, which it does by rules of its own.
    inner = "".join(each if each in "'\"" else repr(each)[1:-1] for each in text)
    return quote + inner.replace(quote, "\\" + quote) + quote
