"""Tables, verified or generated, written once as Parquet: one module per dataset.

``datasets.flights.prepare(home)`` creates ``home/flights/flights.parquet``. The package is
self-contained: it does not depend on what the tables are used for.
"""

from __future__ import annotations

import pkgutil

from .errors import DataError, OutputError

__all__ = ["DataError", "OutputError", "names"]


def names() -> list[str]:
    """Return the names of all datasets, sorted, without importing any.

    >>> "flights" in names()
    True
    """
    found = (each.name for each in pkgutil.iter_modules(__path__))
    return sorted(name for name in found if name[0] != "_" and name != "errors")
