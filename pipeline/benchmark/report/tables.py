"""The tables and cards of the report, as text: every form of the report is written from them."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.benchmark.judge.statistics import (
    OTHER,
    REFERENCE,
    MetricParity,
    measured,
    parity,
    speed,
    stages,
)
from pipeline.benchmark.judge.verdict import Headline, first_metric, ranked, verdict
from pipeline.benchmark.record.results import STAGES, Cell, Results
from pipeline.benchmark.report.html_table import (
    TONES,
    ReportTable,
    TableCell,
    Values,
    by_pair,
    claim,
    how_fast,
    pairs,
    row,
    span,
)
from pipeline.task.cautions.overview import ColumnSummary
from pipeline.task.cautions.split import DRIFTED
from pipeline.task.numerals import (
    MISSING,
    count,
    difference,
    metric,
    on_gpu,
    score,
    seconds,
    share,
    size,
    times,
)

_GAPS = {"max_difference": "Largest difference", "mean_difference": "Mean difference"}
_CHANCES = {"max_difference": "Largest |Δp|", "mean_difference": "Mean |Δp|"}
_CLUSTERS = {"adjusted_rand": "Adjusted Rand index", "shared_neighbours": "Shared neighbours"}
COMPARED = {
    "binary": ("predicted probabilities", {**_CHANCES, "same_decision": "Same decision at 0.5"}),
    "multiclass": ("predicted classes", {**_CHANCES, "same_decision": "Same class"}),
    "regression": ("predicted numbers", _GAPS),
    "ranking": ("scores", _GAPS),
    "clusters": ("clusters and embeddings", _CLUSTERS),
}
"""Kind of task -> what is compared, and fields of `Agreement` with their headings."""
_SHARES = "same_decision", "shared_neighbours"
_COLUMN_HEAD = (
    "Column", "Kind", "Missing", "Distinct", "Minimum", "Median", "Maximum", "Most frequent",
    "Drift", "Cautions",
)  # fmt: skip
_COLUMN_NOTE = (
    "Drift: the AUC with which the column alone separates test rows from training rows, on "
    "held-out rows; 0.5 or less means no difference, and above {:g} there is a caution. An "
    "infinite number counts as missing."
)


def leaderboard(results: Results) -> ReportTable:
    """Return a row for each pipeline and variant: how good, how equal, how fast; best first."""
    every = ranked(results)
    firsts = {name: first_metric(results, name) for name in every}
    names = {found[0] for found in firsts.values() if found}
    one = names.pop() if len(names) == 1 else ""
    dummy = f", dummy {score(results.baseline[one])}" if one in results.baseline else ""
    head = f"{one}{dummy}" or "Score", "Quality", "Speed", "Interval, 95 %"
    lines = {(line.pipeline, line.variant): line for line in verdict(results).headlines}
    rows = []
    for pipeline, variant in sorted(pairs(results), key=lambda pair: every.index(pair[0])):
        first, line = firsts[pipeline], lines.get((pipeline, variant))
        values = _measurements(results, (pipeline, variant), line, first[0] if first else "", one)
        rows.append(row(pipeline, variant, *values))
    note = (
        "Seconds are medians. Fit and predict are the last step's; the total has reading and "
        "preprocessing, too. Speed and interval compare the totals with plain scikit-learn's."
    )
    times = "Fit, s", "Predict, s", "Total, s"
    return ReportTable(
        "Leaderboard", ("Pipeline", "Variant", *head, *times), "llrlllrrr", tuple(rows), note
    )


def _measurements(
    results: Results, pair: tuple[str, str], line: Headline | None, metric: str, head: str
) -> Values:
    """Return how good and how fast a variant is, or why it has no times."""
    cell, timed = measured(results, *pair), speed(results, *pair)
    if timed is None or cell is None:
        return TableCell(absence(results, *pair), "bad"), *[MISSING] * 6
    parts = stages(results, *pair)
    value = score(cell.metrics[metric]) if metric in cell.metrics else MISSING
    return (
        value if metric == head or value == MISSING else f"{metric} {value}",
        TableCell(line.judged, TONES.get(line.parity, "quiet")) if line else MISSING,
        claim(timed.ratio, line.parity if line else "no margin"),
        span(timed.ratio) if timed.ratio and line and line.parity != "FAIL" else MISSING,
        *(seconds(parts[name]) for name in ("fit", "predict")),
        seconds(timed.median),
    )


@by_pair(
    "Wall time of one run, end to end",
    ("Median, s", "Min–max, s", "n", "Speed", "Interval", "Warm-up, s"),
    "rrrllr",
    "Speed compares the median with plain scikit-learn's. Interval: 95 %, percentile bootstrap of "
    "the ratio of medians, without a correction for the number of comparisons; it covers the "
    "noise from run to run on this machine. The warm-up is the first run of the process; no "
    "other column counts it.",
)
def speed_table(results: Results, pipeline: str, variant: str) -> Values:
    """Return times and speeds, one row per pipeline and variant."""
    timed, cell = speed(results, pipeline, variant), measured(results, pipeline, variant)
    if timed is None or cell is None:
        why = TableCell(absence(results, pipeline, variant), "bad")
        return *[MISSING] * 3, why, *[MISSING] * 2
    spread = f"{seconds(timed.minimum)}–{seconds(timed.maximum)}"
    warmup = TableCell(seconds(cell.warmup.total) if cell.warmup else MISSING, "quiet")
    figures = seconds(timed.median), spread, str(timed.n)
    if timed.ratio is None:
        alone = "the reference" if variant == REFERENCE else "no times of plain scikit-learn"
        return *figures, TableCell(alone, "quiet"), MISSING, warmup
    return *figures, how_fast(timed.ratio), span(timed.ratio), warmup


def absence(results: Results, pipeline: str, variant: str) -> str:
    """Say why a cell has no times."""
    cell = results.cell(pipeline, variant)
    if cell is None:
        return "no record"
    return f"{cell.status}: {cell.why or 'no reason recorded'}" if cell.status != "ok" else "no run"


@by_pair(
    "Where the time goes: median seconds per stage",
    [f"{name.capitalize()}, s" for name in (*STAGES, OTHER, "total")],
    "r" * (len(STAGES) + 2),
    "Other is the median total minus the medians of the stages. Medians do not add up exactly, so "
    "it can be slightly below 0.",
)
def stage_table(results: Results, pipeline: str, variant: str) -> Values | None:
    """Return median seconds per stage; each row adds up to its total."""
    parts = list(stages(results, pipeline, variant).values())
    return [seconds(part) for part in (*parts, sum(parts))] if parts else None


def placement_tables(results: Results) -> Iterator[ReportTable]:
    """Yield what runs each step of a pipeline in each variant, if any of them used a GPU."""
    for info in results.pipelines:
        every = (results.cell(info.name, variant.name) for variant in results.variants)
        cells = [cell for cell in every if cell and cell.placement]
        if not any(on_gpu(place.device) for cell in cells for place in cell.placement):
            continue
        steps = dict.fromkeys(place.step for cell in cells for place in cell.placement)
        yield ReportTable(
            f"Steps of {info.name}: implementation and device",
            ("Step", *(cell.variant for cell in cells)),
            "l" + "l" * len(cells),
            tuple(row(step, *(_place(cell, step) for cell in cells)) for step in steps),
        )


def _place(cell: Cell, step: str) -> str:
    places = [place for place in cell.placement if place.step == step]
    notes = "; ".join(dict.fromkeys(place.note for place in places if place.note))
    where = ", ".join(dict.fromkeys(f"{p.implementation} [{p.device}]" for p in places))
    return (where + (f": {notes}" if notes else "")) or MISSING


@by_pair(
    "Copies between host and GPU in the last timed run",
    ("Calls", "Time, s", "To the GPU", "To the host"),
    "rrrr",
)
def movement_table(results: Results, pipeline: str, variant: str) -> Values | None:
    """Return the bytes that crossed between host and device, of what used a GPU."""
    cell = results.cell(pipeline, variant)
    log = cell.execution_log if cell else []
    if not any(on_gpu(entry.device) for entry in log):
        return None
    crossed = [entry.to_device_bytes for entry in log], [entry.to_host_bytes for entry in log]
    spent = seconds(sum(entry.seconds for entry in log))
    return str(len(log)), spent, *(size(sum(each)) for each in crossed)


def quality_table(results: Results) -> ReportTable:
    """Return each metric beside the reference's, with its declared margin."""
    names = "Pipeline", "Variant", "Metric", "Dummy", "Reference", "Value"
    return ReportTable(
        "Metrics on the test rows, compared with plain scikit-learn",
        (*names, "Difference, 95 % interval", "Margin", "Seed to seed", "Quality"),
        "lllrrrrrrl",
        tuple(
            row(pipeline, variant, *_metric(item, results.baseline.get(item.metric)))
            for pipeline, variant in pairs(results)
            if variant != REFERENCE
            for item in parity(results, pipeline, variant)
        ),
        "PASS: the interval of the difference is within the margin, which the task declared before "
        "any run. FAIL: the interval is beyond the margin, and beyond what the reference varies "
        "from seed to seed. INCONCLUSIVE: neither. The interval is over the test rows, which both "
        "models share. A metric without a margin has no verdict. The dummy uses no column: it "
        "predicts the shares of the classes, or the mean.",
    )


