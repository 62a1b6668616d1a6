"""Finished runs, kept on the disk until the comparison they belong to is published.

A comparison that was interrupted is resumed by the next one with the same fingerprint: what has
run is read instead of run again. Each run is a file that is written aside, flushed and renamed, so
that it is there as a whole or not at all; equal predictions are kept once.
"""

from __future__ import annotations

import io
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from pipeline.benchmark.run.worker import RunReport
from pipeline.system.atomic import read_sealed, sha256, write_bytes, write_sealed

FINGERPRINT = "fingerprint.json"
_ARRAY = "kept in"
"""Stands in a report before the name of the file of an array."""


class FinishedRuns:
    """The finished runs of one comparison.

    Parameters
    ----------
    folder : Path or None
        Made when the first run is kept; None keeps nothing.
    fingerprint : mapping of str to str
        What must be the same for a run to count; see `pipeline.benchmark.compare`.
    kind : type, default=Report
        Of the reports; its fields that hold arrays are declared as `Any`.

    Attributes
    ----------
    refused : list of str
        Why earlier runs are not used; empty where they are, or where there are none.
    resumed : int
        Earlier runs that have been used so far.
    """

    def __init__(
        self,
        folder: Path | None = None,
        fingerprint: Mapping[str, str] | None = None,
        kind: type[Any] = RunReport,
    ) -> None:
        self.folder, self.fingerprint, self.kind = folder, dict(fingerprint or {}), kind
        self.refused: list[str] = []
        self.resumed = 0
        if folder is not None and folder.is_dir():
            self.refused = _differences(self.fingerprint, folder)
            if self.refused:
                self.drop()

    def count(self) -> int:
        """Return how many runs are kept."""
        return len(list(self.folder.glob("run-*.json"))) if self.folder else 0

    def find(self, *name: str) -> Any:
        """Return the report of a run, the error it ended with, or None where it has not run."""
        if self.folder is None:
            return None
        try:
            found = self._read(_file(name))
        except (OSError, ValueError, msgspec.MsgspecError, pa.ArrowException):
            return None  # never written, damaged or edited: it is run again
        self.resumed += 1
        return found

    def keep(self, report: object, *name: str) -> None:
        """Keep a report, or the error that a run ended with."""
        if self.folder is None:
            return
        if not self.folder.is_dir():
            self.folder.mkdir(parents=True)
            write_bytes(self.folder / FINGERPRINT, msgspec.json.encode(self.fingerprint))
        if isinstance(report, str):
            write_sealed(self.folder / _file(name), msgspec.json.encode({"error": report}))
            return
        try:
            encoded = msgspec.json.encode({"report": report}, enc_hook=self._keep_other)
        except (pa.ArrowException, ValueError):
            return  # of a form that cannot be kept: the run would be made again
        write_sealed(self.folder / _file(name), encoded)

    def drop(self) -> None:
        """Remove all runs."""
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _read(self, name: str) -> Any:
        assert self.folder is not None
        kept = msgspec.json.decode(read_sealed(self.folder / name), type=dict[str, Any])
        if "error" in kept:
            return str(kept["error"])
        plain = {
            field: self._array(value[_ARRAY])
            if isinstance(value, dict) and value.keys() == {_ARRAY}
            else value
            for field, value in kept["report"].items()
        }
        return msgspec.convert(plain, self.kind)

    def _keep_other(self, value: Any) -> Any:
        return {_ARRAY: self._keep_array(value)} if isinstance(value, np.ndarray) else repr(value)

    def _keep_array(self, values: np.ndarray) -> str:
        """Return the name of the file of an array."""
        assert self.folder is not None
        # Python's objects, such as texts, are kept as Arrow, since NumPy would pickle them.
        suffix, write = ("arrow", _arrow) if values.dtype.hasobject else ("npy", _npy)
        content = write(values)
        name = f"{sha256(content)}.{suffix}"
        if not (self.folder / name).exists():
            write_bytes(self.folder / name, content)
        return name

    def _array(self, name: str) -> np.ndarray:
        assert self.folder is not None
        content = (self.folder / name).read_bytes()
        recorded, _, suffix = name.partition(".")
        if sha256(content) != recorded:
            raise OSError(f"{name} is damaged")
        if suffix == "npy":
            return np.asarray(np.load(io.BytesIO(content), allow_pickle=False))
        return np.asarray(pa.ipc.open_file(content).read_all()["values"].to_numpy())


def _npy(values: np.ndarray) -> bytes:
    sink = io.BytesIO()
    np.save(sink, values, allow_pickle=False)
    return sink.getvalue()


def _arrow(values: np.ndarray) -> bytes:
    batch, sink = pa.record_batch([pa.array(values)], names=["values"]), pa.BufferOutputStream()
    with pa.ipc.new_file(sink, batch.schema) as file:
        file.write_batch(batch)
    return bytes(sink.getvalue())


def _file(name: tuple[str, ...]) -> str:
    # A hash, for pipelines may have any name.
    return f"run-{sha256(repr(name).encode())[:32]}.json"


def _differences(now: Mapping[str, str], folder: Path) -> list[str]:
    """Return what the fingerprint in a folder does not have in common with another."""
    try:
        then = msgspec.json.decode((folder / FINGERPRINT).read_bytes(), type=dict[str, str])
    except (OSError, msgspec.MsgspecError):
        return ["their fingerprint cannot be read"]
    return [
        f"{name} {now.get(name, 'none')} now, {then.get(name, 'none')} then"
        for name in sorted(now.keys() | then.keys())
        if now.get(name) != then.get(name)
    ]
