"""Functions of the C library that Python has no name for."""

from __future__ import annotations

import ctypes
from typing import Any


def c_function(name: str) -> Any:
    """Return a function of the C library, or None where it is missing, as on Windows.

    >>> c_function("no_such_function") is None
    True
    """
    try:
        return getattr(ctypes.CDLL(None, use_errno=True), name, None)
    except TypeError:  # Windows has no library of the process itself
        return None
