"""Models as folders: saved whole or not at all, checked before they are read, never pickled."""

from __future__ import annotations

from pipeline.saving.isolated import Isolated
from pipeline.saving.reading import load
from pipeline.saving.writing import About, save

__all__ = ["About", "Isolated", "load", "save"]
