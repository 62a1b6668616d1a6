"""The tables and cards of the report, as text: every form of the report is written from them."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.benchmark.judge.statistics import (
    FEW,
    OTHER,
    REFERENCE,
    MetricParity,
    measured,
    parity,
    speed,
    stages,
)
from pipeline.benchmark.judge.verdict import Headline, first_metric, verdict
from pipeline.benchmark.record.results import STAGES, Cell, Results
from pipeline.benchmark.report.html_table import (
    TONES,
    ReportTable,
    TableCell,
    Values,
    by_pair,
    how_fast,
    pairs,
    row,
    span,
)
from pipeline.task.numerals import MISSING, difference, metric, score, seconds, share, size, times

_GAPS = {"max_difference": "Largest difference", "mean_difference": "Mean difference"}
_CHANCES = {"max_difference": "Largest |Δp|", "mean_difference": "Mean |Δp|"}
_CLUSTERS = {"adjusted_rand": "Adjusted Rand index", "shared_neighbours": "Shared neighbours"}
ANSWERS = {
    "binary": ("predicted probabilities", {**_CHANCES, "same_decision": "Same decision at 0.5"}),
    "multiclass": ("predicted classes", {**_CHANCES, "same_decision": "Same class"}),
    "regression": ("predicted numbers", _GAPS),
    "ranking": ("scores", _GAPS),
    "clusters": ("clusters and embeddings", _CLUSTERS),
}
"""Kind of task -> what is compared, and fields of `Agreement` with their headings."""
_SHARES = "same_decision", "shared_neighbours"


def summary_table(results: Results) -> ReportTable:
    """Return a row for each pipeline and variant that was to run: how fast, how equal, how good."""
    lines = verdict(results).headlines
    firsts = {each.name: first_metric(results, each.name) for each in results.pipelines}
    names = {found[0] for found in firsts.values() if found}
    one = names.pop() if len(names) == 1 else ""
    dummy = f", dummy {score(results.baseline[one])}" if one in results.baseline else ""
    note = "Seconds: median time of a run, end to end, and plain scikit-learn's in brackets."
    least = min((line.speed.n for line in lines if line.speed), default=FEW)
    if least < FEW:
        note += f" Intervals are indicative: {least} runs."
    head = "Pipeline", "Variant", "Speed", "Interval, 95 %", "Quality", f"{one}{dummy}" or "Score"
    rows = []
    for line in lines:
        first = firsts[line.pipeline]
        values = _found(results, line, first[0] if first else "", one)
        rows.append(row(line.pipeline, line.variant, *values))
    return ReportTable(
        "Against plain scikit-learn", (*head, "Seconds"), "lllllrr", tuple(rows), note
    )


def _found(results: Results, line: Headline, metric: str, head: str) -> Values:
    """Return how fast and how good a variant is, or why it has no times."""
    cell = measured(results, line.pipeline, line.variant)
    if line.speed is None or cell is None:
        why = TableCell(absence(results, line.pipeline, line.variant), "bad")
        return why, *[MISSING] * 4
    failed, ratio = line.parity == "FAIL", line.speed.ratio
    value = score(cell.metrics[metric]) if metric in cell.metrics else MISSING
    plain = speed(results, line.pipeline, REFERENCE)
    figure = how_fast(ratio) if ratio else TableCell(MISSING)
    return (
        TableCell("no claim, as quality fails", "bad") if failed else figure,
        span(ratio) if ratio and not failed else MISSING,
        TableCell(line.judged, TONES.get(line.parity, "quiet")),
        value if metric == head or value == MISSING else f"{metric} {value}",
        seconds(line.speed.median) + (f" ({seconds(plain.median)})" if plain else ""),
    )


@by_pair(
    "Wall time of one run, end to end",
    ("Median, s", "Min–max, s", "n", "Speed", "Interval", "Warm-up, s"),
    "rrrllr",
    "Speed: the reference's median time over the variant's, or the other way round where it is "
    "slower. Interval: percentile bootstrap of the ratio of medians, 95 %, each on its own and "
    "not adjusted for their number; it covers the noise from run to run on this machine and "
    "nothing else. The warm-up is the first run of the process and is in no other column.",
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
        alone = "the reference" if variant == REFERENCE else "no reference to compare"
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
    "Other is the median total less the medians of the stages; as medians do not add "
    "exactly, it can fall a little below 0.",
)
def stage_table(results: Results, pipeline: str, variant: str) -> Values | None:
    """Return median seconds per stage; each row adds up to its total."""
    parts = list(stages(results, pipeline, variant).values())
    return [seconds(part) for part in (*parts, sum(parts))] if parts else None


def placement_tables(results: Results) -> Iterator[ReportTable]:
    """Yield one table per pipeline: what runs each step in each variant, on which device."""
    for info in results.pipelines:
        every = (results.cell(info.name, variant.name) for variant in results.variants)
        cells = [cell for cell in every if cell and cell.placement]
        steps = dict.fromkeys(place.step for cell in cells for place in cell.placement)
        yield ReportTable(
            f"What ran each step of {info.name}, and where",
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
    "What moved between host and device in the last timed run",
    ("Entries", "Time of the calls, s", "To the device", "To the host"),
    "rrrr",
)
def movement_table(results: Results, pipeline: str, variant: str) -> Values | None:
    """Return the bytes that crossed between host and device, per cell."""
    cell = results.cell(pipeline, variant)
    if cell is None or not cell.execution_log:
        return None
    log = cell.execution_log
    crossed = [entry.to_device_bytes for entry in log], [entry.to_host_bytes for entry in log]
    spent = seconds(sum(entry.seconds for entry in log))
    return str(len(log)), spent, *(size(sum(each)) for each in crossed)


def quality_table(results: Results) -> ReportTable:
    """Return each metric beside the reference's, with its declared margin."""
    names = "Pipeline", "Variant", "Metric", "Dummy", "Reference", "Value", "Difference"
    return ReportTable(
        "Metrics on the test rows, against the reference",
        (*names, "95 % interval", "Margin", "Seed to seed", "Parity"),
        "lllrrrrrrrl",
        tuple(
            row(pipeline, variant, *_metric(item, results.baseline.get(item.metric)))
            for pipeline, variant in pairs(results)
            if variant != REFERENCE
            for item in parity(results, pipeline, variant)
        ),
        "PASS: the whole interval of the difference is within the margin, declared before any run; "
        "FAIL: the whole of it is beyond the margin and beyond what the reference moves from seed "
        "to seed; INCONCLUSIVE: neither. The interval is over the test rows, both models judged on "
        "the same ones. A metric without a margin is shown but not judged. The dummy looks at no "
        "column: it answers with the shares of the classes, or with the mean.",
    )


