"""A small dataset."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from datasets._store import Card, Column

COLUMNS = {
    "x": Column("number", "float32", "a number, metres"),
    "month": Column("split", "int8", "1 or 2"),
    "y": Column("target", "int8", "0 or 1"),
}
CARD = Card("tiny", "CC0 1.0", "made up", "y", COLUMNS, {"tiny.csv": "0" * 64})


def build() -> Iterator[Any]:
    import pyarrow as pa

    for month in (1, 2):
        yield pa.table(
            {
                "x": pa.array([0.5, None, 2.5], "float32"),
                "month": pa.array([month] * 3, "int8"),
                "y": pa.array([0, 1, 0], "int8"),
            }
        )
