"""Generated tables as tasks take them: one function a kind, with a column `fold` to split by."""

from __future__ import annotations

from pathlib import Path

from .. import synthetic
from .recipe import Recipe

SPLITTERS = ["fold"]
ROWS = synthetic.ROWS


def binary(home: Path, given: Path | None = None, *, rows: int = ROWS["binary"]) -> Path:
    """Make a table of two classes unless it is there, verify it, return its file."""
    return synthetic.prepare(home, Recipe("binary", rows, fold=True), given)


def ranking(home: Path, given: Path | None = None, *, rows: int = ROWS["ranking"]) -> Path:
    """Make a table of queries with relevant rows unless it is there; return its file."""
    return synthetic.prepare(home, Recipe("ranking", rows, columns=10, fold=True), given)


def clusters(home: Path, given: Path | None = None, *, rows: int = ROWS["clusters"]) -> Path:
    """Make a table of rows about eight centres unless it is there; return its file."""
    return synthetic.prepare(home, Recipe("clusters", rows, columns=10, fold=True), given)
