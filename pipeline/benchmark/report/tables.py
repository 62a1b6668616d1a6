"""The measured tables of the report: speed, stages, placement, quality, memory.

A table of text, from which every form of the report is written.

The tables of what the runs took: memory, processors, disk, GPU, energy.

What stands around the comparison: what a run costs, earlier records, profiles.

The cards of the report: the comparison, the machine, the protocol, the way back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

import numpy as np

from pipeline import records
from pipeline.benchmark.report.format import (
    MISSING,
    difference,
    integer,
    metric,
    seconds,
    share,
    size,
    times,
)
from pipeline.benchmark.results import STAGES, Agreement, Cell, Past, Results, TaskInfo
from pipeline.benchmark.statistics import (
    OTHER,
    REFERENCE,
    MetricParity,
    Ratio,
    Speed,
    measured,
    parity,
    speed,
    stages,
)
from pipeline.records import Gpu

NO_PLACEMENT = "No placement is recorded."
NO_LEDGER = "No movement between host and device is recorded."
NO_QUALITY = "No metric can be set beside the reference's."
_GAPS = {"max_difference": "Largest difference", "mean_difference": "Mean difference"}
_CHANCES = {"max_difference": "Largest |Δp|", "mean_difference": "Mean |Δp|"}
ANSWERS = {
    "binary": ("predicted probabilities", {**_CHANCES, "same_decision": "Same decision at 0.5"}),
    "multiclass": ("predicted classes", {**_CHANCES, "same_decision": "Same class"}),
    "regression": ("predicted numbers", _GAPS),
    "ranking": ("scores", _GAPS),
    "clusters": (
        "clusters and embeddings",
        {"adjusted_rand": "Adjusted Rand index", "shared_neighbours": "Shared neighbours"},
    ),
}
"""Kind of task -> what is compared, and fields of `Agreement` with the words for them."""
_SHARES = {"same_decision", "shared_neighbours"}
TONES = {"faster": "good", "slower": "bad", "PASS": "good", "FAIL": "bad", "INCONCLUSIVE": "bad"}


def pairs(results: Results) -> Iterator[tuple[str, str]]:
    """Yield pipeline and variant of every cell that was to run, the reference included."""
    for pipeline in results.pipelines:
        for variant in results.variants:
            if variant.status != "skipped":
                yield pipeline.name, variant.name


def speed_table(results: Results) -> Table:
    """Return times, ratios and verdicts, one row per pipeline and variant."""
    return Table(
        "Wall time of one run, end to end",
        (
            "Spec",
            "Variant",
            "Median, s",
            "Min–max, s",
            "IQR, s",
            "n",
            "Time ratio",
            "Interval",
            "Speed-up",
            "Verdict",
            "Warm-up, s",
        ),
        "llrrrrrrrlr",
        tuple(_speed_row(results, pipeline, variant) for pipeline, variant in pairs(results)),
        "Time ratio: median time over the reference's; below 1 is faster. Interval: percentile "
        "bootstrap of the ratio of medians, 95 %, each on its own and not adjusted for their "
        "number; it covers the noise from run to run on this machine and nothing else. The "
        "warm-up is the first run of the process and is in no other column.",
    )


def _speed_row(results: Results, pipeline: str, variant: str) -> Row:
    found = speed(results, pipeline, variant)
    if found is None:
        lost = (MISSING,) * 7
        return row(
            pipeline, variant, *lost, TableCell(absence(results, pipeline, variant), "bad"), MISSING
        )
    cell = measured(results, pipeline, variant)
    warmup = seconds(cell.warmup.total) if cell and cell.warmup else MISSING
    return row(
        pipeline, variant, *_times(found), *_against(found, variant), TableCell(warmup, "quiet")
    )


def _times(found: Speed) -> tuple[str, ...]:
    spread = f"{seconds(found.minimum)}–{seconds(found.maximum)}"
    return seconds(found.median), spread, seconds(found.iqr), str(found.n)


def _against(found: Speed, variant: str) -> tuple[str | TableCell, ...]:
    ratio = found.ratio
    if ratio is None:
        why = "the reference" if variant == REFERENCE else "no reference to compare"
        return MISSING, MISSING, MISSING, TableCell(why, "quiet")
    return f"{ratio.value:.3f}", span(ratio), times(ratio.speed_up), outcome(ratio)


def span(ratio: Ratio) -> str:
    """Write the interval of a ratio."""
    return "–".join(f"{end:.3f}" for end in ratio.interval) if ratio.interval else MISSING


def outcome(ratio: Ratio) -> TableCell:
    """Write the outcome, with a word on intervals from few runs."""
    note = "" if ratio.note.startswith("95") else f" ({ratio.note})"
    return TableCell(ratio.outcome + note, TONES.get(ratio.outcome, ""))


def absence(results: Results, pipeline: str, variant: str) -> str:
    """Say why a cell has no times."""
    cell = results.cell(pipeline, variant)
    if cell is None:
        return "no record"
    return f"{cell.status}: {cell.why or 'no reason recorded'}" if cell.status != "ok" else "no run"


def stage_table(results: Results) -> Table:
    """Return median seconds per stage; each row adds up to its total."""
    names = (*STAGES, OTHER)
    found = [(s, v, stages(results, s, v)) for s, v in pairs(results)]
    return Table(
        "Where the time goes: median seconds per stage",
        ("Spec", "Variant", *(f"{name.capitalize()}, s" for name in names), "Total, s"),
        "ll" + "r" * (len(names) + 1),
        tuple(
            row(s, v, *(seconds(parts[name]) for name in names), seconds(sum(parts.values())))
            for s, v, parts in found
            if parts
        ),
        "Other is the median total less the medians of the stages; as medians do not add "
        "exactly, it can fall a little below 0.",
    )


def placement_tables(results: Results) -> list[Table]:
    """Return one table per pipeline: what runs each step in each variant, on which device."""
    return [
        table for pipeline in results.pipelines if (table := _placement(results, pipeline.name))
    ]


def _placement(results: Results, pipeline: str) -> Table | None:
    cells = [c for v in results.variants if (c := results.cell(pipeline, v.name)) and c.placement]
    steps = dict.fromkeys(step.step for cell in cells for step in cell.placement)
    if not steps:
        return None
    return Table(
        f"What ran each step of {pipeline}, and where",
        ("Step", *(cell.variant for cell in cells)),
        "l" + "l" * len(cells),
        tuple(row(step, *(_place(cell, step) for cell in cells)) for step in steps),
    )


def _place(cell: Cell, step: str) -> str:
    found = [place for place in cell.placement if place.step == step]
    notes = "; ".join(dict.fromkeys(place.note for place in found if place.note))
    where = ", ".join(dict.fromkeys(f"{p.implementation} [{p.device}]" for p in found))
    return (where + (f": {notes}" if notes else "")) or MISSING


def movement_table(results: Results) -> Table:
    """Return the bytes that crossed between host and device, per cell."""
    return Table(
        "What moved between host and device in the last timed run",
        ("Spec", "Variant", "Entries", "Time of the calls, s", "To the device", "To the host"),
        "llrrrr",
        tuple(
            _movements(pipeline, variant, cell.execution_log)
            for pipeline, variant in pairs(results)
            if (cell := results.cell(pipeline, variant)) and cell.execution_log
        ),
    )


def _movements(pipeline: str, variant: str, execution_log: list[records.Movement]) -> Row:
    return row(
        pipeline,
        variant,
        str(len(execution_log)),
        seconds(sum(entry.seconds for entry in execution_log)),
        size(sum(entry.to_device_bytes for entry in execution_log)),
        size(sum(entry.to_host_bytes for entry in execution_log)),
    )


def ledger_tables(results: Results) -> list[Table]:
    """Return the whole execution log, one table per cell that has one."""
    return [
        Table(
            f"ExecutionLog of {variant} on {pipeline}",
            (
                "Step",
                "Call",
                "Device",
                "Time of the call, s",
                "To the device",
                "To the host",
                "Why",
            ),
            "lllrrrl",
            tuple(_entry(entry) for entry in cell.execution_log),
        )
        for pipeline, variant in pairs(results)
        if (cell := results.cell(pipeline, variant)) and cell.execution_log
    ]


def _entry(entry: records.Movement) -> Row:
    moved = size(entry.to_device_bytes), size(entry.to_host_bytes)
    why = entry.why if entry.to_device_bytes or entry.to_host_bytes else ""
    return row(entry.step, entry.call, entry.device, seconds(entry.seconds), *moved, why)


def quality_table(results: Results) -> Table:
    """Return each metric beside the reference's, with its declared margin."""
    rows = [
        _metric(pipeline, variant, item)
        for pipeline, variant in pairs(results)
        if variant != REFERENCE
        for item in parity(results, pipeline, variant)
    ]
    return Table(
        "Metrics on the test rows, against the reference",
        (
            *("Spec", "Variant", "Metric", "Reference", "Value", "Difference", "95 % interval"),
            *("Margin", "Seed to seed", "Parity"),
        ),
        "lllrrrrrrl",
        tuple(rows),
        "PASS: the whole interval of the difference is within the margin, declared before any run; "
        "FAIL: the whole of it is beyond the margin and beyond what the reference moves from seed "
        "to seed; INCONCLUSIVE: neither. The interval is over the test rows, both models judged on "
        "the same ones. A metric without a margin is shown but not judged.",
    )


