"""Forest cover in northern Colorado: which of seven kinds grows on a patch of 30 by 30 metres."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from . import _store, _tables
from ._download import Remote
from ._store import Card, Column

NAME = "covertype"
TITLE = "Forest cover of 30 by 30 metres from a map: which of seven kinds?"
LICENCE = "CC BY 4.0"
SOURCE = "UCI Machine Learning Repository, the copy that scikit-learn fetches"
CITATION = "Blackard, J. (1998). Covertype. UCI Machine Learning Repository."
ROWS = 581_012
DOWNLOAD = "11 MB"
TARGET = "cover"

MEASURES = {
    "elevation": "metres above the sea",
    "aspect": "direction of the slope, degrees from north",
    "slope": "degrees",
    "to_water": "horizontal distance to water, metres",
    "above_water": "vertical distance to water, metres",
    "to_road": "horizontal distance to a road, metres",
    "shade_9": "hillshade at 9 on the summer solstice, 0 to 255",
    "shade_12": "hillshade at noon, 0 to 255",
    "shade_15": "hillshade at 15, 0 to 255",
    "to_fire": "horizontal distance to where fires broke out, metres",
}
FLAGS = [f"wilderness_{i}" for i in range(4)] + [f"soil_{i}" for i in range(40)]
COLUMNS = {
    "fold": _tables.FOLD,
    **{name: Column("number", "float32", about) for name, about in MEASURES.items()},
    **{name: Column("number", "float32", "1 if of this area or soil, else 0") for name in FLAGS},
    "cover": Column("target", "int8", "kind of forest, 0 to 6"),
}
RAW = Remote(
    "covtype.data.gz",
    "https://ndownloader.figshare.com/files/5976039",
    "614360d0257557dd1792834a85a1cdebfadc3c4f30b011d56afee7ffb5b15771",
)
CARD = Card(NAME, LICENCE, SOURCE, TARGET, COLUMNS, remotes=[RAW])


def build(files: Mapping[str, Path]) -> Iterator[Any]:
    """Yield the table; the source counts the kinds from 1."""
    import pyarrow.compute as pc

    types = dict.fromkeys([*MEASURES, *FLAGS], "float32") | {"cover": "int8"}
    yield from _tables.folded(
        (
            table.set_column(len(types) - 1, "cover", pc.subtract(table["cover"], 1))
            for table in _tables.read_csv(files[RAW.file], types)
        ),
        COLUMNS,
    )


prepare = partial(_store.prepare, CARD, build)
