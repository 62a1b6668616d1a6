"""What a run or a comparison is asked for, checked before any data is read."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pipeline.errors import ConfigError, pick


def prepare(
    task: str,
    *,
    device: str,
    seed: int,
    pipelines: str,
    split: str | None,
    home: Path,
    changes: Sequence[str],
    **asked: Any,
) -> tuple[Any, Any, list[str]]:
    """Check everything that can be checked before data is read; then verify the data."""
    from pipeline.compile import lower
    from pipeline.system import devices
    from pipeline.task.task import Job, load

    choice = devices.choose(device)
    what = load(task)
    what.split(split)
    chosen = choose_pipelines(pipelines, what.pipelines)
    parameters = dict(parse_change(text) for text in changes)
    options = lower.LoweringOptions(fallback=device == "auto")
    for name in chosen:
        lower.lower(what.pipeline(name, seed, parameters), choice.name, options)
    path = what.data(home, **asked)
    return what, Job(task, chosen[0], device, path, seed, split, parameters), chosen


def choose_pipelines(text: str, known: Any) -> list[str]:
    """Return the names in a list with commas; all that are known for an empty one."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    return list(dict.fromkeys(pick(name, known, "pipeline") for name in names)) or list(known)


def parse_change(text: str) -> tuple[str, Any]:
    """Return name and value of ``STEP__PARAM=VALUE``; what is no literal is text."""
    name, equals, value = text.partition("=")
    if not equals:
        raise ConfigError(f"--set {text}: write it as STEP__PARAM=VALUE")
    try:
        return name.strip(), ast.literal_eval(value.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return name.strip(), value.strip()
