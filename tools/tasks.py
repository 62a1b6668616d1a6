"""The tasks of the project, as against one's own in the same folder."""

from __future__ import annotations

from contextlib import suppress

from pipeline.errors import ConfigError
from pipeline.task import task


def published() -> list[str]:
    """Return the names of the tasks that have a dataset of the project."""
    found = []
    for name in task.task_names():
        with suppress(ConfigError):  # A file that cannot be loaded is someone's work.
            task.facts(name)
            found += [name] if task.load(name).dataset else []
    return found
