"""Reports for all tasks whose data is there, one process each, and an index page."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from pipeline.benchmark import results, task
from pipeline.benchmark.report.gallery_html import Entry, Gallery, Tuning
from pipeline.benchmark.report.tuning_tables import headlines
from pipeline.benchmark.tuning_record import TUNING_FILE, load_tuning
from pipeline.errors import ConfigError, PipelineError
from pipeline.system.atomic import write_text
from pipeline.system.progress import printing


def build_gallery(
    out: Path, home: Path, options: Sequence[str], *, from_results: bool, also: Sequence[Path] = ()
) -> Path:
    """Measure what can be measured and write the index, with what was tuned; return its path.

    ``gallery.csv`` lies beside it.

    Parameters
    ----------
    out : Path
        Folder of the reports, one folder per task.
    home : Path
        Folder of the data.
    options : sequence of str
        For ``.venv/bin/python -m pipeline report``.
    from_results : bool
        Measure nothing; only write the index of the reports that are there.
    also : sequence of Path
        Other folders of reports, as of another machine.

    Raises
    ------
    ConfigError
        A folder of `also` holds no record.
    """
    others = [read_records(folder) for folder in also]
    whys = {name: broken(name) for name in task.task_names()}
    lacks = {name: missing(name, home) for name, why in whys.items() if not why}
    able = [] if from_results else [name for name, lack in lacks.items() if not lack]
    for number, name in enumerate(able, 1):
        printing(Console())(f"report {number} of {len(able)}: {name}")
        whys[name] = _report(name, [*options, "--data-home", str(home), "--out", str(out / name)])
    entries = [_entry(name, out, why, lacks.get(name, "")) for name, why in whys.items()]
    tunings = [_tuning(path) for path in sorted(out.glob(f"*/{TUNING_FILE}"))]
    gallery = Gallery(entries, tunings, others)
    write_text(out / "index.html", gallery.render())
    write_text(out / "gallery.csv", gallery.csv())
    return out / "index.html"


def read_records(folder: Path) -> list[results.Results]:
    """Return the records of a folder, or of those in it.

    Raises
    ------
    ConfigError
        There is none.
    DataError
        One of them cannot be read.
    """
    paths = sorted([*folder.glob("results.json"), *folder.glob("*/results.json")])
    if not paths:
        raise ConfigError(f"--also {folder}: there is no results.json in it, nor in its folders")
    return [results.load(path) for path in paths]


def broken(name: str) -> str:
    """Say why the file of a task cannot be read, or nothing."""
    try:
        task.facts(name)
    except PipelineError as error:
        return str(error)
    return ""


def missing(name: str, home: Path) -> str:
    """Say what a task lacks that would have to be downloaded, or nothing."""
    facts = task.facts(name)
    if not facts.download or (home / facts.folder).exists():
        return ""
    return f"Its data is not here: make data TASK={name}, {facts.download} to download."


def _report(name: str, options: Sequence[str]) -> str:
    """Make one report in a process of its own; return why it failed, or nothing."""
    command = [sys.executable, "-m", "pipeline", "report", name, *options]
    done = subprocess.run(command, check=False, stderr=subprocess.PIPE, text=True)
    sys.stderr.write(done.stderr)
    if done.returncode < 0 or done.returncode in (130, 143):
        raise KeyboardInterrupt
    said = done.stderr.partition("error: ")[2].strip()
    return (
        said or f"The comparison ended with exit code {done.returncode}." if done.returncode else ""
    )


def _entry(name: str, out: Path, why: str, lack: str) -> Entry:
    """Return the entry of a task.

    A report from before is not shown for a run that failed, but where the data is gone, or was
    never on this machine.
    """
    path = out / name / "results.json"
    summary = "" if broken(name) else task.summary(name)
    if why or not path.exists():
        return Entry(name, summary, None, why or lack or "No report has been made.")
    try:
        return Entry(name, summary, results.load(path))
    except PipelineError as error:
        return Entry(name, summary, None, str(error))


def _tuning(path: Path) -> Tuning:
    """Return what the record of a batch of searches says of each."""
    name = path.parent.name
    try:
        record = load_tuning(path)
    except PipelineError as error:
        return Tuning(name, name, [str(error)])
    return Tuning(name, record.task.title, [*headlines(record)])