def _metric(pipeline: str, variant: str, item: MetricParity) -> Row:
    word = item.judged
    margin = MISSING if item.margin is None else f"{item.margin:g}"
    span = " to ".join(difference(bound) for bound in item.interval) or MISSING
    values = metric(item.reference), metric(item.value), difference(item.difference), span, margin
    noise = f"{item.noise:.2g}" if item.noise else MISSING
    return row(
        pipeline, variant, item.metric, *values, noise, TableCell(word, TONES.get(word, "quiet"))
    )


def agreement_table(results: Results) -> Table:
    """Return how far the answers lie from the reference's."""
    what, head = ANSWERS[results.task.kind]
    return Table(
        f"Agreement of {what} with the reference, over all test rows",
        ("Spec", "Variant", *head.values()),
        "ll" + "r" * len(head),
        tuple(
            row(pipeline, variant, *_agreement(cell.agreement, head))
            for pipeline, variant in pairs(results)
            if (cell := measured(results, pipeline, variant)) and cell.agreement
        ),
    )


def _agreement(found: Agreement, names: Iterable[str]) -> Iterator[str]:
    for name in names:
        value: float | None = getattr(found, name)
        if value is None:
            yield MISSING
        elif name in _SHARES:
            yield share(value)
        else:
            yield f"{value:.2g}" if name in _GAPS else metric(value)


