"""The flights with ``host_bytes=0``, and the driver's own count of the bytes that were copied."""

from __future__ import annotations

import argparse
import sys
import traceback
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import msgspec

from pipeline import Accelerated
from pipeline.benchmark import task
from pipeline.data import parquet
from tools.gpu_proof import child
from tools.gpu_proof.driver import copies


class Moved(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Bytes that went to the host in one call of a program."""

    pipeline: str
    call: str
    rows: int
    booked: int = 0
    """By our log."""
    counted: int | None = None
    """By the driver; None where nobody counts."""
    why: str = ""
    """The error that ended the program."""


def moved(device: str, path: Path, most: int | None, *, count: bool) -> list[Moved]:
    """Fit each program of the flights and predict; one that fails does not stop the others."""
    found, made = task.load("flights"), list[Moved]()
    _, split = found.split(None)
    X, y = parquet.read_parquet(path, found.features, found.target, split.train, device)
    rows, _ = parquet.read_parquet(path, found.features, found.target, split.test, device)
    if most:
        X, y, rows = (table[:most] for table in (X, y, rows))
    for pipeline in found.pipelines:
        model = Accelerated(found.pipelines[pipeline](0), device=device, host_bytes=0)
        calls = {"fit": (X, y), "predict_proba": (rows,)}
        try:
            made += [_call(model, pipeline, call, calls[call], count=count) for call in calls]
        except (Exception, KeyboardInterrupt) as error:
            traceback.print_exc()
            made.append(Moved(pipeline=pipeline, call="", rows=len(X), why=repr(error)))
            if isinstance(error, KeyboardInterrupt):
                break  # The time is over: what there is gets written.
    return made


def _call(model: Any, pipeline: str, call: str, tables: tuple[Any, ...], *, count: bool) -> Moved:
    before = model.execution_log_.to_host_bytes if call != "fit" else 0
    counting: Any = copies if count else nullcontext
    with counting() as counted:
        getattr(model, call)(*tables)
    return Moved(
        pipeline=pipeline,
        call=call,
        rows=len(tables[0]),
        booked=model.execution_log_.to_host_bytes - before,
        counted=_to_host(counted),
    )


def _to_host(counted: Counter[str] | None) -> int | None:
    return None if counted is None else counted["DTOH"]


def measure(given: argparse.Namespace) -> list[Moved]:
    """Return what was moved; the driver counts in the stage ``copies``, on a GPU."""
    path = task.load("flights").prepare(Path("data"))
    count = given.pipeline == "counted" and given.device == "cuda"
    return moved(given.device, path, given.rows, count=count)


if __name__ == "__main__":
    sys.exit(any(each.why for each in child.write(measure, __doc__)))
