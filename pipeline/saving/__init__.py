"""Models as folders: saved whole or not at all, checked before they are read, never pickled."""

from __future__ import annotations

from pipeline.saving.reading import load
from pipeline.saving.writing import About, save

__all__ = ["About", "load", "save"]