def _metric(item: MetricParity, dummy: float | None) -> Values:
    margin = MISSING if item.margin is None else f"{item.margin:g}"
    interval = " to ".join(difference(bound) for bound in item.interval)
    noise = f"{item.noise:.2g}" if item.noise else MISSING
    values = metric(item.reference), metric(item.value)
    gap = difference(item.difference) + (f" ({interval})" if interval else "")
    judged = TableCell(item.judged, TONES.get(item.judged, "quiet"))
    return item.metric, metric(dummy), *values, gap, margin, noise, judged


def agreement_table(results: Results) -> ReportTable:
    """Return how far the predictions are from the reference's."""
    what, head = COMPARED[results.task.kind]

    def write(results: Results, pipeline: str, variant: str) -> Values | None:
        cell = measured(results, pipeline, variant)
        if cell is None or cell.agreement is None:
            return None
        values = {name: getattr(cell.agreement, name) for name in head}
        return [
            MISSING if value is None else share(value) if name in _SHARES else f"{value:.3g}"
            for name, value in values.items()
        ]

    caption = f"Agreement of the {what} with plain scikit-learn's, over all test rows"
    return by_pair(caption, head.values(), "r" * len(head))(write)(results)


def resource_table(results: Results) -> ReportTable:
    """Return what the runs of each cell took of the machine."""
    head = "Peak memory", "Ratio", "Processors used", "GPU in use", "GPU memory", "Energy"
    note = (
        "Peak memory: resident host memory of the process with its libraries, and its ratio to "
        "plain scikit-learn's. Processors: mean of the last timed run. GPU: share of the time in "
        "which a kernel ran, and most memory in use by all processes. "
    )
    found = [cell.usage for p in pairs(results) if (cell := measured(results, *p)) and cell.usage]
    energy = [(part, each) for usage in found for part, each in usage.energy.items()]
    said = {f"Energy of the {part}: {each.how}." for part, each in energy}
    lost = {f"Not measured: {what} ({w})." for u in found for what, w in u.not_measured.items()}
    note += " ".join([*sorted(said), *sorted(lost)])
    return by_pair("Resources", head, "rrrrrr", note)(_resources)(results)


