"""The measured tables of the report: speed, stages, placement, quality, memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pipeline import records
from pipeline.compare import results as record
from pipeline.compare.report.format import MISSING, difference, metric, seconds, share, size
from pipeline.compare.report.table import Cell, Row, Table, row
from pipeline.compare.results import STAGES, Results
from pipeline.compare.statistics import (
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
from pipeline.compare.verdicts import times

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
    """Yield spec and variant of every cell that was to run, the reference included."""
    for spec in results.specs:
        for variant in results.variants:
            if variant.status != "skipped":
                yield spec.name, variant.name


def speed_table(results: Results) -> Table:
    """Return times, ratios and verdicts, one row per spec and variant."""
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
        tuple(_speed_row(results, spec, variant) for spec, variant in pairs(results)),
        "Time ratio: median time over the reference's; below 1 is faster. Interval: percentile "
        "bootstrap of the ratio of medians, 95 %, each on its own and not adjusted for their "
        "number; it covers the noise from run to run on this machine and nothing else. The "
        "warm-up is the first run of the process and is in no other column.",
    )


def _speed_row(results: Results, spec: str, variant: str) -> Row:
    found = speed(results, spec, variant)
    if found is None:
        lost = (MISSING,) * 7
        return row(spec, variant, *lost, Cell(absence(results, spec, variant), "bad"), MISSING)
    cell = measured(results, spec, variant)
    warmup = seconds(cell.warmup.total) if cell and cell.warmup else MISSING
    return row(spec, variant, *_times(found), *_against(found, variant), Cell(warmup, "quiet"))


def _times(found: Speed) -> tuple[str, ...]:
    spread = f"{seconds(found.minimum)}–{seconds(found.maximum)}"
    return seconds(found.median), spread, seconds(found.iqr), str(found.n)


def _against(found: Speed, variant: str) -> tuple[str | Cell, ...]:
    ratio = found.ratio
    if ratio is None:
        why = "the reference" if variant == REFERENCE else "no reference to compare"
        return MISSING, MISSING, MISSING, Cell(why, "quiet")
    return f"{ratio.value:.3f}", span(ratio), times(ratio.speed_up), outcome(ratio)


def span(ratio: Ratio) -> str:
    """Write the interval of a ratio."""
    return "–".join(f"{end:.3f}" for end in ratio.interval) if ratio.interval else MISSING


def outcome(ratio: Ratio) -> Cell:
    """Write the outcome, with a word on intervals from few runs."""
    note = "" if ratio.note.startswith("95") else f" ({ratio.note})"
    return Cell(ratio.outcome + note, TONES.get(ratio.outcome, ""))


def absence(results: Results, spec: str, variant: str) -> str:
    """Say why a cell has no times."""
    cell = results.cell(spec, variant)
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
    """Return one table per spec: what runs each step in each variant, on which device."""
    return [table for spec in results.specs if (table := _placement(results, spec.name))]


def _placement(results: Results, spec: str) -> Table | None:
    cells = [c for v in results.variants if (c := results.cell(spec, v.name)) and c.placement]
    steps = dict.fromkeys(step.step for cell in cells for step in cell.placement)
    if not steps:
        return None
    return Table(
        f"What ran each step of {spec}, and where",
        ("Step", *(cell.variant for cell in cells)),
        "l" + "l" * len(cells),
        tuple(row(step, *(_place(cell, step) for cell in cells)) for step in steps),
    )


def _place(cell: record.Cell, step: str) -> str:
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
            _movements(spec, variant, cell.residency)
            for spec, variant in pairs(results)
            if (cell := results.cell(spec, variant)) and cell.residency
        ),
    )


def _movements(spec: str, variant: str, ledger: list[records.Movement]) -> Row:
    return row(
        spec,
        variant,
        str(len(ledger)),
        seconds(sum(entry.seconds for entry in ledger)),
        size(sum(entry.to_device_bytes for entry in ledger)),
        size(sum(entry.to_host_bytes for entry in ledger)),
    )


def ledger_tables(results: Results) -> list[Table]:
    """Return the whole residency ledger, one table per cell that has one."""
    return [
        Table(
            f"Ledger of {variant} on {spec}",
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
            tuple(_entry(entry) for entry in cell.residency),
        )
        for spec, variant in pairs(results)
        if (cell := results.cell(spec, variant)) and cell.residency
    ]


def _entry(entry: records.Movement) -> Row:
    moved = size(entry.to_device_bytes), size(entry.to_host_bytes)
    why = entry.why if entry.to_device_bytes or entry.to_host_bytes else ""
    return row(entry.step, entry.call, entry.device, seconds(entry.seconds), *moved, why)


def quality_table(results: Results) -> Table:
    """Return each metric beside the reference's, with its declared margin."""
    rows = [
        _metric(spec, variant, item)
        for spec, variant in pairs(results)
        if variant != REFERENCE
        for item in parity(results, spec, variant)
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


def _metric(spec: str, variant: str, item: MetricParity) -> Row:
    word = item.judged
    margin = MISSING if item.margin is None else f"{item.margin:g}"
    span = " to ".join(difference(bound) for bound in item.interval) or MISSING
    values = metric(item.reference), metric(item.value), difference(item.difference), span, margin
    noise = f"{item.noise:.2g}" if item.noise else MISSING
    return row(spec, variant, item.metric, *values, noise, Cell(word, TONES.get(word, "quiet")))


def agreement_table(results: Results) -> Table:
    """Return how far the answers lie from the reference's."""
    what, head = ANSWERS[results.task.kind]
    return Table(
        f"Agreement of {what} with the reference, over all test rows",
        ("Spec", "Variant", *head.values()),
        "ll" + "r" * len(head),
        tuple(
            row(spec, variant, *_agreement(cell.agreement, head))
            for spec, variant in pairs(results)
            if (cell := measured(results, spec, variant)) and cell.agreement
        ),
    )


def _agreement(found: record.Agreement, names: Iterable[str]) -> Iterator[str]:
    for name in names:
        value: float | None = getattr(found, name)
        if value is None:
            yield MISSING
        elif name in _SHARES:
            yield share(value)
        else:
            yield f"{value:.2g}" if name in _GAPS else metric(value)
