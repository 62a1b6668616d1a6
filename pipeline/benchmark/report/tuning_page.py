"""The page of a batch of searches, as HTML and as Markdown, from its record alone."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any

from pipeline.benchmark.judge.doubts import with_doubts
from pipeline.benchmark.record.results import Interval
from pipeline.benchmark.record.tuning_record import (
    ParameterRecord,
    SearchRecord,
    TrialRecord,
    TuningProtocol,
    TuningRecord,
)
from pipeline.benchmark.report.cards import Card, machine_line, machine_rows
from pipeline.benchmark.report.figures import Bar, Bars, Curves, Line, Scale
from pipeline.benchmark.report.html import page_html
from pipeline.benchmark.report.markdown import page_markdown
from pipeline.benchmark.report.panels import Page, Panel, Piece, numbered, pointed, shown
from pipeline.benchmark.report.table import ReportTable, Row, TableCell, row
from pipeline.benchmark.report.tuning_lines import STATES, set_options, trial
from pipeline.optional import PYTHON
from pipeline.system.atomic import write_text
from pipeline.task.numerals import (
    MISSING,
    count,
    difference,
    integer,
    metric,
    minute,
    score,
    seconds,
    share,
)
from pipeline.task.scoring import ScoringInfo

ENOUGH = 20
"""Complete trials from which on importances are more than a hint."""
_HISTORY = (
    "A dot is a complete trial, a cross a stopped one at the mean of its folds, the line the best "
    "so far, dashed the pipeline as it is. What is much worse than the median stands at the edge."
)


def render_tuning(record: TuningRecord, folder: Path) -> None:
    """Write ``index.html`` and ``report.md`` into a folder; the same record gives the same bytes.

    Parameters
    ----------
    record : TuningRecord
        The only source of both files.
    folder : Path
        Made if it does not exist; where ``tuning.json`` lies.

    Raises
    ------
    OutputError
        The folder is not writable, the disk is full, or a file is in the way.
    """
    page = tuning_page(record)
    write_text(folder / "index.html", page_html(page))
    write_text(folder / "report.md", page_markdown(page))


def tuning_page(record: TuningRecord) -> Page:
    """Return the page of a batch of searches."""
    searches = count(len(record.searches), "search").replace("searchs", "searches")
    lead = (
        f"{searches} for the best {record.protocol.metric}. {machine_line(record.machine)}. "
        f"{minute(record.created)} UTC."
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
        if each.status != "ok":
            yield found + f"{each.status}, {each.why or 'no reason recorded'}"
        elif len(values) < 2:
            yield found + "not evaluated on the test rows"
        else:
            words = [score(value) for value in values]
            words = words if words[0] != words[1] else [metric(value) for value in values]
            verdict = improved(name, each.differences.get(name), record.scoring).text
            yield found + f"{name} {' → '.join(words)} on the test rows, {verdict}"


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


def _found(record: TuningRecord) -> Iterator[Piece]:
    yield Piece("items", [*headlines(record)])
    tested = [(f"{e.pipeline}, {e.variant}", e.tuned.metrics) for e in record.searches if e.tuned]
    doubts = with_doubts(record, tested)
    yield from pointed("cautions", "Before a score is believed", doubts)
    yield Piece("table", held_out_table(record), "held-out-table", "tested")
    yield Piece("table", searches_table(record), "searches-table")


def held_out_table(record: TuningRecord) -> ReportTable:
    """Return the metrics of the test rows, of the pipeline as it is and of the tuned one."""
    return ReportTable(
        "On the test rows, which no search saw",
        (
            "Pipeline",
            "Variant",
            "Metric",
            "As it is",
            "Tuned",
            "Difference",
            "95 % interval",
            "Verdict",
        ),
        "lllrrrrl",
        tuple(chain.from_iterable(_test_rows(s, record.scoring) for s in record.searches)),
        "Both are fitted on all training rows. Interval: over the test rows, paired.",
    )


def _test_rows(search: SearchRecord, scoring: ScoringInfo) -> Iterator[Row]:
    if search.untuned is None or search.tuned is None:
        return
    for name, value in search.tuned.metrics.items():
        before, interval = search.untuned.metrics.get(name), search.differences.get(name)
        yield row(
            search.pipeline,
            search.variant,
            name,
            metric(before),
            metric(value),
            difference(None if before is None else value - before),
            " to ".join(map(difference, (interval.low, interval.high))) if interval else MISSING,
            improved(name, interval, scoring),
        )


def searches_table(record: TuningRecord) -> ReportTable:
    """Return what each search took and found, by the folds of the training rows."""
    plan = record.protocol
    rows = []
    for each in record.searches:
        default, best = trial(each, each.default), trial(each, each.best)
        counts = [sum(t.state == state for t in each.trials) for state in STATES]
        scores = (metric(one.score if one else None) for one in (default, best))
        failed = TableCell(str(counts[2]), "bad" if counts[2] else "")
        rows.append(
            row(
                each.pipeline,
                each.variant,
                *scores,
                str(counts[0]),
                str(counts[1]),
                failed,
                seconds(each.seconds),
                each.ended or each.why,
            )
        )
    return ReportTable(
        f"The searches: mean {plan.metric} of {plan.folds} folds of the training rows",
        (
            "Pipeline",
            "Variant",
            "As it is",
            "Best",
            "Complete",
            "Stopped",
            "Failed",
            "Seconds",
            "Ended by",
        ),
        "llrrrrrrl",
        tuple(rows),
        "The best of many trials is better on these folds than on new rows; the test rows tell.",
    )


def _parameters(record: TuningRecord) -> Iterator[Piece]:
    tables = [parameter_table(record, each) for each in record.searches if each.best is not None]
    yield from numbered("table", tables, "parameters")
    yield Piece("items", [*_remarks(record)])


def _remarks(record: TuningRecord) -> Iterator[str]:
    for each in record.searches:
        name = f"{each.pipeline}, {each.variant}: "
        if each.best is not None and each.best == each.default:
            yield name + "no trial was better than the pipeline as it is."
        yield from (name + edge for edge in each.edges)


def parameter_table(record: TuningRecord, search: SearchRecord) -> ReportTable:
    """Return the best values, beside those of the pipeline as it is and what was searched."""
    best = trial(search, search.best)
    params = best.params if best else {}
    ways: dict[str, list[ParameterRecord]] = {}
    for each in record.spaces.get(search.pipeline, []):
        ways.setdefault(each.name, []).append(each)
    rows = (
        row(
            short,
            written(every[0].default),
            written(params[name]) if name in params else "not used",
            " or ".join(dict.fromkeys(map(searched, every))),
        )
        for short, (name, every) in zip(short_names([*ways]), ways.items(), strict=True)
    )
    caption = f"Best parameters of {search.pipeline}, {search.variant}"
    return ReportTable(caption, ("Parameter", "As it is", "Best", "Searched"), "lrrl", tuple(rows))


def short_names(names: Sequence[str]) -> list[str]:
    """Return what follows the last ``__`` of names, where it tells them apart.

    Examples
    --------
    >>> short_names(["pca__alpha", "ridge__alpha", "ridge__tol"])
    ['pca__alpha', 'ridge__alpha', 'tol']
    """
    ends = [name.rpartition("__")[2] or name for name in names]
    return [end if ends.count(end) == 1 else n for n, end in zip(names, ends, strict=True)]


def searched(parameter: ParameterRecord) -> str:
    """Write what a parameter was drawn from.

    Examples
    --------
    >>> searched(ParameterRecord(name="eta", kind="float", low=0.01, high=300.0, log=True))
    '0.01 to 300, logarithmic'
    >>> searched(ParameterRecord(name="booster", kind="choice", choices=["gbtree", "dart"]))
    'gbtree, dart'
    """
    if parameter.low is None or parameter.high is None:
        return ", ".join(map(written, parameter.choices))
    log = ", logarithmic" if parameter.log else ""
    return f"{written(parameter.low)} to {written(parameter.high)}{log}"


def written(value: Any) -> str:
    """Write a value of a parameter.

    Examples
    --------
    >>> written(0.031234567), written(300.0), written(None), written("gini"), written(1e-05)
    ('0.03123', '300', 'None', 'gini', '1e-05')
    """
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _history(record: TuningRecord) -> Iterator[Piece]:
    drawn = (history_figure(record, each) for each in record.searches)
    yield from numbered("curves", filter(None, drawn), "history", about=_HISTORY)


def history_figure(record: TuningRecord, search: SearchRecord) -> Curves | None:
    """Return each trial over its number, with the best score so far; None of fewer than two."""
    done = complete(search)
    if not done or len(search.trials) < 2:
        return None
    plan, last = record.protocol, search.trials[-1].number
    stopped = [each for each in search.trials if each.state == "pruned" and each.folds]
    means = [sum(each.folds) / len(each.folds) for each in stopped]
    default, best = trial(search, search.default), climb(record, search)
    lines = [
        Line("complete", 1, [t.number for t, _ in done], [value for _, value in done], "dots"),
        Line("stopped", 2, [each.number for each in stopped], means, "crosses"),
        Line(
            "best so far",
            1,
            [*(t.number for t, _ in best), last],
            [*(value for _, value in best), best[-1][1]],
            "steps",
        ),
    ]
    shown_scores = [value for _, value in done]
    if default is not None and default.score is not None:
        lines.append(Line("as it is", None, [0, last], [default.score] * 2, "ideal"))
        shown_scores.append(default.score)
    title = f"Trials of {search.pipeline}, {search.variant}"
    kept = tuple(line for line in lines if len(line.x))
    limits = _limits(shown_scores, smaller=plan.smaller_is_better)
    return Curves(title, kept, "number of the trial", plan.metric, limits=limits)


def _limits(scores: list[float], *, smaller: bool) -> tuple[float, float]:
    """Return the ends of an axis that a few bad scores do not make long."""
    ordered = sorted(scores, reverse=not smaller)
    best, middle, worst = ordered[0], ordered[len(ordered) // 2], ordered[-1]
    far = middle + 2 * (middle - best)
    end = (min if smaller else max)(worst, far)
    room = 0.06 * abs(best - end) or 1e-3 * abs(best) or 1e-3
    return min(best, end) - room, max(best, end) + room


def complete(search: SearchRecord) -> list[tuple[TrialRecord, float]]:
    """Return the trials that have a score, with it; a stopped trial has none that counts."""
    return [(t, t.score) for t in search.trials if t.state == "complete" and t.score is not None]


def climb(record: TuningRecord, search: SearchRecord) -> list[tuple[TrialRecord, float]]:
    """Return each trial that was the best so far, in the order of their numbers."""
    sign = -1 if record.protocol.smaller_is_better else 1
    found: list[tuple[TrialRecord, float]] = []
    for each, value in complete(search):
        if not found or sign * (value - found[-1][1]) > 0:
            found.append((each, value))
    return found


def _importance(record: TuningRecord) -> Iterator[Piece]:
    for number, each in enumerate(record.searches, 1):
        name = f"{each.pipeline}, {each.variant}"
        n = len(complete(each))
        if len(each.importances) < 2:
            why = each.importances_why or "only one was searched"
            yield Piece("text", f"{name}: none, {why}.")
            continue
        scale = Scale(0, max(each.importances.values()))
        names = short_names([*each.importances])
        bars = (
            Bar(short, share(value), (scale.span("s-importance", 0, value),))
            for short, value in zip(names, each.importances.values(), strict=True)
        )
        sure = "" if n >= ENOUGH else f" Fewer than {ENOUGH} are complete: a hint at most."
        about = (
            "Share of each parameter in what sets the better trials apart, by Optuna, of "
            f"{count(n, 'complete trial')}.{sure}"
        )
        yield Piece(
            "bars", Bars(name, tuple(bars), scale.ticks(share)), f"importance-{number}", about
        )


def _seconds(record: TuningRecord) -> Iterator[Piece]:
    yield Piece("table", seconds_table(record), "seconds-table")


def seconds_table(record: TuningRecord) -> ReportTable:
    """Return the best score that each search had after equal shares of the shortest one's time."""
    found = [each for each in record.searches if complete(each)]
    shortest = min((each.seconds for each in found), default=0.0)
    moments = [shortest * part for part in (0.25, 0.5, 1)]
    rows = []
    for search in found:
        best = climb(record, search)
        known = [[value for each, value in best if each.seconds <= moment] for moment in moments]
        values = (metric(each[-1] if each else None) for each in known)
        rows.append(row(search.pipeline, search.variant, *values, metric(best[-1][1])))
    return ReportTable(
        f"Best {record.protocol.metric} so far at equal seconds",
        ("Pipeline", "Variant", *(f"{seconds(moment)} s" for moment in moments), "At its end"),
        "llrrrr",
        tuple(rows),
    )


