"""The tables, cards and sentences of the tuning page."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import PurePosixPath

from msgspec import structs

from pipeline.benchmark.caution_scores import sign_of
from pipeline.benchmark.report.cards import Card
from pipeline.benchmark.report.format import MISSING, difference, integer, metric, score, seconds
from pipeline.benchmark.report.table import ReportTable, Row, TableCell, row
from pipeline.benchmark.report.tuning_lines import set_options
from pipeline.benchmark.report.tuning_numbers import (
    NOT_DRAWN,
    STATES,
    at_edge,
    best_at,
    climb,
    count,
    gain,
    labels,
    searched,
    short_names,
    sign,
    thinned,
    trial,
    value_of,
    written,
)
from pipeline.benchmark.results import Interval, ScoringInfo
from pipeline.benchmark.scores import with_doubts
from pipeline.benchmark.tuning_record import (
    ParameterRecord,
    SearchRecord,
    TrialRecord,
    TuningProtocol,
    TuningRecord,
)
from pipeline.optional import PYTHON

MOST_TRIALS = 200
"""Rows in the table of trials."""
ENOUGH = 20
"""Complete trials from which on importances are more than a hint."""


def headlines(record: TuningRecord) -> Iterator[str]:
    """Yield what each search gave, on rows that no search saw."""
    name = record.protocol.metric
    for each in record.searches:
        found = f"{each.pipeline}, {each.variant}: "
        if each.status != "ok":
            yield found + f"{each.status}, {each.why or 'no reason recorded'}"
            continue
        if (
            each.untuned
            and each.tuned
            and name in each.untuned.metrics
            and name in each.tuned.metrics
        ):
            one, other = each.untuned.metrics[name], each.tuned.metrics[name]
            word, _ = verdict_of(name, each.differences.get(name), record.scoring)
            yield found + f"{name} {_pair(one, other)} on the test rows, {word}"
        else:
            yield found + "not judged on the test rows"


def every_remark(record: TuningRecord) -> list[str]:
    """Return what is to be known before a score is believed."""
    judged = [
        (f"{each.pipeline}, {each.variant}", each.tuned.metrics, record.baseline,
         record.task.rows_test)
        for each in record.searches if each.tuned
    ]  # fmt: skip
    return with_doubts(record.cautions, judged, record.scoring)


def _pair(one: float, other: float) -> str:
    short = score(one), score(other)
    shown = short if short[0] != short[1] else (metric(one), metric(other))
    return " → ".join(shown)


def verdict_of(
    name: str, interval: Interval | None, scoring: ScoringInfo | None = None
) -> TableCell:
    """Return what the interval of a difference of a metric says."""
    if interval is None:
        return TableCell("no interval", "quiet")
    if interval.low <= 0 <= interval.high:
        return TableCell("no difference shown")
    rises = interval.low > 0
    return (
        TableCell("worse", "bad")
        if rises == (sign_of(name, scoring or ScoringInfo()) == -1)
        else TableCell("better", "good")
    )


def between(interval: Interval | None) -> str:
    """Write an interval of a difference."""
    return (
        MISSING
        if interval is None
        else f"{difference(interval.low)} to {difference(interval.high)}"
    )


def folds_table(record: TuningRecord) -> ReportTable:
    """Return the scores of the default and the best trial over the folds."""
    plan = record.protocol
    rows: list[Row] = []
    for each in record.searches:
        default, best = trial(each, each.default), trial(each, each.best)
        found = gain(each, by_time=bool(plan.time))
        failed, absent = count(each, "failed"), "not in the space" if each.trials else MISSING
        rows.append(
            row(
                each.pipeline, each.variant,
                metric(default.score) if default else TableCell(absent, "quiet"),
                metric(best.score if best else None),
                difference(found.value) if found else MISSING,
                between(found.interval if found else None),
                str(count(each, "complete")), str(count(each, "pruned")),
                TableCell(str(failed), "bad" if failed else ""),
                seconds(each.seconds),
            )
        )  # fmt: skip
    return ReportTable(
        f"The searches: {plan.metric} over {plan.folds} folds of the training rows",
        ("Pipeline", "Variant", "As it is", "Best", "Difference", "95 % interval", "Complete",
         "Stopped", "Failed", "Seconds"),
        "llrrrrrrrr", tuple(rows),
        "The best of many trials is better on these folds than on new rows; the test rows tell. "
        "Interval: of the differences of the folds, Student's, corrected for training rows that "
        "folds share (Nadeau and Bengio, 2003).",
    )  # fmt: skip


def judged_table(record: TuningRecord) -> ReportTable:
    """Return the metrics of the test rows, as the pipeline is and tuned."""
    return ReportTable(
        "On the test rows, which no search saw",
        ("Pipeline", "Variant", "Metric", "As it is", "Tuned", "Difference", "95 % interval",
         "Says"),
        "lllrrrrl",
        tuple(chain.from_iterable(_test_rows(s, record.scoring) for s in record.searches)),
        "Both are fitted on all training rows. Interval: over the test rows, paired.",
    )  # fmt: skip


def _test_rows(search: SearchRecord, scoring: ScoringInfo) -> Iterator[Row]:
    if search.untuned is None or search.tuned is None:
        return
    for name, value in search.tuned.metrics.items():
        before, interval = search.untuned.metrics.get(name), search.differences.get(name)
        yield row(
            search.pipeline, search.variant, name, metric(before), metric(value),
            difference(None if before is None else value - before), between(interval),
            verdict_of(name, interval, scoring),
        )  # fmt: skip


def parameter_table(record: TuningRecord, search: SearchRecord) -> ReportTable:
    """Return the best values, beside those of the pipeline as it is and what was searched."""
    space = record.spaces.get(search.pipeline, [])
    names, best = short_names(labels(space)), trial(search, search.best)
    edges = [
        best is not None and best.part in each.parts and at_edge(search, each.name)
        for each in space
    ]
    rows = []
    for each, name, edge in zip(space, names.values(), edges, strict=True):
        value = MISSING if best is None else _shown(best, each, "not used")
        cells = row(name, written(each.default), value, searched(each))
        note = TableCell("at the edge: widen it", "bad") if edge else TableCell("")
        rows.append((*cells, note) if any(edges) else cells)
    head = ("Parameter", "As it is", "Best", "Searched", *(["Note"] if any(edges) else []))
    caption = f"Best parameters of {search.pipeline}, {search.variant}"
    parted = len({each.name for each in space}) < len(space)
    about = "In brackets: the parts of the space that draw a parameter so." if parted else ""
    return ReportTable(caption, head, "lrrll"[: len(head)], tuple(rows), about)


def _shown(each: TrialRecord, parameter: ParameterRecord, lacking: str) -> str:
    value = value_of(each, parameter)
    return lacking if value is NOT_DRAWN else written(value)


def remarks(record: TuningRecord, search: SearchRecord) -> Iterator[str]:
    """Yield what is to be known of the best parameters and stands in no row of their table."""
    if search.best is not None and search.best == search.default:
        yield "No trial was better than the pipeline as it is."
    told = [each.name for each in record.spaces.get(search.pipeline, [])]
    for each in search.edges:
        if not any(at_edge(structs.replace(search, edges=[each]), name) for name in told):
            yield each


def seconds_table(record: TuningRecord, searches: Sequence[SearchRecord]) -> ReportTable:
    """Return the best score so far at equal seconds of all searches of a pipeline."""
    climbs = {each.variant: climb(each, sign(record)) for each in searches}
    shortest = min((each.seconds for each in searches if each.seconds > 0), default=0.0)
    longest = max((each.seconds for each in searches), default=0.0)
    moments = [shortest * part for part in (0.25, 0.5, 1)] if shortest else []
    if longest > 1.05 * shortest:
        moments.append(longest)
    rows, equal = [], " at equal seconds" if len(searches) > 1 else ""
    for moment in moments:
        found = [best_at(climbs[each.variant], moment) for each in searches]
        rows.append(row(seconds(moment), *(metric(one.score) if one else MISSING for one in found)))
    return ReportTable(
        f"Best {record.protocol.metric} so far{equal}",
        ("Seconds", *(each.variant for each in searches)), "r" * (1 + len(searches)), tuple(rows),
    )  # fmt: skip


def trials_table(record: TuningRecord, search: SearchRecord) -> ReportTable:
    """Return every trial, or so many of them as a page takes."""
    space = record.spaces.get(search.pipeline, [])
    names = short_names(labels(space)).values()
    kept = thinned(search.trials, MOST_TRIALS)
    best = trial(search, search.best)
    if best is not None and best not in kept:
        kept = [*kept, best]
    more = len(search.trials) - len(kept)
    return ReportTable(
        f"Trials of {search.pipeline}, {search.variant}",
        ("Trial", "State", "Score", "Folds", "At, s", "Took, s", *names),
        "rlrrrr" + "r" * len(space),
        tuple(row(*_trial_cells(each, space, search.best)) for each in kept),
        f"{integer(more)} more are in tuning.json." if more else "",
    )


def _trial_cells(
    each: TrialRecord, space: Sequence[ParameterRecord], best: int | None
) -> Iterator[str | TableCell]:
    yield str(each.number)
    tone = "good" if each.number == best else "bad" if each.state == "failed" else ""
    yield TableCell("best" if each.number == best else STATES[each.state], tone)
    yield metric(each.score)
    yield str(len(each.folds))
    yield seconds(each.seconds)
    yield seconds(each.duration)
    yield from (_shown(each, parameter, MISSING) for parameter in space)


def reasons_table(search: SearchRecord) -> ReportTable:
    """Return why trials were stopped or failed, and which."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for each in search.trials:
        if each.state != "complete":
            # The chance of a stopped trial is its own; how far it came, it has in common.
            reason = each.reason.partition(":")[0] if each.state == "pruned" else each.reason
            key = STATES[each.state], reason or "no reason recorded"
            reasons.setdefault(key, []).append(str(each.number))
    return ReportTable(
        f"Trials of {search.pipeline}, {search.variant}, that were not completed",
        ("State", "Reason", "How many", "Trials"), "llrl",
        tuple(
            row(TableCell(state, "bad" if state == "failed" else ""), reason, str(len(which)),
                ", ".join(which[:20]) + (", …" if len(which) > 20 else ""))
            for (state, reason), which in sorted(reasons.items())
        ),
    )  # fmt: skip


