"""The page of a batch of searches, as HTML and as Markdown, from its record alone."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipeline.benchmark.judge.verdict import in_terminal, with_doubts
from pipeline.benchmark.record.results import Interval
from pipeline.benchmark.record.tuning_record import (
    TUNING_FILE,
    ParameterRecord,
    SearchRecord,
    TuningRecord,
)
from pipeline.benchmark.report.cards import Card, machine_line, machine_rows
from pipeline.benchmark.report.html import write_page
from pipeline.benchmark.report.html_table import ReportTable, Row, TableCell, row
from pipeline.benchmark.report.panels import Page, Panel, Piece, numbered, pointed, shown
from pipeline.optional import PYTHON
from pipeline.task.numerals import MISSING, count, difference, metric, score, seconds
from pipeline.task.scoring import ScoringInfo

STATES = {"complete": "complete", "pruned": "stopped", "failed": "failed"}
"""How a trial ended -> in words."""


def render_tuning(record: TuningRecord, folder: Path) -> None:
    """Write ``index.html`` and ``report.md`` into the folder where ``tuning.json`` lies."""
    write_page(tuning_page(record), folder)


def tuning_page(record: TuningRecord) -> Page:
    """Return the page of a batch of searches."""
    searches = count(len(record.searches), "search").replace("searchs", "searches")
    lead = (
        f"{searches} for the best {record.protocol.metric}. {machine_line(record.machine)}. "
        f"{record.created[:10]}."
    )
    files = {
        "tuning.json": "the record, from which every number here is derived",
        "report.md": "this page as Markdown",
    }
    return Page(f"{record.task.title}: the tuning", lead, shown(PANELS, record), files)


def headlines(record: TuningRecord) -> Iterator[str]:
    """Yield what each search gave, on rows that no search saw."""
    name = record.protocol.metric
    for each in record.searches:
        found = f"{each.pipeline}, {each.variant}: "
        values = [m.metrics[name] for m in (each.untuned, each.tuned) if m and name in m.metrics]
        if len(values) < 2:
            yield found + "not evaluated on the test rows"
        else:
            verdict = improved(name, each.differences.get(name), record.scoring).text
            yield found + f"{name} {' → '.join(map(score, values))} on the test rows, {verdict}"


def tuning_lines(record: TuningRecord, folder: Path) -> Iterator[str]:
    """Yield what a terminal says of the searches in a folder, and what to do with them."""
    for search, found in zip(record.searches, headlines(record), strict=True):
        yield found
        yield f"  {ended(search)}, after {search.seconds:.0f} s"
        yield from (f"  {line}" for line in commands(record, search, folder))
    edges = [f"{each.pipeline} {each.variant}: {e}" for each in record.searches for e in each.edges]
    yield from in_terminal([*edges, *cautions(record)], folder / TUNING_FILE)
    page = folder / "index.html"
    yield f"tuning: {page.resolve().as_uri() if page.exists() else folder / TUNING_FILE}"


def cautions(record: TuningRecord) -> list[str]:
    """Return what is to be known before the scores of the tuned pipelines are believed."""
    tested = [(f"{s.pipeline}, {s.variant}", s.tuned.metrics) for s in record.searches if s.tuned]
    return with_doubts(record, tested)


def improved(name: str, interval: Interval | None, scoring: ScoringInfo) -> TableCell:
    """Return what the interval of a difference of a metric says."""
    if interval is None:
        return TableCell("no interval", "quiet")
    if interval.low <= 0 <= interval.high:
        return TableCell("no difference shown")
    sign = scoring.sign(name)
    if sign is None:
        return TableCell("differs")
    worse = (interval.low > 0) == (sign < 0)
    return TableCell("worse", "bad") if worse else TableCell("better", "good")


def ended(search: SearchRecord) -> str:
    """Say how the trials of a search ended, and why some failed."""
    states: Counter[str] = Counter(each.state for each in search.trials)
    counts = ", ".join(f"{states[state]} {word}" for state, word in STATES.items())
    reasons = Counter(each.reason for each in search.trials if each.state == "failed")
    whys = "; ".join(f"{why} ({n} failed)" for why, n in reasons.most_common(3))
    return "; ".join(filter(None, (f"{counts}: {search.ended}", whys)))


def _found(record: TuningRecord) -> Iterator[Piece]:
    yield Piece("items", [*headlines(record)])
    yield from pointed("cautions", "Before a score is believed", cautions(record))
    yield Piece("table", held_out_table(record), "held-out-table", "tested")
    yield Piece("table", searches_table(record), "searches-table")


def held_out_table(record: TuningRecord) -> ReportTable:
    """Return the metrics of the test rows, of the pipeline as it is and of the tuned one."""
    head = "Pipeline", "Variant", "Metric", "As it is", "Tuned", "Difference", "95 % interval"
    return ReportTable(
        "On the test rows, which no search saw",
        (*head, "Verdict"),
        "lllrrrrl",
        tuple(each for search in record.searches for each in _test_rows(search, record.scoring)),
        "Both are fitted on all training rows. Interval: over the test rows, paired.",
    )


def _test_rows(search: SearchRecord, scoring: ScoringInfo) -> Iterator[Row]:
    if search.untuned is None or search.tuned is None:
        return
    for name, value in search.tuned.metrics.items():
        before, interval = search.untuned.metrics.get(name), search.differences.get(name)
        apart = difference(None if before is None else value - before)
        ends = " to ".join(map(difference, (interval.low, interval.high))) if interval else MISSING
        values = metric(before), metric(value), apart, ends, improved(name, interval, scoring)
        yield row(search.pipeline, search.variant, name, *values)


def searches_table(record: TuningRecord) -> ReportTable:
    """Return what each search took and found, by the folds of the training rows."""
    rows = []
    for each in record.searches:
        found = (each.trial(number) for number in (each.default, each.best))
        scores = (metric(one.score if one else None) for one in found)
        rows.append(row(each.pipeline, each.variant, *scores, seconds(each.seconds), ended(each)))
    plan = record.protocol
    return ReportTable(
        f"The searches: mean {plan.metric} of {plan.folds} folds of the training rows",
        ("Pipeline", "Variant", "As it is", "Best", "Seconds", "Trials"),
        "llrrrl",
        tuple(rows),
        "The best of many trials is better on these folds than on new rows; the test rows tell.",
    )


def _parameters(record: TuningRecord) -> Iterator[Piece]:
    tables = [parameter_table(record, each) for each in record.searches if each.best is not None]
    yield from numbered("table", tables, "parameters")
    edges = [f"{s.pipeline}, {s.variant}: {edge}" for s in record.searches for edge in s.edges]
    yield Piece("items", edges)


def parameter_table(record: TuningRecord, search: SearchRecord) -> ReportTable:
    """Return the best values, beside those of the pipeline as it is and what was searched."""
    best = search.trial(search.best)
    params = best.params if best else {}
    rows = (
        row(
            each.name,
            _written(each.default),
            _written(params[each.name]) if each.name in params else "not used",
            _searched(each),
        )
        for each in record.spaces.get(search.pipeline, [])
    )
    return ReportTable(
        f"Best parameters of {search.pipeline}, {search.variant}",
        ("Parameter", "As it is", "Best", "Searched"),
        "lrrl",
        tuple(rows),
    )


def _searched(parameter: ParameterRecord) -> str:
    """Write what a parameter was drawn from."""
    if parameter.low is None or parameter.high is None:
        return ", ".join(map(_written, parameter.choices))
    log = ", logarithmic" if parameter.log else ""
    return f"{_written(parameter.low)} to {_written(parameter.high)}{log}"


def _written(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _how(record: TuningRecord) -> Iterator[Piece]:
    yield Piece("code", record.source.command)
    yield Piece("card", protocol_card(record))
    yield Piece("heading", "The machine")
    yield Piece("card", machine_rows(record.machine))


def protocol_card(record: TuningRecord) -> Card:
    """Return how the searches were made."""
    plan, task = record.protocol, record.task
    bound = "" if plan.timeout is None else f" or {plan.timeout:g} s"
    less = "smaller" if plan.smaller_is_better else "larger"
    skipped = (f"{each.name}: {each.why}" for each in record.variants if each.status != "ok")
    return [
        ("Task", f"{task.title} ({task.name}); target {task.target}"),
        ("Metric", f"{plan.metric}, {less} is better"),
        ("Searched on", f"{task.rows_train:,} training rows"),
        ("Folds", plan.splitter),
        ("Tested on", f"{task.rows_test:,} test rows, split {task.split}"),
        ("Each search", f"at most {plan.trials} trials{bound}"),
        ("Seed", str(plan.seed)),
        ("Variants left out", "; ".join(skipped) or "none"),
    ]


def _code(record: TuningRecord) -> Iterator[Piece]:
    for each in record.searches:
        if each.tuned is not None:
            yield Piece("heading", f"{each.pipeline}, {each.variant}")
            yield Piece("code", each.tuned.code)
            yield Piece("code", "\n".join(commands(record, each)))


def commands(record: TuningRecord, search: SearchRecord, folder: Path = Path()) -> Iterator[str]:
    """Yield what runs the tuned pipeline, and what predicts with the model that is kept."""
    if best := search.trial(search.best):
        words = [record.task.name, "--pipelines", search.pipeline]
        words += [
            word for name, value in best.params.items() for word in ("--set", f"{name}={value}")
        ]
        yield f"{PYTHON} -m pipeline run {shlex.join(words)}"
    if search.model is not None:
        model = folder / search.model.file
        yield f"{PYTHON} -m pipeline predict {shlex.quote(str(model.parent))} IN OUT"


PANELS = {
    "summary": Panel("What was found", _found),
    "parameters": Panel("The best parameters", _parameters, "beside the pipeline as it is"),
    "how": Panel("How it was searched", _how, "protocol, machine"),
    "code": Panel("The tuned pipelines' code", _code, "and how to run them"),
}
"""By anchor, in the order of the page."""