class TableCell(NamedTuple):
    """A text and its tone: "good", "bad", "quiet" or none. The text alone tells all."""

    text: str
    tone: str = ""


Row = tuple[TableCell, ...]


@dataclass(frozen=True)
class Table:
    """Rows under a head, grouped by their first column.

    Parameters
    ----------
    caption : str
        What the table shows.
    head : tuple of str
        Names of the columns, with their units.
    align : str
        One letter per column: ``l`` for text, ``r`` for numbers.
    rows : tuple of tuple of TableCell
        As many cells per row as the head has.
    note : str
        How to read it; may be empty.
    """

    caption: str
    head: tuple[str, ...]
    align: str
    rows: tuple[Row, ...]
    note: str = ""

    def __post_init__(self) -> None:
        widths = {len(self.head), len(self.align), *map(len, self.rows)}
        if len(widths) != 1:
            raise ValueError(f"table {self.caption!r}: rows of {sorted(widths)} columns")

    def groups(self) -> list[list[Row]]:
        """Return the runs of rows that have the same first column."""
        return [list(rows) for _, rows in groupby(self.rows, key=lambda row: row[0].text)]


def row(*values: str | TableCell) -> Row:
    """Make a row of texts and toned cells."""
    return tuple(value if isinstance(value, TableCell) else TableCell(value) for value in values)


def memory_table(results: Results) -> Table:
    """Return the peak resident memory of each worker, and its ratio to the reference's."""
    return Table(
        "Peak resident memory of the process",
        ("Spec", "Variant", "Peak RSS", "Ratio to the reference"),
        "llrr",
        tuple(
            row(
                pipeline,
                variant,
                size(cell.peak_rss_bytes),
                _memory_ratio(results, pipeline, variant),
            )
            for pipeline, variant in pairs(results)
            if (cell := measured(results, pipeline, variant))
        ),
        "Host memory, libraries included. Memory of a GPU is not in it.",
    )