def about_importance(search: SearchRecord) -> str:
    """Say how importances were found and how sure they are, or why there are none."""
    if not search.importances:
        return f"Importance of parameters: none, {search.importances_why or 'not recorded'}."
    if len(search.importances) == 1:
        return "Importance of parameters: none, since only one was searched."
    n, more = count(search, "complete"), count(search, "pruned")
    sure = "" if n >= ENOUGH else f" Fewer than {ENOUGH} are complete: a hint at most."
    return (
        f"Share of each parameter in what sets the better trials apart, by Optuna's PED-ANOVA, of "
        f"{n} complete trials and {more} stopped ones; these count by the folds they have.{sure}"
    )


def commands(record: TuningRecord, search: SearchRecord) -> Iterator[str]:
    """Yield what runs the tuned pipeline, and what predicts with the model that is kept."""
    if best := trial(search, search.best):
        names = shlex.join([record.task.name, "--pipelines", search.pipeline])
        yield f"{PYTHON} -m pipeline run {names} {set_options(best.params)}"
    if search.model is not None:
        model = shlex.quote(str(PurePosixPath(search.model.file).parent))
        yield f"{PYTHON} -m pipeline predict {model} IN OUT"


def _kind_of(plan: TuningProtocol) -> str:
    """Return in words what each fold is judged by."""
    if plan.time:
        return f"later rows (by {', '.join(plan.time)})"
    return f"other groups (of {plan.groups})" if plan.groups else "random rows"


def protocol_card(record: TuningRecord) -> Card:
    """Return how the searches were made."""
    plan, task = record.protocol, record.task
    bound = "" if plan.timeout is None else f" or {plan.timeout:g} s"
    where = f"{plan.workers} workers of {plan.cluster}" if plan.cluster else "one process"
    less = "smaller" if plan.smaller_is_better else "larger"
    return [
        ("Task", f"{task.title} ({task.name}); target {task.target}"),
        ("Metric", f"{plan.metric}, {less} is better"),
        ("Searched on", f"{integer(task.rows_train)} training rows, by folds of {_kind_of(plan)}"),
        ("Folds", plan.splitter),
        ("Judged on", f"{integer(task.rows_test)} test rows, split {task.split}"),
        ("Each search", f"at most {plan.trials} trials{bound}; in {where}"),
        ("Candidates", "stopped early where unlikely to be the best" if plan.prune
         else "all folds of each"),
        ("Seed", str(plan.seed)),
        ("Ended by", "; ".join(f"{s.pipeline}, {s.variant}: {s.ended or s.why}"
                               for s in record.searches)),
        ("Variants left out", "; ".join(f"{v.name}: {v.why}" for v in record.variants
                                        if v.status != "ok") or "none"),
    ]  # fmt: skip
