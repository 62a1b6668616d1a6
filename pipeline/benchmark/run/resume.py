"""Finished runs, kept on the disk until the comparison they belong to is published.

A comparison that was interrupted is resumed by the next one with the same fingerprint. The runs
are the lines of one file, each with its own sum, so that a torn one is not taken for a run.
"""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from pipeline.benchmark.run.worker import RunReport
from pipeline.system.atomic import sha256, writing

_ARRAYS = ("y_true", "predicted", "classes")


class FinishedRuns:
    """The finished runs of one comparison.

    They are in the file at `path`, which is made when the first run is kept. They count only if
    their fingerprint is the same: `refused` says what is not. `count` are those that are kept, and
    `resumed` those of an earlier command that have been used so far.
    """

    def __init__(self, path: Path, fingerprint: Mapping[str, str]) -> None:
        self.path, self.fingerprint, self.resumed = path, dict(fingerprint), 0
        self.refused: list[str] = []
        self._runs: dict[tuple[str, ...], Any] = {}
        if path.exists():
            then, *runs = [*_lines(path)] or [{}]
            both = self.fingerprint.keys() | then.keys()
            self.refused = sorted(n for n in both if self.fingerprint.get(n) != then.get(n))
            self._runs = {} if self.refused else {tuple(run["name"]): run["report"] for run in runs}
            if self.refused:
                self.drop()
        self.count = len(self._runs)

    def find(self, *name: str) -> RunReport | None:
        """Return the report of a run, or None if it has not run."""
        kept = self._runs.get(name)
        if kept is None:
            return None
        arrays = {field: _array(kept[field]) for field in _ARRAYS}
        try:
            report = msgspec.convert({**kept, **arrays}, RunReport)
        except msgspec.ValidationError:  # a number that JSON has no word for
            return None
        self.resumed += 1
        return report

    def keep(self, report: RunReport, *name: str) -> None:
        """Keep a report; one with objects other than texts is left out, and made again."""
        try:
            lines = [msgspec.json.encode({"name": name, "report": report}, enc_hook=_plain)]
        except NotImplementedError:
            return
        if not self.path.exists():
            lines.insert(0, msgspec.json.encode(self.fingerprint))
        with writing(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab") as file:
                for line in lines:  # a line that is torn ends before the next one
                    file.write(b"\n" + sha256(line).encode() + line)
                file.flush()
                os.fsync(file.fileno())
        self.count += 1

    def drop(self) -> None:
        """Remove all runs."""
        self.path.unlink(missing_ok=True)


def _lines(path: Path) -> Iterator[Any]:
    """Yield what the whole lines of a file say."""
    for line in path.read_bytes().splitlines():
        seal, content = line[:64], line[64:]
        if seal == sha256(content).encode():
            yield msgspec.json.decode(content)


def _plain(value: Any) -> Any:
    """Return what JSON holds: of an array the bytes of a NumPy file."""
    if not isinstance(value, np.ndarray):
        return repr(value)  # a parameter of a step, which no record has
    if value.dtype.hasobject:
        if not all(isinstance(each, str) for each in value.flat):
            raise NotImplementedError
        value = value.astype(str)
    sink = io.BytesIO()
    np.save(sink, value, allow_pickle=False)
    return {"npy": sink.getvalue()}


def _array(kept: Any) -> Any:
    content = kept and base64.b64decode(kept["npy"])
    return content and np.load(io.BytesIO(content), allow_pickle=False)
