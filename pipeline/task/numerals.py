"""How numbers and foreign text are written, alike in every form of the report."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from shlex import quote

MISSING = "–"
"""Stands where there is nothing to say."""
NAMED = 5
"""Columns, rows or classes that a sentence names."""


def ignore(names: Sequence[str]) -> str:
    """Write the option that leaves columns out, the first of many, as a shell takes it.

    >>> print(ignore(["x"]), ignore(["Unnamed: 0", "price, EUR"]))
    --ignore x --ignore 'Unnamed: 0,"price, EUR"'
    """
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(names[:NAMED])
    return f"--ignore {quote(line.getvalue())}"


def seconds(value: float) -> str:
    """Write a time in seconds, to the millisecond, or finer where that says nothing.

    >>> seconds(1.23456), seconds(0.00123)
    ('1.235', '0.00123')
    """
    return f"{value:.3f}" if value == 0 or abs(value) >= 0.01 else f"{value:.5f}"


def metric(value: float | None) -> str:
    """Write a metric: five decimals below a thousand, one above.

    >>> metric(0.8123456), metric(2345.67), metric(None)
    ('0.81235', '2345.7', '–')
    """
    if value is None:
        return MISSING
    return f"{value:.5f}" if abs(value) < 1_000 else f"{value:.1f}"


def score(value: float) -> str:
    """Write a metric in a sentence, never rounding it up to 1.

    >>> score(0.91234), score(0.99996), score(24.3511), score(0.0004567), score(-1.5)
    ('0.912', '0.99996', '24.4', '0.000457', '-1.500')
    """
    if abs(value) >= 10:
        return f"{value:.3g}" if abs(value) < 1_000 else f"{value:,.0f}"
    if 0 < abs(value) < 0.001:
        return f"{value:.3g}"
    decimals = next((d for d in range(3, 9) if value >= 1 or round(value, d) < 1), 3)
    return f"{value:.{decimals}f}"


def beside_dummy(name: str, value: float, baseline: Mapping[str, float]) -> str:
    """Write a metric beside the dummy's.

    >>> beside_dummy("roc_auc", 0.912, {"roc_auc": 0.5}), beside_dummy("ndcg", 0.7, {})
    ('roc_auc 0.912, dummy 0.500', 'ndcg 0.700')
    """
    beside = f", dummy {score(baseline[name])}" if name in baseline else ""
    return f"{name} {score(value)}{beside}"


def difference(value: float | None) -> str:
    """Write a signed difference; tiny ones keep their order of magnitude.

    >>> difference(-0.00123), difference(1.2e-9), difference(0.0)
    ('-0.00123', '+1.2e-09', '0')
    """
    if value is None or value == 0:
        return MISSING if value is None else "0"
    return f"{value:+.5f}" if 5e-6 <= abs(value) < 1_000 else f"{value:+.1e}"


def size(count: float) -> str:
    """Write a number of bytes in binary units.

    >>> size(512), size(1536), size(3 * 2**30)
    ('512 B', '1.50 KiB', '3.00 GiB')
    """
    if count < 1024:
        return f"{count:.0f} B"
    for unit in ("KiB", "MiB", "GiB"):
        count /= 1024
        if count < 1024:
            return f"{count:.{2 if count < 10 else 1 if count < 100 else 0}f} {unit}"
    return f"{count / 1024:.2f} TiB"


def count(number: int, what: str) -> str:
    """Write a number of things.

    >>> count(1, "table"), count(3, "table")
    ('1 table', '3 tables')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def short(value: float) -> str:
    """Write a round number with k, M or G for thousands, millions and billions.

    >>> short(0.5), short(20_000), short(3e6)
    ('0.5', '20k', '3M')
    """
    for factor, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= factor:
            return f"{value / factor:g}{letter}"
    return f"{value:g}"


def share(value: float) -> str:
    """Write a share of 0 to 1 in per cent, never rounding up to all or down to none.

    >>> share(1.0), share(0.99999), share(0.2)
    ('100 %', '99.999 %', '20.0 %')
    """
    if value in (0, 1):
        return f"{value:.0%}".replace("%", " %")
    decimals = next((d for d in (1, 2, 3, 4) if 0 < round(value, d + 2) < 1), 6)
    return f"{value:.{decimals}%}".replace("%", " %")


def named(names: Sequence[str]) -> str:
    """Write the first names, and how many there are beside them.

    >>> named(["a", "b"]), named("abcdefg")
    ("'a', 'b'", "'a', 'b', 'c', 'd', 'e' and 2 more")
    """
    return ", ".join(map(repr, names[:NAMED])) + rest(len(names))


def rest(count: int) -> str:
    """Write how many there are beside those that a sentence names."""
    return f" and {count - NAMED} more" if count > NAMED else ""


def on_gpu(device: str) -> bool:
    """Return whether a device's name is that of a GPU.

    >>> on_gpu("cuda:0"), on_gpu("cpu")
    (True, False)
    """
    return device.lower().startswith(("cuda", "gpu"))


def times(factor: float) -> str:
    """Write a factor with three significant digits.

    >>> times(2.314), times(0.4307), times(123.4)
    ('2.31×', '0.431×', '123×')
    """
    decimals = 3 if factor < 1 else 2 if factor < 10 else 1 if factor < 100 else 0
    return f"{factor:.{decimals}f}×"