def _resources(results: Results, pipeline: str, variant: str) -> Values | None:
    cell, base = (measured(results, pipeline, name) for name in (variant, REFERENCE))
    if cell is None:
        return None
    compared = base is not None and base.peak_rss_bytes > 0 and variant != REFERENCE
    last, usage = cell.runs[-1], cell.usage
    joules = [f"{part} {each.joules:.3g} J" for part, each in usage.energy.items()] if usage else []
    return (
        size(cell.peak_rss_bytes),
        times(cell.peak_rss_bytes / base.peak_rss_bytes) if base and compared else MISSING,
        f"{last.cpu_seconds / last.total:.2f}",
        MISSING if usage is None or usage.gpu_use is None else share(usage.gpu_use),
        MISSING if usage is None or usage.gpu_bytes is None else size(usage.gpu_bytes),
        ", ".join(joules) or "not measured",
    )


def cost_table(results: Results) -> ReportTable:
    """Return what a thousand runs of each cell cost, where there is a price, and the break-even."""
    price = results.price
    unit = price.currency if price else ""

    def write(results: Results, pipeline: str, variant: str) -> Values | None:
        timed = speed(results, pipeline, variant)
        if timed is None or price is None:
            return None
        cost = 1e3 * timed.median / 3600 * price.per_hour
        even = f"{price.per_hour * timed.ratio.value:.3g}" if timed.ratio else MISSING
        return seconds(timed.median), f"{cost:.3g}" if cost < 1_000 else f"{cost:,.0f}", even

    head = "Median, s", f"Cost of 1,000 runs, {unit}", f"Break-even, {unit} an hour"
    rate = f"At {price.per_hour:g} {unit} an hour" if price else ""
    note = (
        f"{rate} for the machine, end to end, without its start and storage. Break-even: at this "
        "price, a machine on which plain scikit-learn takes as long as here costs as much per run."
    )
    return by_pair("Cost", head, "rrr", note)(write)(results)


def column_table(results: Results) -> ReportTable | None:
    """Return a row for the target and for each feature; None where a record has no summary."""
    found = results.table
    if found is None:
        return None
    said = [
        f"{'A random sample of ' if found.sampled else ''}{count(found.rows, 'row')} "
        "for training and testing."
    ]
    if found.left_out:
        said.append(f"{count(found.left_out, 'more column')} not shown.")
    rows = (_column_row(each, each.name == results.task.target) for each in found.columns)
    note = " ".join([*said, _COLUMN_NOTE.format(DRIFTED)])
    return ReportTable("Columns of the table", _COLUMN_HEAD, "llrrrrrlrl", tuple(rows), note)


def _column_row(column: ColumnSummary, is_target: bool) -> tuple[TableCell, ...]:
    most = MISSING if column.share is None else f"{column.most_frequent} ({share(column.share)})"
    return row(
        f"{column.name} (target)" if is_target else column.name,
        column.kind,
        TableCell(share(column.missing), "" if column.missing else "quiet"),
        MISSING if column.distinct is None else f"{column.distinct:,}",
        *map(_number, (column.low, column.median, column.high)),
        most,
        MISSING if column.drift is None else f"{column.drift:.3f}",
        ", ".join(column.cautions) or MISSING,
    )


def _number(value: float | str | None) -> str:
    """Write a number with four digits, or more where it has more before the point.

    >>> _number(0.123456), _number(1_234_567.0), _number(1e300), _number("2013-01-01")
    ('0.1235', '1,234,567', '1e+300', '2013-01-01')
    """
    if value is None or isinstance(value, str):
        return value or MISSING
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e15 else f"{value:.4g}"
