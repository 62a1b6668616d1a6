"""The file of a new task: a program to read and to change."""

from __future__ import annotations

from collections.abc import Mapping
from pprint import pformat
from textwrap import indent
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

WIDTH = 100


class Name(str):
    """A name, which stands in a program as it is."""

    __slots__ = ()
    __repr__ = str.__str__


def write_program(**values: Any) -> str:
    """Return the program of a task."""
    environment = Environment(
        loader=PackageLoader("pipeline.task.own"), undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    environment.filters["code"] = format_code
    environment.globals["call"] = format_call
    return environment.get_template("task.py.j2").render(**values)


def format_code(value: Any, before: str = "") -> str:
    """Return a value as Python writes it, behind what goes before it.

    >>> print(format_code(["a" * 50, "it's", "c" * 40], "NAMES = "))
    NAMES = ['aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',
             "it's",
             'cccccccccccccccccccccccccccccccccccccccc']
    """
    lines = pformat(value, width=WIDTH - len(before) - 1, sort_dicts=False)
    return before + indent(lines, " " * len(before)).lstrip()


def format_call(name: str, given: Mapping[str, Any]) -> str:
    """Return a call with parameters by name, a line for each.

    >>> print(format_call("OwnTable", {"name": "a"}))
    OwnTable(
        name='a',
    )
    """
    lines = [format_code(value, f"    {parameter}=") + "," for parameter, value in given.items()]
    return "\n".join([f"{name}(", *lines, ")"]) if lines else f"{name}()"
