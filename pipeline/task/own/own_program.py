"""The file of a new task: a program to read and to change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from pprint import pformat
from textwrap import indent
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from jinja2 import Environment, PackageLoader, StrictUndefined

from pipeline.files.table_format import TableFormat
from pipeline.task.own.own_table import OwnTable
from pipeline.task.own.own_target import Target
from pipeline.task.own.roles import Roles

WIDTH = 100


def write_program(own: OwnTable, columns: Roles, target: Target, answers: pa.ChunkedArray) -> str:
    """Return the program of a task; `answers` are the values of its target."""
    table = {each.name: getattr(own, each.name) for each in fields(OwnTable)
             if getattr(own, each.name) != each.default and each.name != "read"}  # fmt: skip
    read = {each.name: getattr(own.read, each.name) for each in msgspec.structs.fields(own.read)}
    read = {name: v for name, v in read.items() if v != getattr(TableFormat(), name)}
    used = {type(each).__name__ for each in own.read.columns.values()}
    is_usual = target.positive in (1, True) and {*target.classes} == {0, 1}
    spread = pc.stddev(answers.cast("float64")).as_py() if own.kind == "regression" else 0
    about = f"Predict {own.target} from the other columns of {Path(own.file).name}."
    environment = Environment(
        loader=PackageLoader("pipeline.task.own"), undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    environment.filters["code"] = format_code
    environment.globals["call"] = format_call
    return environment.get_template("task.py.j2").render(
        about=repr(about)[1:-1].replace('"', "'"), name=own.name,
        title=f"{Path(own.file).name}: {own.target}",
        kind=own.kind, table=table, read=read, formats=sorted({"TableFormat", *used}),
        roles=columns.by_name, timed=columns.timed,
        positive=None if is_usual else target.positive, margin=float(f"{spread / 100:.1g}"),
    )  # fmt: skip


def format_code(value: Any, before: str = "") -> str:
    """Return a value as Python writes it, behind what goes before it.

    >>> print(format_code(["a" * 50, "it's", "c" * 40], "NAMES = "))
    NAMES = ['aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',
             "it's",
             'cccccccccccccccccccccccccccccccccccccccc']
    """
    lines = pformat(value, width=WIDTH - len(before) - 1, sort_dicts=False)
    return before + indent(lines, " " * len(before)).lstrip()


def format_call(name: str, given: Mapping[str, Any], *more: str) -> str:
    """Return a call with parameters by name, a line for each, and more as they are written.

    >>> print(format_call("OwnTable", {"name": "a"}, "read=READ"))
    OwnTable(
        name='a',
        read=READ,
    )
    """
    lines = [format_code(value, f"    {parameter}=") + "," for parameter, value in given.items()]
    lines += [f"    {each}," for each in more]
    return "\n".join([f"{name}(", *lines, ")"]) if lines else f"{name}()"
