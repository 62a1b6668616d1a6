"""Hand-written digits of 43 people, 8 by 8 pixels each."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from . import _store, _tables
from ._store import Card, Column

NAME = "digits"
TITLE = "Hand-written digits of 8 by 8 pixels: which digit is it?"
LICENCE = "CC BY 4.0"
SOURCE = "UCI Machine Learning Repository, test set, as bundled with scikit-learn"
CITATION = "Alpaydin, E. & Kaynak, C. (1998). Optical Recognition of Handwritten Digits. UCI."
ROWS = 1_797
TARGET = "digit"

PIXELS = [f"pixel_{row}_{column}" for row in range(8) for column in range(8)]
COLUMNS = {
    "fold": _tables.FOLD,
    **{name: Column("number", "uint8", "ink at row and column, 0 to 16") for name in PIXELS},
    "digit": Column("target", "int8", "0 to 9"),
}
SHA256 = "f6d9e39f37dc45d327f6db33428ee58970ccceabb2535a5c179de35886b70443"
CARD = Card(NAME, LICENCE, SOURCE, TARGET, COLUMNS, {"sklearn.datasets.load_digits": SHA256})


def build() -> Iterator[Any]:
    """Yield the table."""
    table = _tables.read_bundled("load_digits", SHA256, [*PIXELS, TARGET])
    yield from _tables.folded([table], COLUMNS)


prepare = partial(_store.prepare, CARD, build)
