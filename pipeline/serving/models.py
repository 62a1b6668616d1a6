"""The saved models of a folder, for those who have not named one."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from pipeline.serving import manifest

RUNS: Final = Path("runs")
"""Where ``.venv/bin/python -m pipeline run`` keeps models."""
_DEPTHS: Final = ("", "*/", "*/*/")
_MOST: Final = 30


class SavedModel(NamedTuple):
    """What is said of a model without loading it."""

    path: Path
    task: str
    """Empty where it was not saved by ``.venv/bin/python -m pipeline run``."""
    metrics: dict[str, float]
    created: str

    def __str__(self) -> str:
        """One line."""
        metrics = "  ".join(f"{name} {value:.4f}" for name, value in self.metrics.items())
        return "  ".join(
            part for part in (str(self.path), self.task, metrics, self.created) if part
        )


class _Manifest(msgspec.Struct):
    created: str
    metrics: dict[str, float]


class _Task(msgspec.Struct):
    name: str


class _Run(msgspec.Struct):
    task: _Task


def find_models(folder: Path) -> list[SavedModel]:
    """Return the models of a folder and of the folders in it, in the order of their names."""
    found = {
        path.parent
        for depth in _DEPTHS
        for path in folder.glob(f"{depth}{manifest.MANIFEST}")
        if not any(part.startswith(".") for part in path.relative_to(folder).parts)
    }
    return [each for path in sorted(found) if (each := _described(path)) is not None]


def _described(path: Path) -> SavedModel | None:
    try:
        about = msgspec.json.decode((path / manifest.MANIFEST).read_bytes(), type=_Manifest)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    return SavedModel(path, _task_of(path.parent), about.metrics, about.created)


def _task_of(run: Path) -> str:
    try:
        return msgspec.json.decode((run / "results.json").read_bytes(), type=_Run).task.name
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return ""


def list_models(models: Iterable[SavedModel]) -> str:
    """Return a line for each model, of many the first ones."""
    lines = [str(model) for model in models]
    more = [f"and {len(lines) - _MOST} more"] * (len(lines) > _MOST)
    return "\n".join(f"  {line}" for line in [*lines[:_MOST], *more])


def suggest_models(path: Path) -> str:
    """Return what to say of the models in a folder, or near one that is not there.

    Empty where there are none.
    """
    near = next((each for each in (path, path.parent) if each != Path() and each.is_dir()), RUNS)
    for folder in (near, RUNS):
        if models := find_models(folder):
            return f"; the models in {folder}:\n{list_models(models)}"
    return ""
