"""Stands in for scikit-learn's build backend: pip asks it for metadata, which the sdist has."""

from __future__ import annotations

from email import message_from_string
from pathlib import Path


def prepare_metadata_for_build_wheel(folder: str, settings: object = None) -> str:
    """Copy the metadata of the sdist in the working directory, and return where it is."""
    text = Path("PKG-INFO").read_text("utf-8")
    about = message_from_string(text)
    made = Path(folder, f"{about['Name'].replace('-', '_')}-{about['Version']}.dist-info")
    made.mkdir()
    (made / "METADATA").write_text(text, "utf-8")
    return made.name
