"""Reports for all tasks whose data is there, one process each, and a page over all of them."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from rich.console import Console

from pipeline.benchmark.judge.aggregate import FEWEST, over_tasks
from pipeline.benchmark.judge.doubts import first_metric
from pipeline.benchmark.judge.statistics import REFERENCE, Ratio, cell_parity, speed
from pipeline.benchmark.record import results
from pipeline.benchmark.record.results import Results
from pipeline.benchmark.report.cards import machine_line
from pipeline.benchmark.report.cells import cells_csv
from pipeline.benchmark.report.html import page_html
from pipeline.benchmark.report.panels import Page, Panel, Piece
from pipeline.benchmark.report.table import ReportTable, Row, TableCell, how_fast, row, span
from pipeline.errors import PipelineError
from pipeline.system.atomic import write_text
from pipeline.system.progress import printing
from pipeline.task import task
from pipeline.task.numerals import MISSING, beside_dummy, count

SHADES = 4
"""To each side of equal, each up to a factor of 2 from the one before."""
_NOTE = (
    "Speed: median time of plain scikit-learn over the variant's, or the other way round where it "
    "is slower; a shade darker for each factor of 2. Where quality fails or no difference is "
    f"shown, the time has no shade. Geometric mean: from {FEWEST} tasks on, each counts once, with "
    "the 95 % interval of a bootstrap over tasks; what fails on quality or has no times is left "
    "out."
)


@dataclass(frozen=True)
class Entry:
    """One task of the gallery; `results` is None where there is no report, and `why` says why."""

    name: str
    summary: str
    results: Results | None
    why: str = ""


def gallery_page(entries: Sequence[Entry]) -> Page:
    """Return the page over all tasks; the report of each lies at ``<name>/index.html``."""
    every = [each.results for each in entries if each.results]
    machines = "; ".join(sorted({machine_line(each.machine) for each in every}))
    lead = f"Reports of {len(every)} of {count(len(entries), 'task')}. {machines}"
    pieces = [Piece("table", speed_table(entries), "speed", "heat")]
    if lacking := [each for each in entries if not each.results]:
        pieces.append(Piece("heading", "Without a report"))
        said = [(each.name, f"{each.summary} {each.why}".strip()) for each in lacking]
        pieces.append(Piece("card", said))
    panels = {"tasks": Panel("Each pipeline of each task", pieces)}
    files = {"gallery.csv": "every run of every task as a table"}
    return Page("Comparisons of all tasks", lead, panels, files)


def speed_table(entries: Sequence[Entry]) -> ReportTable:
    """Return a row for each pipeline of each task, and the means of the variants."""
    every = [each.results for each in entries if each.results]
    ran = {cell.variant for each in every for cell in each.cells if cell.runs}
    names = dict.fromkeys(variant.name for each in every for variant in each.variants)
    variants = [name for name in names if name in ran and name != REFERENCE]
    rows = [
        one for each in entries if each.results for one in _rows(each.name, each.results, variants)
    ]
    means = [over_tasks(every, name) for name in variants]
    if any(means):
        cells = (_mean(mean) if mean else MISSING for mean in means)
        rows.append(row("All tasks", "geometric mean", *cells, ""))
    head = "Task", "Pipeline", *variants, "Metric"
    return ReportTable(
        "Speed against plain scikit-learn", head, "l" * len(head), tuple(rows), _NOTE
    )


def _rows(task: str, found: Results, variants: Sequence[str]) -> Iterator[Row]:
    link = TableCell(task, "", f"{quote(task, safe='')}/index.html")
    for pipeline in found.pipelines:
        first = first_metric(found, pipeline.name)
        said = beside_dummy(*first, found.baseline) if first else MISSING
        cells = (compared(found, pipeline.name, variant) for variant in variants)
        yield row(link, pipeline.name, *cells, said)


def compared(found: Results, pipeline: str, variant: str) -> TableCell:
    """Return how fast a variant is on a pipeline, with its shade, or that it has no times."""
    timed, cell = speed(found, pipeline, variant), found.cell(pipeline, variant)
    if timed is None or timed.ratio is None:
        failed = cell is not None and cell.status == "failed"
        return TableCell("failed", "bad") if failed else TableCell(MISSING)
    if cell_parity(found, pipeline, variant) == "FAIL":
        return TableCell("quality fails", "bad")
    said = how_fast(timed.ratio)
    return TableCell(said.text, shade(timed.ratio.value) if said.tone else "")


def _mean(mean: Ratio) -> TableCell:
    said = how_fast(mean)
    text = f"{said.text} ({span(mean)}; {mean.n} tasks)"
    return TableCell(text, shade(mean.value) if said.tone else "")


def shade(ratio: float) -> str:
    """Return the shade of a ratio of times.

    Examples
    --------
    >>> [shade(ratio) for ratio in (0.01, 0.3, 0.9, 1.2, 3.0)]
    ['f4', 'f2', 'f1', 's1', 's2']
    """
    step = min(SHADES, max(1, math.ceil(abs(math.log2(ratio)))))
    return f"{'f' if ratio < 1 else 's'}{step}"


def build_gallery(out: Path, home: Path, options: Sequence[str], *, from_results: bool) -> Path:
    """Measure what can be measured and write the page; return its path.

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
        Measure nothing; only write the page of the reports that are there.
    """
    entries = [
        _entry(name, out, home, None if from_results else options) for name in task.task_names()
    ]
    write_text(out / "index.html", page_html(gallery_page(entries)))
    table = cells_csv(*(each.results for each in entries if each.results))
    write_text(out / "gallery.csv", table)
    return out / "index.html"


def _report(name: str, options: Sequence[str]) -> str:
    """Make one report in a process of its own; return why it failed, or nothing."""
    command = [sys.executable, "-m", "pipeline", "report", name, *options]
    done = subprocess.run(command, check=False, stderr=subprocess.PIPE, text=True)
    sys.stderr.write(done.stderr)
    if done.returncode < 0 or done.returncode in (130, 143):
        raise KeyboardInterrupt
    said = done.stderr.partition("error: ")[2].strip()
    ended = f"The comparison ended with exit code {done.returncode}."
    return said or ended if done.returncode else ""


def _entry(name: str, out: Path, home: Path, options: Sequence[str] | None) -> Entry:
    """Return the entry of a task, measured first if there are options and its data is there."""
    try:
        facts, summary = task.facts(name), task.summary(name)
    except PipelineError as error:
        return Entry(name, "", None, str(error))
    why, path = "No report has been made.", out / name / "results.json"
    if facts.download and not (home / facts.folder).exists():
        why = f"Its data is not here: make data TASK={name}, {facts.download} to download."
    elif options is not None:
        printing(Console())(f"report: {name}")
        words = [*options, "--data-home", str(home), "--out", str(path.parent)]
        if failed := _report(name, words):
            return Entry(name, summary, None, failed)  # one from before is not of this code
    try:
        return Entry(name, summary, results.load(path) if path.exists() else None, why)
    except PipelineError as error:
        return Entry(name, summary, None, str(error))
