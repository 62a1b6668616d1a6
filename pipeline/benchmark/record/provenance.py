"""What a record says of the data and of what ran."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pipeline.data.files import byte_size, digest
from pipeline.records import DataInfo, Movement
from pipeline.task.task import Task
from pipeline.trace import Event


def describe_data(task: Task, path: Path) -> DataInfo:
    """Return the record of the data file, or of the folder of files."""
    return DataInfo(
        path=str(path),
        sha256=digest(path),
        bytes=byte_size(path),
        licence=task.licence,
        source=task.source,
    )


def movements(found: Iterable[Event]) -> list[Movement]:
    """Return the entries of a log, as records."""
    names = Movement.__struct_fields__
    return [Movement(**{name: getattr(entry, name) for name in names}) for entry in found]
