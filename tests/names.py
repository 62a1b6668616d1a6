"""Names of test cases that are the same in every process that collects them."""

from __future__ import annotations

import re


def plain(value: object) -> str:
    """Return a value as text, without its address in memory.

    >>> plain(object())
    '<object object>'
    """
    return re.sub(r" at 0x[0-9a-f]+", "", str(value))
