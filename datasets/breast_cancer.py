"""Cell nuclei from breast tumours, measured in 569 images, malignant or benign."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from . import _store, _tables
from ._store import Card, Column

NAME = "breast_cancer"
TITLE = "Breast tumours from the shape of their nuclei: malignant?"
LICENCE = "CC BY 4.0"
SOURCE = "UCI Machine Learning Repository, as bundled with scikit-learn"
CITATION = (
    "Wolberg, W., Mangasarian, O., Street, N. & Street, W. (1993). "
    "Breast Cancer Wisconsin (Diagnostic). UCI."
)
ROWS = 569
TARGET = "malignant"

_SHAPES = (
    "radius texture perimeter area smoothness compactness concavity concave_points symmetry "
    "fractal_dimension"
)
_KINDS = {"mean": "mean", "error": "standard error", "worst": "mean of the three largest"}
MEASURES = {f"{k}_{s}": f"{s}, {about}" for k, about in _KINDS.items() for s in _SHAPES.split()}
COLUMNS = {
    "fold": _tables.FOLD,
    **{name: Column("number", "float32", about) for name, about in MEASURES.items()},
    "malignant": Column("target", "int8", "1 if malignant, 0 if benign"),
}
SHA256 = "25e2eb7b7a8745b1bde5ba18bc4969983d2e2f403291ecd5bde4a29ef30c3859"
CARD = Card(NAME, LICENCE, SOURCE, TARGET, COLUMNS, {"sklearn.datasets.load_breast_cancer": SHA256})


def build() -> Iterator[Any]:
    """Yield the table; scikit-learn's class 1 is benign."""
    import pyarrow.compute as pc

    table = _tables.read_bundled("load_breast_cancer", SHA256, [*MEASURES, TARGET])
    malignant = pc.subtract(1, table[TARGET])
    yield from _tables.folded([table.set_column(len(MEASURES), TARGET, malignant)], COLUMNS)


prepare = partial(_store.prepare, CARD, build)
