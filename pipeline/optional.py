"""The one place that imports packages by name, when they are needed."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from importlib import metadata
from typing import Any

from pipeline.errors import ConfigError

PYTHON = ".venv/bin/python"
"""What `make setup` makes, from the root of the repository."""


def why_not_here(error: Exception) -> str:
    """Return why this Python cannot run the project, and which one can.

    >>> why_not_here(ModuleNotFoundError(name="click")).partition(" has ")[2]
    'no package click; run `make setup`, then use `.venv/bin/python`'

    Raises
    ------
    Exception
        The error, if the fault is not this Python's.
    """
    name = (getattr(error, "name", None) or "pipeline").partition(".")[0]
    if not isinstance(error, ModuleNotFoundError) or name == "pipeline":
        raise error
    return f"{sys.executable} has no package {name}; run `make setup`, then use `{PYTHON}`"


def available(package: str) -> bool:
    """Return whether a package is installed, without importing it.

    >>> available("json"), available("no_such_package")
    (True, False)
    """
    return importlib.util.find_spec(package) is not None


def version(distribution: str) -> str:
    """Return the version of an installed distribution, an empty string where it is not there.

    >>> version("no-such-distribution")
    ''
    """
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ""


def load(path: str) -> Any:
    """Import ``package.module`` or ``package.module.Name`` and return it.

    >>> load("collections.OrderedDict").__name__
    'OrderedDict'

    Raises
    ------
    ConfigError
        The package is not installed.
    """
    module, _, name = path.rpartition(".")
    if not module:
        return _module(path)
    parent = _module(module)
    return getattr(parent, name) if hasattr(parent, name) else _module(path)


def _module(path: str) -> Any:
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError as error:
        if error.name and path.startswith(error.name):
            raise ConfigError(f"{error.name} is not installed; run `make setup`") from error
        raise
