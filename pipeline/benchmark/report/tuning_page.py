"""The page of a batch of searches, as HTML and as Markdown, from its record."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator
from functools import partial
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
from pipeline.benchmark.report.cards import Card, Use, in_python, machine_line, machine_rows
from pipeline.benchmark.report.html import write_page
from pipeline.benchmark.report.html_table import ReportTable, Row, TableCell, row
from pipeline.benchmark.report.panels import Page, Panel, Piece, numbered, pointed, shown
from pipeline.optional import COMMAND
from pipeline.task.numerals import MISSING, count, difference, metric, score, seconds
from pipeline.task.scoring import ScoringInfo
from pipeline.tuning.tuned import too_short

STATES = {"complete": "complete", "pruned": "stopped early", "failed": "failed"}
"""How a trial ended -> in words."""


def render_tuning(record: TuningRecord, folder: Path, final: Path | None = None) -> None:
    """Write ``index.html`` and ``report.md`` into the folder of ``tuning.json``.

    `final` is where the folder will be, if that is another place.
    """
    write_page(tuning_page(record, final or folder), folder)


def tuning_page(record: TuningRecord, folder: Path = Path()) -> Page:
    """Return the page of a batch of searches, whose results are in a folder."""
    plan = record.protocol
    taken = sum(each.seconds for each in record.searches)
    n_trials = count(sum(len(each.trials) for each in record.searches), "trial")
    lead = (
        f"Search for the parameters with the best {plan.metric}: {n_trials} in {taken:.3g} s, "
        f"scored over {plan.folds} folds of the {record.task.rows_train:,} training rows. "
        f"{machine_line(record.machine)}. {record.created[:10]}."
    )
    files = {
        "tuning.json": "the record, from which every number here is derived",
        "report.md": "this page as Markdown",
    }
    panels = {
        "summary": Panel("Result", partial(_result, folder=folder)),
        "parameters": Panel("Best parameters", _parameters, "defaults, best values, ranges"),
        "how": Panel("How to reproduce", _how, "command, protocol, machine"),
        "code": Panel(
            "Code of the tuned pipelines", partial(_code, folder=folder), "how to run them"
        ),
    }
    return Page(record.task.title, lead, shown(panels, record), files, "Tuning")


def best_search(record: TuningRecord) -> SearchRecord | None:
    """Return the search with the best score over the folds, the first of equal ones."""
    sign = -1 if record.protocol.smaller_is_better else 1
    scores = {
        place: sign * best.score
        for place, each in enumerate(record.searches)
        if (best := each.trial(each.best)) and best.score is not None
    }
    return record.searches[max(scores, key=scores.__getitem__)] if scores else None


def is_default(search: SearchRecord) -> bool:
    """Return whether the best parameters are the default ones."""
    return search.best is not None and search.best == search.default


def headlines(record: TuningRecord) -> Iterator[str]:
    """Yield the result of each search on the test rows."""
    name = record.protocol.metric
    for each in record.searches:
        values = [m.metrics[name] for m in (each.untuned, each.tuned) if m and name in m.metrics]
        if len(values) < 2:
            said = "not evaluated on the test rows"
        elif is_default(each):
            n_trials = len(each.trials)
            which = f"the best of {n_trials} trials" if n_trials > 1 else "the only trial"
            said = f"{name} {score(values[0])} on the test rows; the default parameters are {which}"
        else:
            interval = each.differences.get(name)
            said = f"{name} {' → '.join(map(score, values))} on the test rows, "
            said += improved(name, interval, record.scoring).text
            said += f" (95 % interval of the difference: {ends_of(interval)})" if interval else ""
        yield f"{each.pipeline}, {each.variant}: {said}"


def ends_of(interval: Interval) -> str:
    """Write the ends of an interval of a difference."""
    return f"{difference(interval.low)} to {difference(interval.high)}"


def tuning_lines(record: TuningRecord, folder: Path) -> Iterator[str]:
    """Yield the lines for a terminal: the results in a folder, and the next commands."""
    for search, headline in zip(record.searches, headlines(record), strict=True):
        yield headline
        yield f"  {ended(search)}; {search.seconds:.3g} s"
        for command in commands(record, search, folder):
            yield from (f"  {line}" for line in command.splitlines())
    yield from in_terminal([*edges(record), *cautions(record)], folder / TUNING_FILE)
    page = folder / "index.html"
    yield f"tuning: {page.resolve().as_uri() if page.exists() else folder / TUNING_FILE}"


def cautions(record: TuningRecord) -> list[str]:
    """Return what to know before trusting the scores of the tuned pipelines."""
    tested = [(f"{s.pipeline}, {s.variant}", s.tuned.metrics) for s in record.searches if s.tuned]
    return [*short_searches(record), *with_doubts(record, tested)]


def short_searches(record: TuningRecord) -> Iterator[str]:
    """Yield which searches had no time for a second trial, and what timeout is enough."""
    limit = record.protocol.timeout
    for each in record.searches:
        if limit is not None and len(each.trials) == 1 and each.trials[0].seconds >= limit:
            said = too_short(each.trials[0].seconds, f"--timeout {limit:g}")
            yield f"{each.pipeline}, {each.variant}: {said}."


def edges(record: TuningRecord) -> list[str]:
    """Return which best values lie at an end of their range."""
    return [
        f"{each.pipeline} {each.variant}: {edge}"
        for each in record.searches
        if not is_default(each)
        for edge in each.edges
    ]


def improved(name: str, interval: Interval | None, scoring: ScoringInfo) -> TableCell:
    """Return the verdict that the interval of a difference of a metric allows."""
    if interval is None:
        return TableCell("no interval", "quiet")
    if interval.low <= 0 <= interval.high:
        return TableCell("no difference shown")
    sign = scoring.signs.get(name)
    if sign is None:
        return TableCell("differs")
    worse = (interval.low > 0) == (sign < 0)
    return TableCell("worse", "bad") if worse else TableCell("better", "good")


def ended(search: SearchRecord) -> str:
    """Return how the trials of a search ended, and why some failed."""
    states: Counter[str] = Counter(each.state for each in search.trials)
    counts = ", ".join(f"{states[state]} {word}" for state, word in STATES.items() if states[state])
    reasons = Counter(each.reason for each in search.trials if each.state == "failed")
    whys = "; ".join(f"{why} ({n} failed)" for why, n in reasons.most_common(3))
    return "; ".join(filter(None, (counts or "no trial ended", search.ended, whys)))


def _result(record: TuningRecord, folder: Path) -> Iterator[Piece]:
    yield Piece("use", how_to_use(record, folder), "use")
    yield Piece("items", [*headlines(record)])
    yield from pointed("cautions", "Before you trust a score", [*edges(record), *cautions(record)])
    yield Piece("table", held_out_table(record), "held-out-table")
    yield Piece("table", searches_table(record), "searches-table")


def how_to_use(record: TuningRecord, folder: Path) -> Use | None:
    """Return how to use the pipeline with the best score over the folds, if one has a score."""
    if (best := best_search(record)) is None:
        return None
    trial = best.trial(best.best)
    cross = metric(trial.score if trial else None)
    return Use(
        f"Best pipeline: {best.pipeline}, {best.variant}",
        f"{record.protocol.metric} {cross} over {record.protocol.folds} folds",
        "\n".join(commands(record, best, folder)),
        in_python((folder / best.model.file).parent) if best.model else "",
    )


def held_out_table(record: TuningRecord) -> ReportTable:
    """Return the metrics on the test rows with default and with tuned parameters."""
    head = "Pipeline", "Variant", "Metric", "Default", "Tuned", "Difference", "95 % interval"
    return ReportTable(
        f"Scores on the {record.task.rows_test:,} test rows, held out from the searches",
        (*head, "Verdict"),
        "lllrrrrl",
        tuple(each for search in record.searches for each in _test_rows(search, record.scoring)),
        "Both are fitted on all training rows. The intervals are paired, over the test rows.",
    )


def _test_rows(search: SearchRecord, scoring: ScoringInfo) -> Iterator[Row]:
    if search.untuned is None or search.tuned is None:
        return
    for name, value in search.tuned.metrics.items():
        before, interval = search.untuned.metrics.get(name), search.differences.get(name)
        apart = difference(None if before is None else value - before)
        ends = ends_of(interval) if interval else MISSING
        verdict = improved(name, interval, scoring)
        if is_default(search):
            verdict = TableCell("the default is best", "quiet")
        values = metric(before), metric(value), apart, ends, verdict
        yield row(search.pipeline, search.variant, name, *values)


def searches_table(record: TuningRecord) -> ReportTable:
    """Return the scores of each search over the folds of the training rows, and its time."""
    rows = []
    for each in record.searches:
        both = (each.trial(number) for number in (each.default, each.best))
        scores = (metric(one.score if one else None) for one in both)
        rows.append(row(each.pipeline, each.variant, *scores, seconds(each.seconds), ended(each)))
    plan = record.protocol
    return ReportTable(
        f"The searches: mean {plan.metric} over {plan.folds} folds of the training rows",
        ("Pipeline", "Variant", "Default", "Best", "Seconds", "Trials"),
        "llrrrl",
        tuple(rows),
        "The best of many trials scores better on these folds than on new rows: compare pipelines "
        "by the test rows.",
    )


def _parameters(record: TuningRecord) -> Iterator[Piece]:
    tables = [parameter_table(record, each) for each in record.searches if each.best is not None]
    yield from numbered("table", tables, "parameters")


def parameter_table(record: TuningRecord, search: SearchRecord) -> ReportTable:
    """Return the default value, the best value and the range of each parameter."""
    best = search.trial(search.best)
    used = {name: _written(value) for name, value in best.params.items()} if best else {}
    rows = (
        row(each.name, _written(each.default), used.get(each.name, "not used"), _searched(each))
        for each in record.spaces.get(search.pipeline, [])
    )
    return ReportTable(
        f"Best parameters of {search.pipeline}, {search.variant}",
        ("Parameter", "Default", "Best", "Range"),
        "lrrl",
        tuple(rows),
    )


def _searched(parameter: ParameterRecord) -> str:
    """Write the range or the choices of a parameter."""
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
    """Return the rules of the searches."""
    plan, task = record.protocol, record.task
    bound = "" if plan.timeout is None else f" or {plan.timeout:g} s"
    less = "smaller" if plan.smaller_is_better else "larger"
    skipped = (f"{each.name}: {each.why}" for each in record.variants if each.status != "ok")
    facts = [
        ("Task", f"{task.title} ({task.name}); target {task.target}"),
        ("Metric", f"{plan.metric}, {less} is better"),
        ("Search", f"on {task.rows_train:,} training rows"),
        ("Folds", plan.splitter),
        ("Test", f"on {task.rows_test:,} test rows, split {task.split}"),
        ("Each search", f"at most {plan.trials} trials{bound}"),
        ("Seed", str(plan.seed)),
        ("Variants left out", "; ".join(skipped)),
    ]
    return [(name, value) for name, value in facts if value]


def _code(record: TuningRecord, folder: Path) -> Iterator[Piece]:
    for each in record.searches:
        if each.tuned is not None:
            yield Piece("heading", f"{each.pipeline}, {each.variant}")
            yield Piece("code", each.tuned.code)
            yield Piece("code", "\n".join(commands(record, each, folder)))


def commands(record: TuningRecord, search: SearchRecord, folder: Path) -> Iterator[str]:
    """Yield the commands that run the tuned pipeline and predict with its saved model."""
    if best := search.trial(search.best):
        default = {each.name: each.default for each in record.spaces.get(search.pipeline, [])}
        words = ["run", record.task.name, "--pipelines", search.pipeline]
        lines = [f"{COMMAND} {shlex.join(words)}"]
        lines += [
            f"--set {shlex.quote(f'{name}={value}')}"
            for name, value in best.params.items()
            if not is_default(search) and repr(value) != repr(default.get(name))
        ]
        yield " \\\n    ".join(lines)
    if search.model is not None:
        model = folder / search.model.file
        yield f"{COMMAND} predict {shlex.quote(str(model.parent))} IN OUT"
