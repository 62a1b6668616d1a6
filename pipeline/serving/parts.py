"""The parts of a long output: each there whole or not at all, joined in the last step.

They lie in a hidden folder beside the file that they become. A run that is terminated leaves
them; the next one continues after them if it does the same work, and starts over if not.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.data.drift import Difference
from pipeline.data.files import digest
from pipeline.errors import DataError, OutputError
from pipeline.serving import outputs
from pipeline.serving.job import PredictionJob, Record
from pipeline.system.atomic import (
    flush,
    locked,
    read_sealed,
    write_bytes,
    write_sealed,
    writing,
)


class OutputPart(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A batch, for the record."""

    rows: int
    counted: dict[str, Difference]
    casts: list[str]
    valued: list[str]
    """Columns of the input that hold any value."""
    halved: bool
    """Whether memory ran out, so that it was predicted in parts."""
    sha256: str = ""
    """Of its rows, as they were written."""


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
    if not job.is_file() or job.read_bytes() != identity.encode():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        write_bytes(job, identity.encode())


def rows_of(folder: Path, number: int) -> Path:
    """Return the file with the rows of a part."""
    return folder / f"{number:08}.parquet"


def write_part(folder: Path, number: int, part: OutputPart, table: pa.Table) -> OutputPart:
    """Write a part; it counts once its description, which is returned, is there too."""
    rows = rows_of(folder, number)
    pq.write_table(table, rows, write_page_checksum=True)
    flush(rows)
    part = msgspec.structs.replace(part, sha256=digest(rows))
    write_sealed(rows.with_suffix(".json"), msgspec.json.encode(part))
    return part


def done(folder: Path) -> list[OutputPart]:
    """Return the parts from the first one on, up to the first that is not there or is damaged."""
    parts: list[OutputPart] = []
    with suppress(OSError, DataError, msgspec.MsgspecError):
        while True:
            rows = rows_of(folder, len(parts))
            part = msgspec.json.decode(read_sealed(rows.with_suffix(".json")), type=OutputPart)
            if digest(rows) != part.sha256:
                break
            parts.append(part)
    return parts


def publish_parts(folder: Path, job: PredictionJob, name: str, record: Record) -> None:
    """Make one file of all parts, and give it its name.

    Parameters
    ----------
    folder : Path
        Of the parts.
    job : PredictionJob
        The name of its target says what it is.
    name : str
        Key of the record in the metadata of a Parquet file.
    record : Record
        Written as JSON beside the file too, as ``target.record.json``.

    Raises
    ------
    OutputError
        The parts do not hold the rows of the record.
    """
    draft, about = folder / "result", folder / "record"
    text = msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n"
    parts = [rows_of(folder, number) for number in range(record.batches)]
    target = job.target.resolve()
    rows = outputs.write_file(draft, target, parts, name, text, quote_formulas=job.quote_formulas)
    if rows != record.rows:
        raise OutputError(f"{folder}: holds {rows:,} rows of {record.rows:,}; run predict again")
    about.write_bytes(text)
    flush(draft, about)
    beside = target.parent / f"{target.name}.record.json"
    # Terminated here, the file has no record beside it, and never that of another file.
    beside.unlink(missing_ok=True)
    draft.replace(target)
    about.replace(beside)
    flush(target.parent)
