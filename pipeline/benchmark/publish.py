"""A comparison measured, kept as a whole or not at all, and shown in a terminal."""

from __future__ import annotations

import shutil
from pathlib import Path

from msgspec import structs
from rich.console import Console

from pipeline.benchmark.compare import Comparison
from pipeline.benchmark.record import results
from pipeline.benchmark.report.html import write_page
from pipeline.benchmark.report.panels import comparison_page
from pipeline.benchmark.report.runs_csv import runs_csv
from pipeline.benchmark.report.terminal import terminal_report
from pipeline.benchmark.run.resume import FinishedRuns
from pipeline.errors import clean
from pipeline.system.atomic import publishing, sha256, write_bytes, write_text
from pipeline.system.progress import progress


def publish(
    comparison: Comparison,
    folder: Path,
    *,
    pages: bool = False,
    resume: bool = True,
    price: results.Price | None = None,
) -> None:
    """Measure and keep ``results.json``, with the pages of the report if asked.

    What was in the folder is replaced once all is written. With `resume`, the finished runs of a
    comparison that was interrupted count. `price` is that of this machine by the hour.
    """
    with publishing(folder) as draft:
        finished = find_finished(folder.resolve(), comparison, resume=resume)
        try:
            with progress(comparison.task.name, comparison.runs - finished.count) as say:
                measured = comparison.measure(say, finished)
        except BaseException:
            if finished.count:
                said = f"{finished.count} finished runs are kept; the same command resumes from"
                _say(f"{said} them", Console(stderr=True, soft_wrap=True))
            raise
        measured = structs.replace(measured, price=price)
        write_bytes(draft / "results.json", results.dumps(measured))
        if pages:
            render(measured, draft)
    finished.drop()
    rest = folder / ("index.html" if pages else "results.json")
    Console().print(terminal_report(measured, rest))


def _say(line: str, console: Console | None = None) -> None:
    console = console or Console(soft_wrap=True)
    console.print(clean(line), markup=False, highlight=False)


def write_again(folder: Path, price: results.Price | None = None) -> None:
    """Write the pages of the record in a folder anew, at another price if one is given."""
    record = results.load(folder / "results.json")
    with publishing(folder) as draft:
        shutil.copytree(folder, draft, dirs_exist_ok=True)
        if price is not None:
            record = structs.replace(record, price=price)
            write_bytes(draft / "results.json", results.dumps(record))
        render(record, draft)


def render(measured: results.Results, folder: Path) -> None:
    """Write ``index.html``, ``report.md`` and ``runs.csv``; the same results give the same bytes.

    `OutputError` says that the folder is not writable, the disk full, or a file in the way.
    """
    write_page(comparison_page(measured), folder)
    write_text(folder / "runs.csv", runs_csv(measured))


def find_finished(folder: Path, comparison: Comparison, *, resume: bool = True) -> FinishedRuns:
    """Return the finished runs that lie beside a folder of results, and say whether they count."""
    path, record = folder.parent / f".{folder.name}.runs.jsonl", folder / "results.json"
    if not resume:
        path.unlink(missing_ok=True)
    # Where the results have changed since, the runs are in them.
    there = sha256(record.read_bytes()) if record.exists() else ""
    finished = FinishedRuns(path, {**comparison.fingerprint(), "results before": there})
    if finished.refused:
        said = f"{', '.join(finished.refused)} changed since then"
        _say(f"the runs of an earlier command are not used: {said}")
    elif finished.count:
        _say(f"resuming after {finished.count} finished runs of an earlier command")
    return finished
