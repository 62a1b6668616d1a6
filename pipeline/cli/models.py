"""The models that commands have saved, one line each."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

MANIFEST = "model.manifest.json"


def model_lines(folders: Sequence[Path]) -> list[str]:
    """Return a line about each model in some folders: its folder, device, score, time.

    >>> model_lines([Path("no such folder")])
    []
    """
    rows = [_row(path) for folder in folders for path in sorted(_manifests(folder))]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def _manifests(folder: Path) -> Iterator[Path]:
    """Yield the manifests of models, except in the hidden drafts of commands that still run."""
    for path in folder.rglob(MANIFEST):
        if not any(part.startswith(".") for part in path.relative_to(folder).parts):
            yield path


def _row(path: Path) -> tuple[str, ...]:
    try:
        read = dict(json.loads(path.read_bytes()))
    except (OSError, TypeError, ValueError):
        read = {}
    scores = [f"{name} {value:.4g}" for name, value in read.get("metrics", {}).items()]
    return (
        str(path.parent),
        f"trained on {read['device']}" if read else f"{MANIFEST} cannot be read",
        scores[0] if scores else "no score",
        read.get("created", ""),
    )