def _failed(record: TuningRecord) -> Iterator[Piece]:
    yield Piece("table", reasons_table(record), "reasons")


def reasons_table(record: TuningRecord) -> ReportTable:
    """Return the searches and trials that failed, and why."""
    reasons: dict[tuple[str, str, str], list[str]] = {}
    for search in record.searches:
        for each in search.trials:
            if each.state == "failed":
                key = search.pipeline, search.variant, each.reason or "no reason recorded"
                reasons.setdefault(key, []).append(str(each.number))
    lost = (
        row(each.pipeline, each.variant, TableCell(each.why or "no reason recorded", "bad"), "all")
        for each in record.searches
        if each.status != "ok"
    )
    rows = (
        row(*names, TableCell(reason, "bad"), ", ".join([*which[:20], *["…"] * (len(which) > 20)]))
        for (*names, reason), which in reasons.items()
    )
    head = "Pipeline", "Variant", "Reason", "Trials"
    return ReportTable("What failed", head, "llll", (*lost, *rows))


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
        ("Searched on", f"{integer(task.rows_train)} training rows, by folds of {_kind_of(plan)}"),
        ("Folds", plan.splitter),
        ("Tested on", f"{integer(task.rows_test)} test rows, split {task.split}"),
        ("Each search", f"at most {plan.trials} trials{bound}"),
        ("Seed", str(plan.seed)),
        ("Variants left out", "; ".join(skipped) or "none"),
    ]


