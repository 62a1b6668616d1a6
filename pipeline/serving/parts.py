"""The parts of a long output: each there whole or not at all, joined in the last step.

They lie in a hidden folder beside the file that they become. A run that is terminated leaves
them; the next one continues after them if it does the same work, and starts over if not.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.data.drift import Counted
from pipeline.errors import OutputError
from pipeline.serving import outputs
from pipeline.system.atomic import flush, locked, writing


class OutputPart(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A batch, for the record."""

    rows: int
    counted: dict[str, Counted]
    casts: list[str]
    valued: list[str]
    """Columns of the input that hold any value."""
    halved: bool
    """Whether memory ran out, so that it was predicted in parts."""


@contextmanager
def parts_of(target: Path, identity: str) -> Iterator[Path]:
    """Yield the folder of the parts of a file; it goes away when the block succeeds.

    Parameters
    ----------
    target : Path
        The file.
    identity : str
        Of the work; parts of another one are removed.

    Raises
    ------
    OutputLocked
        Another process writes the same file.
    OutputError
        The disk is full, the folder read-only, or a folder in the way.
    """
    target = target.resolve()
    folder = target.parent / f".{target.name}.parts"
    if target.is_dir():
        raise OutputError(f"{target}: a folder is in the way; choose another name")
    with writing(target), locked(target):
        _prepare(folder, identity)
        yield folder
        shutil.rmtree(folder)


def _prepare(folder: Path, identity: str) -> None:
    job = folder / "job"
    if not job.is_file() or job.read_text() != identity:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        job.write_text(identity)


def write_part(folder: Path, number: int, part: OutputPart, table: pa.Table) -> None:
    """Write a part; it counts once its description is there too."""
    pq.write_table(table, folder / f"{number:08}.parquet", write_page_checksum=True)
    draft = folder / f"{number:08}.draft"
    draft.write_bytes(msgspec.json.encode(part))
    flush(folder / f"{number:08}.parquet", draft)
    draft.rename(folder / f"{number:08}.json")


def done(folder: Path) -> list[OutputPart]:
    """Return the parts from the first one on, up to the first that is not there."""
    parts = []
    for number, path in enumerate(sorted(folder.glob("*.json"))):
        if path.stem != f"{number:08}":
            break
        parts.append(msgspec.json.decode(path.read_bytes(), type=OutputPart))
    return parts


def publish_parts(folder: Path, target: Path, name: str, record: bytes) -> None:
    """Make one file of all parts, and give it its name.

    Parameters
    ----------
    folder : Path
        Of the parts.
    target : Path
        Its name says what it is.
    name : str
        Key of the record in the metadata of a Parquet file.
    record : bytes
        JSON; also written beside the file, as ``target.record.json``.
    """
    draft, beside = folder / "result", folder / "record"
    outputs.write_file(draft, target, sorted(folder.glob("*.parquet")), name, record)
    beside.write_bytes(record)
    flush(draft, beside)
    target = target.resolve()
    beside.replace(target.parent / f"{target.name}.record.json")
    draft.replace(target)
    flush(target.parent)