def resource_table(results: Results) -> Table:
    """Return what the last timed run of each cell took of the machine."""
    found = [
        (pipeline, variant, cell.trace)
        for pipeline, variant in pairs(results)
        if (cell := measured(results, pipeline, variant)) and cell.trace
    ]
    return Table(
        "What the last timed run took",
        (
            *("Spec", "Variant", "Busy processors", "Read from disk", "GPU in use", "GPU memory"),
            *("Energy", "Cost of watching"),
        ),
        "llrrrrrr",
        tuple(row(pipeline, variant, *_resources(trace)) for pipeline, variant, trace in found),
        "Busy processors: mean over the run. GPU: mean share of the time in which a kernel ran, "
        "and the most memory in use, of the whole GPU. " + _unmeasured(found),
    )


def _resources(trace: records.Trace) -> tuple[str, ...]:
    span = trace.seconds[-1]
    steps = np.diff(trace.seconds, prepend=0.0)
    busy = float(np.dot(steps, trace.processors)) / span if span else 0.0
    joules = [f"{part} {energy.joules:.3g} J" for part, energy in trace.energy.items()]
    return (
        f"{busy:.2f}",
        MISSING if trace.read_bytes is None else size(trace.read_bytes),
        share(float(np.mean(trace.gpu_use))) if trace.gpu_use else MISSING,
        size(max(trace.gpu_bytes)) if trace.gpu_bytes else MISSING,
        ", ".join(joules) or "not measured",
        share(trace.cost),
    )


def _unmeasured(found: list[tuple[str, str, records.Trace]]) -> str:
    reasons = {f"{what}: {why}" for _, _, t in found for what, why in t.not_measured.items()}
    how = {f"{part}: {e.how}" for _, _, t in found for part, e in t.energy.items()}
    told = [f"Energy of the {each}." for each in sorted(how)]
    return " ".join(told + [f"Not measured: {each}." for each in sorted(reasons)])


def _memory_ratio(results: Results, pipeline: str, variant: str) -> str:
    cell, base = measured(results, pipeline, variant), measured(results, pipeline, REFERENCE)
    if variant == REFERENCE or cell is None or base is None or base.peak_rss_bytes <= 0:
        return MISSING
    return times(cell.peak_rss_bytes / base.peak_rss_bytes)


_OURS = re.compile(r"profile-\d+\.html")
"""What may be linked: a record is only data, and may come from anywhere."""
NOT_PRICED = (
    "Not priced: no price of this machine was given (--price '1.20 EUR', or --machine NAME from a "
    "table of prices)."
)
ALONE = (
    "One process on one machine ran at a time; no cluster took part, so no worker could be lost."
)
COLUMNS = 6
"""Earlier records that have a column."""
NO_HISTORY = "No earlier record of the same work lay in the folder."


def cost_table(results: Results) -> Table:
    """Return the cost of a run of each cell; no row where there is no price."""
    price = results.price
    head = ("Spec", "Variant", "Median, s", f"Cost of a run, {price.currency if price else ''}")
    if price is None:
        return Table("Cost of a run", head, "llrr", (), NOT_PRICED)
    rows = [
        row(pipeline, variant, seconds(found.median), f"{found.median / 3600 * price.per_hour:.3g}")
        for pipeline, variant in pairs(results)
        if (found := speed(results, pipeline, variant))
    ]
    note = (
        f"{price.machine}: {price.per_hour:g} {price.currency} an hour, {price.date}, "
        f"{price.source}. Of the whole machine, whatever part of it a variant used."
    )
    return Table("Cost of a run", head, "llrr", tuple(rows), note)


def history_table(results: Results) -> Table:
    """Return the medians of this record and of the latest earlier ones, the newest first."""
    past = [*reversed(results.history)][:COLUMNS]
    return Table(
        "Median seconds, now and before",
        ("Spec", "Variant", "Now", *(_day(each.created) for each in past)),
        "llr" + "r" * len(past),
        tuple(_history_row(results, s, v, past) for s, v in pairs(results)) if past else (),
        "Records of the same task, data, split, programs and clock. --baseline names what else "
        "differs. " + " ".join(_about(each) for each in past),
    )


def _history_row(results: Results, pipeline: str, variant: str, past: list[Past]) -> Row:
    found, name = speed(results, pipeline, variant), f"{pipeline}/{variant}"
    before = [seconds(p.medians[name]) if name in p.medians else MISSING for p in past]
    return row(pipeline, variant, seconds(found.median) if found else MISSING, *before)


def _day(created: str) -> str:
    return created[:16].replace("T", " ")


