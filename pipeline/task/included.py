"""Where tasks and datasets are: in the working directory, or included in an installed package.

In a wheel they are inside `pipeline`: the top-level names ``tasks`` and ``datasets`` would meet
those of other projects. A task of the working directory takes precedence.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

from pipeline.errors import ConfigError
from pipeline.optional import INCLUDED

FOLDER = Path("tasks")
"""The tasks of the working directory."""
TASKS = INCLUDED / "tasks"


def dataset(name: str) -> ModuleType:
    """Return the module of a dataset, with its constants and its ``prepare``.

    >>> dataset("flights").TARGET
    'late'
    """
    return import_module(f"{'pipeline.included.' if INCLUDED.is_dir() else ''}datasets.{name}")


def task_module(name: str) -> ModuleType:
    """Return the module of a task.

    `ConfigError` says that Python finds another package `tasks` than that of the working directory.
    """
    if (TASKS / f"{name}.py").is_file() and not (FOLDER / f"{name}.py").is_file():
        return import_module(f"pipeline.included.tasks.{name}")
    try:
        package = import_module("tasks")
    except ModuleNotFoundError as error:
        if error.name != "tasks" or not FOLDER.is_dir():
            raise
        sys.path.insert(0, str(Path.cwd()))  # a script elsewhere; workers get the same path
        package = import_module("tasks")
    paths = [Path(path).resolve() for path in package.__path__]
    if FOLDER.resolve() not in paths:
        way = f"create an empty {FOLDER}/__init__.py, or run from there"
        raise ConfigError(f"Python finds the package `tasks` in {paths[0]}, not here; {way}")
    return import_module(f"tasks.{name}")
