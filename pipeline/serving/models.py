"""The saved models of a folder, for those who have not named one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from pipeline.serving import manifest

RUNS: Final = Path("runs")
"""Where ``.venv/bin/python -m pipeline run`` keeps models."""
_MOST: Final = 30


def list_models(folder: Path) -> list[str]:
    """Return a line for each model of a folder and of those in it: task, metrics, when it was made.

    The lines are in the order of the models' paths.
    """
    depths = ("", "*/", "*/*/")
    found = {path.parent for depth in depths for path in folder.glob(f"{depth}{manifest.MANIFEST}")}
    lines = []
    for path in sorted(found):
        about = _read(path / manifest.MANIFEST)
        if about and not any(part.startswith(".") for part in path.relative_to(folder).parts):
            task = _read(path.parent / "results.json").get("task", {}).get("name")
            metrics = [f"{name} {value:.4f}" for name, value in about.get("metrics", {}).items()]
            parts = [str(path), task, *metrics, about.get("created")]
            lines.append("  ".join(filter(None, parts)))
    return lines


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def suggest_models(path: Path) -> str:
    """Return what to say of the models in a folder, or near one that is not there.

    Empty where there are none.
    """
    near = next((each for each in (path, path.parent) if each != Path() and each.is_dir()), RUNS)
    for folder in (near, RUNS):
        if lines := list_models(folder):
            return f"; the models in {folder}:\n{first_of(lines)}"
    return ""


def first_of(lines: list[str]) -> str:
    """Return lines as text, of many the first ones."""
    more = [f"and {len(lines) - _MOST} more"] * (len(lines) > _MOST)
    return "\n".join(f"  {line}" for line in [*lines[:_MOST], *more])
