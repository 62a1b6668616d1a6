"""Names of test cases that are the same in every process that collects them, and which are slow."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import pytest


def plain(value: object) -> str:
    """Return a value as text, without its address in memory.

    >>> plain(object())
    '<object object>'
    """
    return re.sub(r"\s+at 0x[0-9a-f]+", "", str(value))


def one_in(n: int, values: Iterable[Any]) -> list[Any]:
    """Return test cases of which every nth, from the first on, is quick and the others are slow."""
    return [
        pytest.param(value, marks=[pytest.mark.slow] if i % n else [])
        for i, value in enumerate(values)
    ]
