"""Card payments of two days in September 2013: the 0.17 % that were fraud."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from . import _store, _tables
from ._download import Remote
from ._store import Card, Column

NAME = "fraud"
TITLE = "Card payments: which of them are fraud (0.17 %)?"
LICENCE = "Database Contents License 1.0"
SOURCE = "Worldline and the Universite Libre de Bruxelles, through OpenML, id 1597"
CITATION = (
    "Dal Pozzolo, A., Caelen, O., Johnson, R. & Bontempi, G. (2015). Calibrating probability "
    "with undersampling for unbalanced classification. IEEE SSCI."
)
ROWS = 284_807
DOWNLOAD = "150 MB"
TARGET = "is_fraud"

PARTS = [f"V{i}" for i in range(1, 29)]
COLUMNS = {
    "fold": _tables.FOLD,
    **{name: Column("number", "float32", "principal component of the payment") for name in PARTS},
    "Amount": Column("number", "float32", "euros"),
    "is_fraud": Column("target", "int8", "1 if fraud, else 0"),
}
RAW = Remote("creditcard.arff", "https://www.openml.org/data/v1/download/1673544/creditcard.arff")
CARD = Card(NAME, LICENCE, SOURCE, TARGET, COLUMNS, remotes=[RAW])


def build(files: Mapping[str, Path]) -> Iterator[Any]:
    """Yield the table."""
    yield from _tables.folded(_payments(files[RAW.file]), COLUMNS)


def _payments(path: Path) -> Iterator[Any]:
    """Yield what follows ``@data``, under the names of the header."""
    import pyarrow.compute as pc

    with _tables.blame(path), path.open("rb") as file:
        names = []
        while not (line := file.readline()).lower().startswith(b"@data"):
            if not line:
                raise ValueError("no line @data")
            if line.lower().startswith(b"@attribute"):
                names.append(line.split()[1].decode().strip("'\""))
        types = dict.fromkeys(names, "float64") | {"Class": "string"}
        for table in _tables.read_csv(path, types, stream=file):
            fraud = pc.cast(pc.utf8_trim(table["Class"], "'\" "), "int8")
            yield table.select([*PARTS, "Amount"]).append_column("is_fraud", fraud)


prepare = partial(_store.prepare, CARD, build)
