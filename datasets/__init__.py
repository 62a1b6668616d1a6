"""Tables, verified or generated, written once as Parquet: one module per dataset.

``.venv/bin/python -m datasets flights`` makes ``data/flights/flights.parquet``. The package
stands alone: it does not know what the tables are used for.
"""

from __future__ import annotations

import difflib
import importlib
from pathlib import Path
from types import ModuleType

from datasets.errors import DataError, OutputError, UnknownDataset

__all__ = ["OutputError", "DataError", "UnknownDataset", "module", "names"]

_NOT_A_DATASET = {"errors"}


def names() -> list[str]:
    """Return the names of all datasets, sorted, without importing any.

    >>> "flights" in names()
    True
    """
    here = Path(__file__).parent
    modules = {path.stem for path in here.glob("[!_]*.py")}
    packages = {path.parent.name for path in here.glob("[!_]*/__init__.py")}
    return sorted((modules | packages) - _NOT_A_DATASET)


def module(name: str) -> ModuleType:
    """Return the module that describes and prepares a dataset, one of `names`.

    It has ``prepare(home)`` and the constants described in ``docs/datasets.md``. If there is no
    such dataset, the message of `UnknownDataset` lists those there are.

    >>> module("flights").TARGET
    'late'
    """
    known = names()
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise UnknownDataset(f"no dataset {name!r}; {hint}known: {', '.join(known)}")
    return importlib.import_module(f"datasets.{name}")
