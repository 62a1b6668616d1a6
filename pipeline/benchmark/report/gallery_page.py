"""The page over the reports of all tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from pipeline.benchmark.judge.statistics import (
    REFERENCE,
    TASKS,
    Ratio,
    cell_parity,
    over_tasks,
    speed,
)
from pipeline.benchmark.judge.verdict import first_metric
from pipeline.benchmark.record.results import Results, load
from pipeline.benchmark.report.cards import machine_line
from pipeline.benchmark.report.html import page_html
from pipeline.benchmark.report.html_table import (
    ReportTable,
    Row,
    TableCell,
    claim,
    how_fast,
    row,
    span,
)
from pipeline.benchmark.report.panels import Page, Panel, Piece
from pipeline.benchmark.report.runs_csv import runs_csv
from pipeline.errors import DataError
from pipeline.optional import COMMAND
from pipeline.system.atomic import write_text
from pipeline.task.numerals import MISSING, beside_dummy, count

_NOTE = (
    "Speed: median time of plain scikit-learn over the variant's, or the other way round where it "
    f"is slower. Geometric mean: from {TASKS} tasks on, each counts once, with the 95 % interval "
    "of a bootstrap over tasks; what fails on quality or has no times is left out."
)


def gallery_page(records: Mapping[str, Results]) -> Page:
    """Return the page over records by the name of their folder; the report lies in it."""
    machines = "; ".join(sorted({machine_line(each.machine) for each in records.values()}))
    lead = f"{count(len(records), 'report')}. {machines}"
    pieces = [Piece("table", speed_table(records), "speed")]
    panels = {"tasks": Panel("Each pipeline of each task", pieces)}
    files = {"gallery.csv": "every run of every task as a table"}
    return Page("Comparisons of all tasks", lead, panels, files)


def speed_table(records: Mapping[str, Results]) -> ReportTable:
    """Return a row for each pipeline of each task, and the means of the variants."""
    every = [*records.values()]
    ran = {cell.variant for each in every for cell in each.cells if cell.runs}
    names = dict.fromkeys(variant.name for each in every for variant in each.variants)
    variants = [name for name in names if name in ran and name != REFERENCE]
    rows = [one for name, each in records.items() for one in _rows(name, each, variants)]
    means = [over_tasks(every, name) for name in variants]
    if any(means):
        cells = (_mean(*mean) if mean else MISSING for mean in means)
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
    """Return how fast a variant is on a pipeline, or that it has no times."""
    timed, cell = speed(found, pipeline, variant), found.cell(pipeline, variant)
    if timed is None or timed.ratio is None:
        failed = cell is not None and cell.status == "failed"
        return TableCell("failed", "bad") if failed else TableCell(MISSING)
    return claim(timed.ratio, cell_parity(found, pipeline, variant))


def _mean(mean: Ratio, n_tasks: int) -> TableCell:
    said = how_fast(mean)
    return said._replace(text=f"{said.text} ({span(mean)}; {n_tasks} tasks)")


def build_gallery(out: Path) -> Path:
    """Write the page over the reports in a folder, and ``gallery.csv``; return its path."""
    records = {path.parent.name: load(path) for path in sorted(out.glob("*/results.json"))}
    if not records:
        raise DataError(f"{out}: holds no report; create one with `{COMMAND} report TASK`")
    write_text(out / "index.html", page_html(gallery_page(records)))
    write_text(out / "gallery.csv", runs_csv(*records.values()))
    return out / "index.html"
