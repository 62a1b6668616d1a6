"""Classes that warn when they are made: the user hears it of theirs, and not of each copy of it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def heard() -> Iterator[None]:
    """Make again in the block what the user has made, without the warning that came with it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "`XGBRF", FutureWarning)
        yield
