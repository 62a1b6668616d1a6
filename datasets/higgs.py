"""Simulated collisions of protons: does a Higgs boson decay in them, or is it background."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from . import _store, _tables
from ._download import Remote
from ._store import Card, Column

NAME = "higgs"
TITLE = "Simulated collisions of protons: a Higgs boson, or background?"
LICENCE = "CC BY 4.0"
SOURCE = "UCI Machine Learning Repository"
CITATION = (
    "Baldi, P., Sadowski, P. & Whiteson, D. (2014). Searching for exotic particles in "
    "high-energy physics with deep learning. Nature Communications 5."
)
ROWS = 11_000_000
DOWNLOAD = "2.8 GB"
TARGET = "signal"

MEASURES = [
    "lepton_pt", "lepton_eta", "lepton_phi", "missing_energy", "missing_energy_phi",
    *(f"jet{i}_{what}" for i in range(1, 5) for what in ("pt", "eta", "phi", "b_tag")),
    "m_jj", "m_jjj", "m_lv", "m_jlv", "m_bb", "m_wbb", "m_wwbb",
]  # fmt: skip
COLUMNS = {
    "fold": _tables.FOLD,
    **{name: Column("number", "float32", "measured or derived, scaled") for name in MEASURES},
    "signal": Column("target", "int8", "1 if a Higgs boson decays, 0 for background"),
}
RAW = Remote(
    "HIGGS.csv.gz", "https://archive.ics.uci.edu/ml/machine-learning-databases/00280/HIGGS.csv.gz"
)
CARD = Card(NAME, LICENCE, SOURCE, TARGET, COLUMNS, remotes=[RAW])


def build(files: Mapping[str, Path]) -> Iterator[Any]:
    """Yield the table; the source writes the class as a real number."""
    types = dict.fromkeys(["signal", *MEASURES], "float32")
    yield from _tables.folded(_tables.read_csv(files[RAW.file], types), COLUMNS)


prepare = partial(_store.prepare, CARD, build)
