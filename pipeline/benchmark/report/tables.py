"""The tables and cards of the report, as text: every form of the report is written from them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import numpy as np

from pipeline import records
from pipeline.benchmark.judge.scaling import FEWEST, curve, model, overtaking
from pipeline.benchmark.judge.statistics import (
    OTHER,
    REFERENCE,
    MetricParity,
    measured,
    parity,
    speed,
    stages,
)
from pipeline.benchmark.record.results import STAGES, Cell, Past, Results
from pipeline.benchmark.report.table import (
    TONES,
    ReportTable,
    Row,
    TableCell,
    Values,
    by_pair,
    how_fast,
    pairs,
    row,
    span,
)
from pipeline.task.numerals import (
    MISSING,
    difference,
    integer,
    metric,
    minute,
    seconds,
    share,
    size,
    times,
)

NO_PLACEMENT = "No placement is recorded."
NO_MOVEMENT = "No movement between host and device is recorded."
NO_QUALITY = "No metric can be set beside the reference's."
NO_HISTORY = "No earlier record of the same work lay in the folder."
ALONE = (
    "One process on one machine ran at a time; no cluster took part, so no worker could be lost."
)
HOW_TO_SCALE = ".venv/bin/python -m pipeline compare {task} --sizes 0.1,0.3,1.0"
EARLIER = 6
"""Earlier records that have a column."""
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
_FORMATS: dict[str, Callable[[float], str]] = {
    "max_difference": "{:.2g}".format,
    "mean_difference": "{:.2g}".format,
    "same_decision": share,
    "adjusted_rand": metric,
    "shared_neighbours": share,
}
_PROFILE = re.compile(r"profile-\d+\.html")
"""What may be linked: a record is only data, and may come from anywhere."""


@by_pair(
    "Wall time of one run, end to end",
    ("Median, s", "Min–max, s", "IQR, s", "n", "Speed", "Interval", "Warm-up, s"),
    "rrrrllr",
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
        return *[MISSING] * 4, why, *[MISSING] * 2
    spread = f"{seconds(timed.minimum)}–{seconds(timed.maximum)}"
    warmup = TableCell(seconds(cell.warmup.total) if cell.warmup else MISSING, "quiet")
    figures = seconds(timed.median), spread, seconds(timed.iqr), str(timed.n)
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


def size_note(results: Results) -> str:
    """Say how to measure other sizes, where none were."""
    if results.points:
        return ""
    return "No other sizes were measured; to do so: " + HOW_TO_SCALE.format(task=results.task.name)


def size_table(results: Results) -> ReportTable:
    """Return the median seconds at each size, one row per pipeline and variant."""
    curves = {pair: each for pair in pairs(results) if (each := curve(results, *pair))}
    sizes = sorted({n for each in curves.values() for n in each.rows})

    def write(_: Results, *pair: str) -> Values | None:
        if (each := curves.get((pair[0], pair[1]))) is None:
            return None
        medians = dict(zip(each.rows, each.medians, strict=True))
        return [seconds(medians[n]) if n in medians else MISSING for n in sizes]

    lost = " ".join(
        f"{p.variant} on {p.pipeline} failed at size {p.size:g}: {p.why}."
        for p in results.points
        if p.status != "ok"
    )
    head = (f"{integer(n)} rows" for n in sizes)
    note = "Rows to train; the test rows are cut in the same share. " + lost
    return by_pair("Median seconds at each size", head, "r" * len(sizes), note)(write)(results)


@by_pair(
    "What a row costs, and where one overtakes the other",
    ("Model of the seconds", "Largest miss", "Break-even with the reference"),
    "rrl",
    "A start plus a price for each training row, fitted to the medians. Break-even: where the "
    "lines cross, with the central 95 % of resampled runs. Nothing is said beyond these sizes.",
)
def model_table(results: Results, pipeline: str, variant: str) -> Values | None:
    """Return the cost models and the break-even sizes."""
    if (sizes := curve(results, pipeline, variant)) is None:
        return None
    crossing = str(overtaking(results, pipeline, variant) or "no reference to compare")
    said = TableCell("the reference", "quiet") if variant == REFERENCE else TableCell(crossing)
    if (fitted := model(sizes)) is None:
        return f"fewer than {FEWEST} sizes", MISSING, said
    return str(fitted), f"{fitted.miss:.1%}".replace("%", " %"), said


def break_evens(results: Results) -> list[str]:
    """Return a sentence on each break-even that there is."""
    every = [(*pair, overtaking(results, *pair)) for pair in pairs(results)]
    return [f"{v} on {p}: {each}." for p, v, each in every if each and each.rows is not None]


def placement_tables(results: Results) -> list[ReportTable]:
    """Return one table per pipeline: what runs each step in each variant, on which device."""
    return [table for info in results.pipelines if (table := _placement(results, info.name))]


def _placement(results: Results, pipeline: str) -> ReportTable | None:
    cells = [c for v in results.variants if (c := results.cell(pipeline, v.name)) and c.placement]
    steps = dict.fromkeys(step.step for cell in cells for step in cell.placement)
    if not steps:
        return None
    return ReportTable(
        f"What ran each step of {pipeline}, and where",
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
    log = _log(results, pipeline, variant)
    to_device = size(sum(entry.to_device_bytes for entry in log))
    to_host = size(sum(entry.to_host_bytes for entry in log))
    spent = seconds(sum(entry.seconds for entry in log))
    return (str(len(log)), spent, to_device, to_host) if log else None


def log_tables(results: Results) -> list[ReportTable]:
    """Return the whole execution log, one table per cell that has one."""
    head = ("Step", "Call", "Device", "Time of the call, s", "To the device", "To the host", "Why")
    return [
        ReportTable(
            f"Execution log of {variant} on {pipeline}", head, "lllrrrl", tuple(map(_entry, log))
        )
        for pipeline, variant in pairs(results)
        if (log := _log(results, pipeline, variant))
    ]


def _log(results: Results, pipeline: str, variant: str) -> list[records.Movement]:
    cell = results.cell(pipeline, variant)
    return cell.execution_log if cell else []


def _entry(entry: records.Movement) -> Row:
    crossed = size(entry.to_device_bytes), size(entry.to_host_bytes)
    why = entry.why if entry.to_device_bytes or entry.to_host_bytes else ""
    return row(entry.step, entry.call, entry.device, seconds(entry.seconds), *crossed, why)


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
        values = [(_FORMATS[name], getattr(cell.agreement, name)) for name in head]
        return [MISSING if value is None else write(value) for write, value in values]

    caption = f"Agreement of {what} with the reference, over all test rows"
    return by_pair(caption, head.values(), "r" * len(head))(write)(results)


@by_pair(
    "Peak resident memory of the process",
    ("Peak RSS", "Ratio to the reference"),
    "rr",
    "Host memory, libraries included. Memory of a GPU is not in it.",
)
def memory_table(results: Results, pipeline: str, variant: str) -> Values | None:
    """Return the peak resident memory of each worker, and its ratio to the reference's."""
    cell, base = (measured(results, pipeline, name) for name in (variant, REFERENCE))
    if cell is None:
        return None
    compared = base is not None and base.peak_rss_bytes > 0 and variant != REFERENCE
    ratio = times(cell.peak_rss_bytes / base.peak_rss_bytes) if base and compared else MISSING
    return size(cell.peak_rss_bytes), ratio


