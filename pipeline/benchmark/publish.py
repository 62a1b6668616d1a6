"""A comparison measured, kept as a whole or not at all, and shown in a terminal."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import structs
from rich.console import Console

from pipeline.benchmark.compare import Comparison
from pipeline.benchmark.record import results
from pipeline.benchmark.record.history import earlier
from pipeline.benchmark.report import html, markdown
from pipeline.benchmark.report.cells import cells_csv
from pipeline.benchmark.report.terminal import terminal_report
from pipeline.benchmark.run.live import watching
from pipeline.benchmark.run.resume import FinishedRuns
from pipeline.benchmark.run.worker import RunReport
from pipeline.errors import DataError, clean
from pipeline.system.atomic import publishing, sha256, write_bytes, write_text


@dataclass(frozen=True)
class PublishOptions:
    """What is to be made of a comparison besides its record.

    Parameters
    ----------
    pages : bool
        Write ``index.html`` and ``report.md`` as well.
    resume : bool
        Go on after the finished runs of a comparison that was interrupted.
    if_changed : bool
        Measure nothing where the report that is there has the same fingerprint.
    price : Price, optional
        Of this machine by the hour.
    """

    pages: bool = False
    resume: bool = True
    if_changed: bool = False
    price: results.Price | None = None


def publish(comparison: Comparison, folder: Path, options: PublishOptions) -> None:
    """Measure and keep ``results.json``, with the pages of the report if asked.

    Parameters
    ----------
    comparison : Comparison
        What to compare.
    folder : Path
        Takes the results; what was there is replaced once all is written.
    options : PublishOptions
    """
    if options.if_changed and is_current(comparison, folder):
        _say(f"{folder}: of the same code, data, versions and protocol, so not measured again")
        if options.price is not None:
            write_again(folder, options.price)
        return
    with publishing(folder) as draft:
        finished = find_finished(folder, comparison.fingerprint(), resume=options.resume)
        with reporting_kept(finished), watching(comparison.task.name) as watch:
            measured = comparison.measure(watch, finished)
        history = earlier(measured, folder / "results.json")
        measured = structs.replace(measured, price=options.price, history=history)
        write_bytes(draft / "results.json", results.dumps(measured))
        if options.pages:
            render(measured, draft)
    finished.drop()
    rest = folder / ("index.html" if options.pages else "results.json")
    Console().print(terminal_report(measured, rest))


def _say(line: str, *, stderr: bool = False) -> None:
    Console(stderr=stderr, soft_wrap=True).print(clean(line), markup=False, highlight=False)


def is_current(comparison: Comparison, folder: Path) -> bool:
    """Tell whether a folder holds the report of the same code, data, versions and protocol."""
    if not (folder / "index.html").exists():
        return False
    try:
        return results.load(folder / "results.json").fingerprint == comparison.key
    except DataError:
        return False


def write_again(folder: Path, price: results.Price | None = None) -> None:
    """Write the pages of a record that is there anew, at another price if one is given.

    Parameters
    ----------
    folder : Path
        Where ``results.json`` lies.
    price : Price, optional
        As for `PublishOptions`.
    """
    record = results.load(folder / "results.json")
    with publishing(folder) as draft:
        shutil.copytree(folder, draft, dirs_exist_ok=True)
        if price is not None:
            record = structs.replace(record, price=price)
            write_bytes(draft / "results.json", results.dumps(record))
        render(record, draft)


def render(measured: results.Results, folder: Path) -> None:
    """Write the report's files into a folder; the same results give the same bytes.

    They are ``index.html``, ``report.md``, ``cells.csv`` and ``machine.json``.

    Parameters
    ----------
    measured : Results
        The only source of all of them.
    folder : Path
        Made if it does not exist; where ``results.json`` lies.

    Raises
    ------
    OutputError
        The folder is not writable, the disk is full, or a file is in the way.
    """
    write_text(folder / "index.html", html.render_html(measured))
    write_text(folder / "report.md", markdown.render_markdown(measured))
    write_text(folder / "cells.csv", cells_csv(measured))
    write_text(folder / "machine.json", results.dumps(measured.machine).decode())


def kept(folder: Path) -> Path:
    """Return where the finished runs of a comparison lie until it is published."""
    return folder.parent / f".{folder.name}.runs"


def find_finished(
    folder: Path,
    fingerprint: Mapping[str, str],
    *,
    resume: bool = True,
    kind: type[Any] = RunReport,
) -> FinishedRuns:
    """Return the finished runs of a command, and say whether it resumes from them.

    Parameters
    ----------
    folder : Path
        Where the results will be.
    fingerprint : mapping of str to str
    resume : bool, default=True
    kind : type, default=Report
        Of the reports of the runs.
    """
    folder = folder.resolve()
    if not resume:
        FinishedRuns(kept(folder)).drop()
    # Where the results have changed since, the runs are in them.
    record = folder / "results.json"
    there = sha256(record.read_bytes())[:12] if record.exists() else "none"
    finished = FinishedRuns(kept(folder), {**fingerprint, "results before": there}, kind)
    if finished.refused:
        _say(f"earlier runs are not used: {'; '.join(finished.refused)}")
    elif count := finished.count():
        _say(f"resuming after {count} finished runs of an earlier command")
    return finished


@contextmanager
def reporting_kept(finished: FinishedRuns) -> Iterator[None]:
    """Say what is kept of the runs in a block that does not end well."""
    try:
        yield
    except BaseException:
        if count := finished.count():
            said = f"{count} finished runs are kept; the same command resumes from them"
            _say(said, stderr=True)
        raise
