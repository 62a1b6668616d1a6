"""Tables, verified or generated, written once as Parquet: one module per dataset.

``module("flights").prepare(home)`` creates ``home/flights/flights.parquet``. The package is
self-contained: it does not depend on what the tables are used for.
"""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType

from .errors import DataError, OutputError, UnknownDataset, unknown

__all__ = ["OutputError", "DataError", "UnknownDataset", "module", "names"]


def names() -> list[str]:
    """Return the names of all datasets, sorted, without importing any.

    >>> "flights" in names()
    True
    """
    found = (each.name for each in pkgutil.iter_modules(__path__))
    return sorted(name for name in found if name[0] != "_" and name != "errors")


def module(name: str) -> ModuleType:
    """Return the module that describes and prepares a dataset, one of `names`.

    It has ``prepare(home)`` and the constants described in ``docs/datasets.md``. If there is no
    such dataset, the message of `UnknownDataset` lists the known ones.

    >>> module("flights").TARGET
    'late'
    """
    known = names()
    if name not in known:
        raise UnknownDataset(unknown("dataset", name, known))
    return importlib.import_module(f"{__name__}.{name}")