def resource_table(results: Results) -> ReportTable:
    """Return what the last timed run of each cell took of the machine."""
    head = ("Busy processors", "Read from disk", "GPU in use", "GPU memory", "Energy")
    note = (
        "Busy processors: mean over the run. GPU: mean share of the time in which a kernel ran, "
        "and the most memory in use, of the whole GPU. "
    ) + _unmeasured([cell.trace for p in pairs(results) if (cell := measured(results, *p))])
    caption = "What the last timed run took"
    return by_pair(caption, (*head, "Cost of watching"), "rrrrrr", note)(_resources)(results)


def _resources(results: Results, pipeline: str, variant: str) -> Values | None:
    cell = measured(results, pipeline, variant)
    trace = cell.trace if cell else None
    if trace is None:
        return None
    length = trace.seconds[-1]
    steps = np.diff(trace.seconds, prepend=0.0)
    busy = float(np.dot(steps, trace.processors)) / length if length else 0.0
    joules = [f"{part} {energy.joules:.3g} J" for part, energy in trace.energy.items()]
    return (
        f"{busy:.2f}",
        MISSING if trace.read_bytes is None else size(trace.read_bytes),
        share(float(np.mean(trace.gpu_use))) if trace.gpu_use else MISSING,
        size(max(trace.gpu_bytes)) if trace.gpu_bytes else MISSING,
        ", ".join(joules) or "not measured",
        share(trace.cost),
    )


def _unmeasured(traces: Iterable[records.Trace | None]) -> str:
    there = [trace for trace in traces if trace]
    how = {f"Energy of the {part}: {e.how}." for t in there for part, e in t.energy.items()}
    why = {f"Not measured: {what}: {w}." for t in there for what, w in t.not_measured.items()}
    return " ".join(sorted(how) + sorted(why))


def history_table(results: Results) -> ReportTable:
    """Return the medians of this record and of the latest earlier ones, the newest first."""
    past = [*reversed(results.history)][:EARLIER]

    def write(results: Results, pipeline: str, variant: str) -> Values | None:
        timed, name = speed(results, pipeline, variant), f"{pipeline}/{variant}"
        before = [seconds(p.medians[name]) if name in p.medians else MISSING for p in past]
        return [seconds(timed.median) if timed else MISSING, *before] if past else None

    head = ("Now", *(minute(each.created) for each in past))
    note = "Records of the same task, data, split, pipelines and clock. --baseline names what else "
    note += "differs. " + " ".join(map(_describe, past))
    return by_pair("Median seconds, now and before", head, "r" * len(head), note)(write)(results)


def _describe(past: Past) -> str:
    machine = ", ".join([past.cpu, *past.gpus])
    return f"{minute(past.created)}: commit {past.commit[:9]} on {machine}."


def profiles(results: Results) -> list[tuple[str, str]]:
    """Return a name and a file for each profile; the file is empty where there is none."""
    files = [_PROFILE.fullmatch(each.file) for each in results.profiles]
    names = [f"{each.variant} on {each.pipeline}" for each in results.profiles]
    return [
        (name, file[0]) if file else (f"{name}: no profile, {each.why}", "")
        for name, file, each in zip(names, files, results.profiles, strict=True)
    ]


def variants_table(results: Results) -> ReportTable:
    """Return what differs: the variants, their devices and whether they ran."""
    return ReportTable(
        "What differs: the variants",
        ("Variant", "What it is", "Device", "Status"),
        "llll",
        tuple(
            row(v.name, v.title, v.device, f"{v.status}: {v.why}" if v.why else v.status)
            for v in results.variants
        ),
    )


def packages_table(results: Results) -> ReportTable:
    """Return the packages and their versions."""
    rows = tuple(row(*item) for item in results.machine.packages.items())
    return ReportTable("Packages", ("Package", "Version"), "ll", rows)
