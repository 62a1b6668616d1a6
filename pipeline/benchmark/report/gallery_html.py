"""The page over many reports: variants over all tasks, a heatmap, machines side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from string import ascii_uppercase
from typing import NamedTuple

from pipeline.benchmark.aggregate import CellResult, cell_results, standings
from pipeline.benchmark.report.aggregate_tables import (
    Square,
    difference_table,
    gallery_csv,
    machines_table,
    side_by_side,
    square,
    standing_table,
)
from pipeline.benchmark.report.cards import machine_line
from pipeline.benchmark.report.format import MISSING, integer, score
from pipeline.benchmark.report.html import environment
from pipeline.benchmark.report.panels import Piece
from pipeline.benchmark.report.table import ReportTable, row
from pipeline.benchmark.results import Results
from pipeline.benchmark.scores import best_pipeline, every_caution, first_metric
from pipeline.benchmark.verdict import verdict


@dataclass(frozen=True)
class Entry:
    """One task of the gallery.

    Parameters
    ----------
    name, summary : str
    results : Results or None
        None where there is no report.
    why : str
        Why there is none.
    """

    name: str
    summary: str
    results: Results | None
    why: str = ""


class Tuning(NamedTuple):
    """A batch of searches beside the gallery.

    Parameters
    ----------
    folder, title : str
    lines : list of str
        What came of each search, or why its record cannot be read.
    """

    folder: str
    title: str
    lines: list[str]


class HeatRow(NamedTuple):
    """A row of the heatmap: a pipeline of a task, and its cells by column."""

    task: str
    pipeline: str
    squares: list[Square]


@dataclass(frozen=True)
class Gallery:
    """Records of many tasks, of one machine or several.

    Parameters
    ----------
    entries : sequence of Entry
        The report of one lies at ``<name>/index.html`` beside the page.
    tunings : sequence of Tuning
        The page of one lies at ``<folder>/index.html``.
    others : sequence of list of Results
        Records from elsewhere, as of other machines, by folder.
    """

    entries: Sequence[Entry]
    tunings: Sequence[Tuning] = ()
    others: Sequence[Sequence[Results]] = ()

    @cached_property
    def of_machine(self) -> dict[str, dict[str, Results]]:
        """Name of a machine -> task -> its newest record; the name is empty where there is one.

        The machines of one folder are told apart by what they are; those of two folders are two.
        """
        found: dict[tuple[int, str], dict[str, Results]] = {}
        own = [entry.results for entry in self.entries if entry.results]
        for place, folder in enumerate([own, *self.others]):
            for each in folder:
                records = found.setdefault((place, machine_line(each.machine)), {})
                if each.created >= records.get(each.task.name, each).created:
                    records[each.task.name] = each
        several = len(found) > 1
        return {_letters(i) if several else "": found[key] for i, key in enumerate(found)}

    @cached_property
    def machines(self) -> dict[str, str]:
        """Name -> what it is."""
        first = ((name, next(iter(records.values()))) for name, records in self.of_machine.items())
        return {name: machine_line(record.machine) for name, record in first}

    @cached_property
    def cells(self) -> list[CellResult]:
        """Every cell of every record."""
        return [
            cell
            for name, records in self.of_machine.items()
            for record in records.values()
            for cell in cell_results(record, name)
        ]

    @cached_property
    def columns(self) -> list[tuple[str, str]]:
        """Variant and machine of each column: those that ran anywhere."""
        ran = (cell for cell in self.cells if cell.result != "not run")
        return list(dict.fromkeys((cell.variant, cell.machine) for cell in ran))

    def heat(self) -> list[HeatRow]:
        """Return the rows of the heatmap, by task and pipeline."""
        found = {(c.task, c.pipeline, c.variant, c.machine): c for c in self.cells}
        rows = dict.fromkeys((c.task, c.pipeline) for c in self.cells)
        return [
            HeatRow(*names, [square(found.get((*names, *column))) for column in self.columns])
            for names in sorted(rows, key=lambda names: names[0])
        ]

    def skipped(self) -> str:
        """Name the variants that ran nowhere."""
        ran = {variant for variant, _ in self.columns}
        whys = {c.variant: c.why for c in self.cells if c.variant not in ran}
        said = "; ".join(f"{name} ({why})" for name, why in whys.items())
        return f"Run nowhere: {said}." if said else ""

    def standing(self) -> ReportTable:
        """Return how each variant stands over all tasks."""
        shown = [cell for cell in self.cells if (cell.variant, cell.machine) in self.columns]
        return standing_table(standings(shown), machines=len(self.machines) > 1)

    def tasks(self) -> ReportTable:
        """Return how good the best pipeline of each task is."""
        rows = tuple(row(*_task(entry, entry.results)) for entry in self.entries if entry.results)
        head = "Task", "Kind", "Rows", "Best pipeline", "Metric", "Dummy", "Cautions"
        note = "The dummy looks at no column. Cautions are in the reports."
        return ReportTable("The best pipeline of each task", head, "llrlrrr", rows, note)

    def beside(self) -> Iterator[Piece]:
        """Yield the machines, times of the same tasks on them, and what differs between them."""
        if len(self.machines) < 2:
            return
        counts = {name: len(records) for name, records in self.of_machine.items()}
        yield Piece("table", machines_table(self.machines, counts), "machines")
        (first, mine), *rest = self.of_machine.items()
        for name, theirs in rest:
            pair = (first, name)
            common = [task for task in mine if task in theirs]
            for task in common:
                table = side_by_side(mine[task], theirs[task], pair)
                anchor = f"beside-{name}-{task}"
                yield Piece("table", table, anchor) if table.rows else Piece("text", table.caption)
            one, other = (
                records[common[0]] if common else next(iter(records.values()))
                for records in (mine, theirs)
            )
            table = difference_table(one, other, pair)
            yield Piece("details", [Piece("table", table, f"differs-{name}")], table.caption)

    def render(self) -> str:
        """Return the page; the same records give the same bytes."""
        return (
            environment()
            .get_template("gallery.html.j2")
            .render(
                gallery=self,
                shown=[(e, e.results, verdict(e.results)) for e in self.entries if e.results],
                rest=[entry for entry in self.entries if not entry.results],
                integer=integer,
            )
        )

    def csv(self) -> str:
        """Return every cell in plain numbers."""
        return gallery_csv(self.cells)


def _letters(place: int) -> str:
    """Return A, B, …, Z, A1, B1, …."""
    rounds, letter = divmod(place, len(ascii_uppercase))
    return ascii_uppercase[letter] + (str(rounds) if rounds else "")


def _task(entry: Entry, results: Results) -> Iterator[str]:
    best = best_pipeline(results) or ""
    found, task = first_metric(results, best), results.task
    dummy = results.baseline.get(found[0]) if found else None
    yield from (entry.name, task.kind, integer(task.rows_train + task.rows_test))
    yield best or MISSING
    yield f"{found[0]} {score(found[1])}" if found else MISSING
    yield MISSING if dummy is None else score(dummy)
    yield str(len(every_caution(results)))
