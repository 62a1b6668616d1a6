"""Errors of the preparation of a dataset, each with its exit code.

The codes follow ``sysexits.h``, as those of the pipeline do.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class DataError(Exception):
    """A source or a prepared file is missing, damaged, or not the expected one."""

    exit_code = 65


class OutputError(Exception):
    """The dataset cannot be written: disk full, read-only folder, a file in the way."""

    exit_code = 73


def unknown(what: str, name: object, known: Iterable[str]) -> str:
    """Return that a name is unknown, and what to write instead.

    >>> unknown("kind", "rankin", ["binary", "ranking"])
    "unknown kind 'rankin'; did you mean 'ranking'? Choose from: binary, ranking"
    """
    names = [*known]
    close = get_close_matches(str(name), names, n=1)
    way = f"did you mean {close[0]!r}? Choose from" if close else "choose from"
    return f"unknown {what} {name!r}; {way}: {', '.join(names)}"