def _metric(item: MetricParity, dummy: float | None) -> Values:
    margin = MISSING if item.margin is None else f"{item.margin:g}"
    interval = " to ".join(difference(bound) for bound in item.interval) or MISSING
    noise = f"{item.noise:.2g}" if item.noise else MISSING
    values = metric(item.reference), metric(item.value), difference(item.difference)
    judged = TableCell(item.judged, TONES.get(item.judged, "quiet"))
    return item.metric, metric(dummy), *values, interval, margin, noise, judged


def agreement_table(results: Results) -> ReportTable:
    """Return how far the answers lie from the reference's."""
    what, head = ANSWERS[results.task.kind]

    def write(results: Results, pipeline: str, variant: str) -> Values | None:
        cell = measured(results, pipeline, variant)
        if cell is None or cell.agreement is None:
            return None
        values = {name: getattr(cell.agreement, name) for name in head}
        return [
            MISSING if value is None else share(value) if name in _SHARES else f"{value:.3g}"
            for name, value in values.items()
        ]

    caption = f"Agreement of {what} with the reference, over all test rows"
    return by_pair(caption, head.values(), "r" * len(head))(write)(results)


def resource_table(results: Results) -> ReportTable:
    """Return what the runs of each cell took of the machine."""
    head = "Peak memory", "Ratio", "Busy processors", "GPU in use", "GPU memory", "Energy"
    note = (
        "Peak memory: resident host memory of the process, libraries included, and its ratio to "
        "the reference's. Busy processors: mean over the last timed run. GPU: mean share of the "
        "time in which a kernel ran, and the most memory in use, of the whole GPU. "
    )
    found = [cell.usage for p in pairs(results) if (cell := measured(results, *p)) and cell.usage]
    energy = [(part, each) for usage in found for part, each in usage.energy.items()]
    said = {f"Energy of the {part}: {each.how}." for part, each in energy}
    lost = {f"Not measured: {what}: {w}." for u in found for what, w in u.not_measured.items()}
    note += " ".join([*sorted(said), *sorted(lost)])
    return by_pair("What the runs took", head, "rrrrrr", note)(_resources)(results)


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
        f"{last.cpu_seconds / last.total:.2f}" if last.cpu_seconds else MISSING,
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
    told = f"At {price.per_hour:g} {unit} an hour" if price else ""
    note = (
        f"{told}, of the whole machine, for the time end to end, without its start and storage. "
        "Break-even: the price of another machine on which the reference takes as long as here, "
        "and its runs cost as much."
    )
    return by_pair("Cost", head, "rrr", note)(write)(results)