def _kind_of(plan: TuningProtocol) -> str:
    """Return in words which rows a fold is tested on."""
    if plan.time:
        return f"later rows (by {', '.join(plan.time)})"
    return f"other groups (of {plan.groups})" if plan.groups else "random rows"


def _code(record: TuningRecord) -> Iterator[Piece]:
    for each in record.searches:
        if each.tuned is not None:
            yield Piece("heading", f"{each.pipeline}, {each.variant}")
            yield Piece("code", each.tuned.code)
            yield Piece("code", "\n".join(commands(record, each)))


def commands(record: TuningRecord, search: SearchRecord) -> Iterator[str]:
    """Yield what runs the tuned pipeline, and what predicts with the model that is kept."""
    if best := trial(search, search.best):
        names = shlex.join([record.task.name, "--pipelines", search.pipeline])
        yield f"{PYTHON} -m pipeline run {names} {set_options(best.params)}"
    if search.model is not None:
        model = shlex.quote(str(PurePosixPath(search.model.file).parent))
        yield f"{PYTHON} -m pipeline predict {model} IN OUT"


PANELS = {
    "summary": Panel("What was found", _found),
    "parameters": Panel("The best parameters", _parameters, "beside the pipeline as it is"),
    "history": Panel("History", _history, "every trial; their parameters are in tuning.json"),
    "importance": Panel("Importance of the parameters", _importance, "to the score"),
    "seconds": Panel("Quality against seconds", _seconds, "of the variants side by side"),
    "failed": Panel("What failed", _failed, "and why"),
    "how": Panel("How it was searched", _how, "protocol, machine"),
    "code": Panel("The tuned pipelines' code", _code, "and how to run them"),
}
"""By anchor, in the order of the page."""
