"""What stands around the comparison: what a run costs, earlier records, profiles."""

from __future__ import annotations

import re

from pipeline.compare.report.format import MISSING, seconds
from pipeline.compare.report.table import Row, Table, row
from pipeline.compare.report.tables import pairs
from pipeline.compare.results import Past, Results
from pipeline.compare.statistics import speed

_OURS = re.compile(r"profile-\d+\.html")
"""What may be linked: a record is only data, and may come from anywhere."""
NOT_PRICED = (
    "Not priced: no price of this machine was given (--price '1.20 EUR', or --machine NAME from a "
    "table of prices)."
)
ALONE = (
    "One process on one machine ran at a time; no cluster took part, so no worker could be lost."
)
NO_HISTORY = "No earlier record of the same work lay in the folder."


def cost_table(results: Results) -> Table:
    """Return the cost of a run of each cell; no row where there is no price."""
    price = results.price
    head = ("Spec", "Variant", "Median, s", f"Cost of a run, {price.currency if price else ''}")
    if price is None:
        return Table("Cost of a run", head, "llrr", (), NOT_PRICED)
    rows = [
        row(spec, variant, seconds(found.median), f"{found.median / 3600 * price.per_hour:.3g}")
        for spec, variant in pairs(results)
        if (found := speed(results, spec, variant))
    ]
    note = (
        f"{price.machine}: {price.per_hour:g} {price.currency} an hour, {price.date}, "
        f"{price.source}. Of the whole machine, whatever part of it a variant used."
    )
    return Table("Cost of a run", head, "llrr", tuple(rows), note)


def history_table(results: Results) -> Table:
    """Return the medians of earlier records, the newest first, and of this one."""
    names = [
        f"{spec}/{variant}"
        for spec, variant in pairs(results)
        if speed(results, spec, variant) is not None
    ]
    rows = [_now(results, names), *(_past(past, names) for past in reversed(results.history))]
    return Table(
        "Median seconds, now and before",
        ("Made", "Commit", "Machine", *names),
        "lll" + "r" * len(names),
        tuple(rows) if results.history else (),
        "Records of the same task, data, split, programs and clock. That other things were the "
        "same is not said: --baseline names what differs.",
    )


def _now(results: Results, names: list[str]) -> Row:
    found = {f"{s}/{v}": speed(results, s, v) for s, v in pairs(results)}
    medians = {name: each.median for name, each in found.items() if each}
    gpus = [gpu.name for gpu in results.machine.gpus]
    return _row(
        results.created, results.source.commit, [results.machine.cpu, *gpus], medians, names
    )


def _past(past: Past, names: list[str]) -> Row:
    return _row(past.created, past.commit, [past.cpu, *past.gpus], past.medians, names)


def _row(
    created: str, commit: str, machine: list[str], medians: dict[str, float], names: list[str]
) -> Row:
    times = [seconds(medians[name]) if name in medians else MISSING for name in names]
    return row(created[:16].replace("T", " "), commit[:9], ", ".join(machine), *times)


def profiles(results: Results) -> list[tuple[str, str, str]]:
    """Return name, file and reason for each profile; the file is empty where there is none."""
    return [
        (f"{p.variant} on {p.spec}", p.file if _OURS.fullmatch(p.file) else "", p.why)
        for p in results.profiles
    ]


def sentences(results: Results) -> list[str]:
    """Return the profiles in sentences, for where there are no links."""
    return [
        f"{name}: {file}" if file else f"{name}: no profile, {why}"
        for name, file, why in profiles(results)
    ]
