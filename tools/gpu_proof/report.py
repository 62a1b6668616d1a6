"""What the records show, against the targets that were set before."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.benchmark import results
from pipeline.benchmark.statistics import REFERENCE, cell_parity, measured, ratio
from tools.gpu_proof import outcomes

LEAST = {REFERENCE: 20.0, "accel": 2.0}
"""Variant -> how many times as fast as it ours has to be on the longest table compared."""
MOST_HAND = 1.1
"""Our time in that of the program written by hand."""
MOST_UNBOOKED = 1
"""Bytes a row; copies of single values, as every `bool(x.any())` makes, come to less."""
OVER = -1000
"""In place of an exit code: the time was over."""


def lines(given: argparse.Namespace, ran: dict[str, Any]) -> Iterator[str]:
    """Yield the report: the targets that were set before, with what was found of each."""
    yield from ["# Proof on a GPU", ""]
    if given.rehearse:
        yield from ["**A rehearsal on the CPU: it proves nothing of a GPU.**", ""]
    yield from ["| what | wanted | found | met |", "|---|---:|---:|---|"]
    words = {True: "yes", False: "**no**", None: "not run"}
    for what, wanted, found, met in verdicts(given):
        yield f"| {what} | {wanted} | {found} | {words[met]} |"
    yield from ["", "| at least moved | GB/s | of a copy's |", "|---|---:|---:|"]
    yield from bandwidths(given)
    yield from ["", "| stage | seconds | how it ended |", "|---|---:|---|"]
    for each in ran.values():
        yield f"| {each['stage']} | {each['seconds']:,.0f} | {said(each['code'])} |"


def verdicts(given: argparse.Namespace) -> Iterator[tuple[str, str, str, bool | None]]:
    """Yield what was to be shown, the target, what was found and whether it is met."""
    known = outcomes.read(tests_file(given))
    every = [outcome for outcome, _ in known.values()]
    failed, skipped = sum(each in outcomes.BAD for each in every), every.count("skipped")
    files = {test.partition("::")[0] for test in known}
    whole = (
        outcomes.DUE not in every and {str(f) for f in Path("tests/gpu").glob("test_*")} <= files
    )
    asked = len(every) - skipped - every.count(outcomes.DUE)
    text = f"{failed} of {asked}, {skipped} skipped" + ", not all have run" * (not whole)
    yield "failing `gpu` tests", "0", text, whole and not failed if asked else None
    moved = read(given, "copies.json") or read(given, "strict.json") or {}
    whys = [f"{name}: {each['why']}" for name, each in moved.items() if "why" in each]
    text = "; ".join([str(len(whys)), *whys]).replace("|", " ")
    whole = bool(moved) and all("booked" in each for each in moved.values())
    yield "calls refused with `host_bytes=0`", "0", text, False if whys else whole or None
    counts = [each for each in moved.values() if each.get("counted") is not None]
    beyond = [(each["counted"] - each["booked"]) / each["rows"] for each in counts]
    text = f"{max(beyond):.3f}" if beyond else ""
    met = min(beyond) >= 0 and max(beyond) < MOST_UNBOOKED if beyond else None
    met = met if len(beyond) == len(moved) else None
    yield "bytes a row to the host that are not booked", f"< {MOST_UNBOOKED}", text, met
    tables = [given.out / f"synthetic-{rows}" / "results.json" for rows in given.rows]
    compared = [path for path in tables if path.exists()]
    for path in compared[-1:]:
        yield from speeds(results.load(path), given.device)
    by_hand = read(given, "hand.json") or []
    missing = {"against others, end to end": compared, "against programs by hand": by_hand}
    yield from ((what, "", "", None) for what, there in missing.items() if not there)
    for each in by_hand:
        seconds, auc = each.get("seconds", {}), each["auc"]
        ours, theirs = (np.median(seconds.get(way) or np.nan) for way in ("ours", "hand"))
        share = ours / theirs
        text = f"{share:.2f}, AUC {auc['ours']:.4f} and {auc['hand']:.4f}"
        met = None if np.isnan(share) else bool(share <= MOST_HAND)
        yield f"{each['pipeline']}, our time in that by hand", f"≤ {MOST_HAND}", text, met


def speeds(found: results.Results, device: str) -> Iterator[tuple[str, str, str, bool | None]]:
    """Yield how many times as fast ours is on a table, and whether it is as good."""

    def totals(pipeline: str, variant: str) -> np.ndarray:
        cell = measured(found, pipeline, variant)
        return np.array([run.total for run in cell.runs] if cell else [])

    rows = found.task.rows_train + found.task.rows_test
    for name in (pipeline.name for pipeline in found.pipelines):
        ours = totals(name, device)
        for variant, least in LEAST.items():
            others = totals(name, variant)
            compared = ratio(others, ours) if len(others) and len(ours) else None
            met = compared.value >= least if compared else None
            text = f"{compared.value:.1f}×" if compared else ""
            yield f"{name}, {rows:,} rows, against {variant}", f"{least:g}×", text, met
        parity = cell_parity(found, name, device)
        yield f"{name}, quality parity", "PASS", parity, parity == "PASS"


def bandwidths(given: argparse.Namespace) -> Iterator[str]:
    """Yield what a copy within the device reaches, and what our stages reach of it."""
    copy = read(given, "bandwidth.json")
    if not copy:
        return
    most = 2 * copy["size"] / min(copy["seconds"])
    yield f"| a copy within the device | {most / 1e9:,.1f} | 100% |"
    for each in read(given, "hand.json") or []:
        for stage, least in each["least_bytes"].items() if each.get("stages") else ():
            speed = least / np.median([run.get(stage, np.inf) for run in each["stages"]])
            what = f"{each['pipeline']}, {stage}, {each['rows']:,} rows"
            yield f"| {what} | {speed / 1e9:,.2f} | {speed / most:.1%} |"


def tests_file(given: argparse.Namespace) -> Path:
    """Return the file of the tests' outcomes."""
    return Path(given.out, "tests-strict.jsonl" if given.strict else "tests.jsonl")


def read(given: argparse.Namespace, name: str) -> Any:
    """Return what a program has written; None where it has not run."""
    path = given.out / name
    return json.loads(path.read_text("utf-8")) if path.exists() else None


def said(code: int) -> str:
    """Return in words how a command ended."""
    return "its time was over" if code == OVER else f"exit code {code}"
