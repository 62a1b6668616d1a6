"""Which steps of programs `explain` runs on a GPU, and why not the others."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from doctest import DocTestParser
from pathlib import Path
from typing import Any

import sklearn

from pipeline import explain
from pipeline.backends.base import Placement
from pipeline.errors import ConfigError
from tools.gallery.read import namespace, read

PROGRAMS = Path(__file__).with_name("programs.json")
RECORD = Path(__file__).with_name("record.json")
FOLDERS = ("examples", "doc")

Programs = Mapping[str, Mapping[str, Sequence[str]]]
"""Folder -> file -> the estimators that it makes."""


def read_programs(sources: Path) -> dict[str, Any]:
    """Return the estimators that scikit-learn's documents make, by folder and file."""
    found: dict[str, Any] = {"sklearn": sklearn.__version__, "left_out": 0}
    for folder in FOLDERS:
        of_files = {}
        for file in sorted((sources / folder).rglob("*")):
            made, left_out = _read_file(file)
            found["left_out"] += left_out
            if made:
                of_files[file.relative_to(sources / folder).as_posix()] = made
        found[folder] = of_files
    return found


def _read_file(file: Path) -> tuple[list[str], int]:
    if file.suffix not in (".py", ".rst"):
        return [], 0
    text = file.read_text("utf-8")
    try:
        if file.suffix == ".rst":
            text = "".join(each.source for each in DocTestParser().get_examples(text))
        return read(text)
    except (SyntaxError, ValueError):  # a template, or prompts that are no doctest
        return [], 0


def count(programs: Mapping[str, Any]) -> dict[str, Any]:
    """Return how many steps run, and the reasons of the others by the number of files."""
    found: dict[str, Any] = {name: programs[name] for name in ("sklearn", "left_out")}
    for folder in FOLDERS:
        found[folder] = _count_folder(programs[folder])
    return found


def _count_folder(files: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    steps: Counter[str] = Counter()
    classes: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    for made in files.values():
        places = [place for text in made for place in _explain(text)]
        steps.update(_outcome(place) for place in places)
        classes.update(re.findall(r"\b([A-Z]\w+)\(", " ".join(made)))
        refused.update({_why(place) for place in places if not place.implementation})
    ran = steps["on the GPU"] + steps["on the host"]
    return {
        "files": len(files),
        "pipelines": sum(map(len, files.values())),
        "steps": dict(sorted(steps.items())),
        "share": round(ran / max(steps.total(), 1), 4),
        "refused_in_files": dict(refused.most_common()),
        "classes": dict(classes.most_common()),
    }


def _explain(text: str) -> Iterator[Placement]:
    try:
        yield from explain(evaluate(text), "cuda").placements
    except (ConfigError, TypeError, ValueError) as error:
        yield Placement(text, "", "", str(error))


def evaluate(text: str) -> Any:
    """Return the estimator of an expression of the names of scikit-learn."""
    return eval(text, {**namespace(), "__builtins__": {}})  # noqa: S307 - our own file


def _outcome(place: Placement) -> str:
    if not place.implementation:
        return "refused"
    return "on the GPU" if place.device == "cuda" else "on the host"


def _why(place: Placement) -> str:
    (reason, *_) = place.reasons or (None,)
    why = place.note if reason is None else ": ".join(filter(None, (reason.parameter, reason.why)))
    return re.sub(r" at 0x\w+|;.*", "", why, flags=re.DOTALL)


def summary(counted: Mapping[str, Any]) -> str:
    """Return a line for each folder."""
    lines = []
    for folder in FOLDERS:
        found = counted[folder]
        steps = ", ".join(f"{n:,} {what}" for what, n in found["steps"].items())
        lines.append(
            f"{folder}: {found['share']:.1%} of the steps of {found['pipelines']:,} run ({steps})"
        )
    return "\n".join(lines)
