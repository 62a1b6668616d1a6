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


def _history_row(results: Results, spec: str, variant: str, past: list[Past]) -> Row:
    found, name = speed(results, spec, variant), f"{spec}/{variant}"
    before = [seconds(p.medians[name]) if name in p.medians else MISSING for p in past]
    return row(spec, variant, seconds(found.median) if found else MISSING, *before)


def _day(created: str) -> str:
    return created[:16].replace("T", " ")


def _about(past: Past) -> str:
    machine = ", ".join([past.cpu, *past.gpus])
    return f"{_day(past.created)}: commit {past.commit[:9]} on {machine}."


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