def _about(past: Past) -> str:
    machine = ", ".join([past.cpu, *past.gpus])
    return f"{_day(past.created)}: commit {past.commit[:9]} on {machine}."


def profiles(results: Results) -> list[tuple[str, str, str]]:
    """Return name, file and reason for each profile; the file is empty where there is none."""
    return [
        (f"{p.variant} on {p.pipeline}", p.file if _OURS.fullmatch(p.file) else "", p.why)
        for p in results.profiles
    ]


def sentences(results: Results) -> list[str]:
    """Return the profiles in sentences, for where there are no links."""
    return [
        f"{name}: {file}" if file else f"{name}: no profile, {why}"
        for name, file, why in profiles(results)
    ]


Card = list[tuple[str, str]]


def fairness(results: Results) -> Card:
    """Return what is the same for every variant."""
    task, data = results.task, results.data
    return [
        ("Task", f"{task.title} ({task.name}); target {task.target}"),
        ("Data", f"{data.path}, {size(data.bytes)}; {data.source}; {data.licence}"),
        ("SHA-256 of the data", data.sha256),
        ("Split", task.split),
        ("Rows", f"{integer(task.rows_train)} to train, {integer(task.rows_test)} to test"),
        ("Columns", integer(task.columns)),
        ("Target", _target(task)),
        ("Margins", ", ".join(f"{k} ±{v:g}" for k, v in task.margins.items()) or "none declared"),
        ("Seed", str(results.protocol.seed)),
    ]


def _target(task: TaskInfo) -> str:
    """Describe the target; records of before there were kinds hold the share alone."""
    if task.positive_rate is None or task.about_target:
        return f"{task.kind}: {task.about_target}"
    return f"{task.kind}: class 1 is {share(task.positive_rate)} of the test rows"


def protocol(results: Results) -> Card:
    """Return how the runs were made."""
    plan = results.protocol
    return [
        ("Inside the clock", plan.clock),
        ("Isolation", plan.isolation),
        ("Warm-ups", f"{plan.warmups} per cell, not counted"),
        ("Timed runs", f"{plan.repeats} per cell"),
        ("Order", order(plan.order)),
    ]


def order(runs: list[str]) -> str:
    """Write the order of the runs, with the longest streak of one cell first."""
    if not runs:
        return "not recorded"
    streak = max(len(list(group)) for _, group in groupby(runs))
    kind = "interleaved" if streak == 1 else f"up to {streak} of one cell in a row"
    return f"{len(runs)} runs, {kind}: {', '.join(runs)}"


def machine(results: Results) -> Card:
    """Return where the comparison ran."""
    host = results.machine
    threads = ", ".join(f"{name} = {value}" for name, value in host.threads.items())
    return [
        ("Processor", host.cpu),
        ("Logical processors", str(host.cores)),
        ("Threads", threads or "not recorded"),
        ("Memory", size(host.memory_bytes)),
        ("Load before the first run", f"{host.load_before:.2f} (one-minute average)"),
        ("System", host.system),
        ("Python", host.python),
        ("GPU", "; ".join(map(_gpu, host.gpus)) or f"none used: {host.no_gpu_why or 'not said'}"),
    ]


def _gpu(gpu: Gpu) -> str:
    return (
        f"{gpu.name}, {size(gpu.memory_bytes)}, driver {gpu.driver}, "
        f"compute capability {gpu.compute_capability}"
    )


def reproduction(results: Results) -> Card:
    """Return which code ran, and when."""
    source = results.source
    state = "with changes that no commit holds" if source.dirty else "clean working tree"
    return [
        ("Commit", f"{source.commit}, {state}"),
        ("Made", results.created),
        ("Record", f"results.json, schema {results.schema}"),
    ]


def variants_table(results: Results) -> Table:
    """Return what differs: the variants, their devices and whether they ran."""
    return Table(
        "What differs: the variants",
        ("Variant", "What it is", "Device", "Status"),
        "llll",
        tuple(
            row(v.name, v.title, v.device, f"{v.status}: {v.why}" if v.why else v.status)
            for v in results.variants
        ),
    )


def packages_table(results: Results) -> Table:
    """Return the packages and their versions."""
    packages = results.machine.packages.items()
    rows = tuple(row(name, version) for name, version in packages)
    return Table("Packages", ("Package", "Version"), "ll", rows)
