"""A comparison measured, kept as a whole or not at all, and shown in a terminal."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from pipeline.compare import results
from pipeline.compare.duel import Duel
from pipeline.compare.report import render
from pipeline.compare.report.terminal import table
from pipeline.progress import progress
from pipeline.publish import publishing


def publish(duel: Duel, folder: Path, *, pages: bool) -> None:
    """Measure and keep ``results.json``, with the pages of the report if asked.

    Parameters
    ----------
    duel : Duel
        What to compare.
    folder : Path
        Takes the results; what was there is replaced once all is written.
    pages : bool
        Write ``index.html`` and ``report.md`` as well.
    """
    with publishing(folder) as draft:
        with progress("runs", duel.runs) as line:
            measured = duel.measure(line)
        (draft / "results.json").write_bytes(results.dumps(measured))
        if pages:
            render(measured, draft)
    Console().print(table(measured))
