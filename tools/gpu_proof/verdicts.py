"""What the records of the stages show, against the targets that were set before."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, TypeVar
from xml.etree import ElementTree as ET

import msgspec
import numpy as np

from pipeline.compare import results
from pipeline.compare.results import Results
from pipeline.compare.statistics import REFERENCE, cell_parity, measured, ratio
from pipeline.records import Machine
from tools.gpu_proof.bandwidth import Bandwidth
from tools.gpu_proof.copies import Moved
from tools.gpu_proof.duel import Runs
from tools.gpu_proof.stages import Ask

LEAST = {REFERENCE: 20.0, "accel": 2.0}
"""Variant -> how many times as fast as it ours has to be on the longest table."""
MOST_HAND = 1.1
"""Our time in that of the program written by hand."""
NOT_RUN = "not run"
T = TypeVar("T")


class Verdict(NamedTuple):
    """A row of the table; `met` is None where there is nothing to judge."""

    what: str
    wanted: str
    found: str
    met: bool | None


def report(ask: Ask, machine: Machine) -> str:
    """Return the targets, what was found of each, and the bandwidths, as Markdown."""
    gpus = ", ".join(f"{gpu.name}, driver {gpu.driver}" for gpu in machine.gpus) or "no GPU"
    lines = ["# Proof on a GPU", "", f"{gpus}; {machine.cpu}, {machine.cores} cores.", ""]
    if ask.device == "cpu":
        lines += ["**A rehearsal on the CPU: it proves nothing of a GPU.**", ""]
    lines += ["| what | wanted | found | met |", "|---|---:|---:|:-:|"]
    words = {True: "yes", False: "**no**", None: "–"}
    lines += [f"| {v.what} | {v.wanted} | {v.found} | {words[v.met]} |" for v in verdicts(ask)]
    return "\n".join([*lines, "", *_bandwidths(ask)]) + "\n"


def verdicts(ask: Ask) -> Iterator[Verdict]:
    """Yield the targets with what was found."""
    yield _tests(ask.file("tests.xml"))
    yield _copies(ask)
    record = ask.synthetic(ask.rows[-1]) / "results.json"
    if record.exists():
        yield from _speeds(results.load(record), ask)
    else:
        yield Verdict(f"end to end, {ask.rows[-1]:,} rows", "", NOT_RUN, None)
    yield _hand(ask.file("hand.json"))


def _tests(path: Path) -> Verdict:
    what = "failing `gpu` tests"
    if not path.exists():
        return Verdict(what, "0", NOT_RUN, None)
    suites = list(ET.parse(path).getroot().iter("testsuite"))  # noqa: S314  # pytest wrote it
    count = {
        name: sum(int(suite.get(name, 0)) for suite in suites)
        for name in ("tests", "failures", "errors", "skipped")
    }
    failed, ran = count["failures"] + count["errors"], count["tests"] - count["skipped"]
    found = f"{failed} of {ran}, {count['skipped']} skipped"
    return Verdict(what, "0", found, not failed if ran else None)


def _copies(ask: Ask) -> Verdict:
    what = "bytes from device to host while the flights are learnt"
    found = _read(ask.file("copies.json"), list[Moved])
    counts = [each.fit_to_host for each in found or []]
    counted = [count for count in counts if count is not None]
    if not counted or len(counted) < len(counts):
        return Verdict(what, "0", NOT_RUN, None)
    most = max(counted)
    return Verdict(what, "0", f"{most:,}", most == 0)


def _speeds(found: Results, ask: Ask) -> Iterator[Verdict]:
    rows = found.task.rows_train + found.task.rows_test
    for spec in found.specs:
        ours = _totals(found, spec.name, ask.device)
        for variant, least in LEAST.items():
            what = f"{spec.name}, {rows:,} rows, against {variant}"
            other = _totals(found, spec.name, variant)
            compared = ratio(other, ours) if len(other) and len(ours) else None
            if compared is None:
                yield Verdict(what, f"{least:g}×", NOT_RUN, None)
            else:
                yield Verdict(
                    what, f"{least:g}×", f"{compared.value:.1f}×", compared.value >= least
                )
        parity = cell_parity(found, spec.name, ask.device)
        yield Verdict(f"{spec.name}, quality parity", "PASS", parity, parity == "PASS")


def _totals(found: Results, spec: str, variant: str) -> np.ndarray:
    cell = measured(found, spec, variant)
    return np.array([run.total for run in cell.runs] if cell else [])


def _hand(path: Path) -> Verdict:
    what, wanted = "our time in that of the program by hand", f"≤ {MOST_HAND}"
    found = _read(path, Runs)
    compared = ratio(np.array(found.ours), np.array(found.hand)) if found else None
    if found is None or compared is None:
        return Verdict(what, wanted, NOT_RUN, None)
    aucs = f"AUC {found.auc_ours:.4f} and {found.auc_hand:.4f}"
    return Verdict(what, wanted, f"{compared.value:.2f}, {aucs}", compared.value <= MOST_HAND)


def _bandwidths(ask: Ask) -> list[str]:
    found = _read(ask.file("bandwidth.json"), Bandwidth)
    if found is None:
        return []
    copy = found.copied_bytes_a_second
    lines = ["| at least moved | GB/s | of a copy's |", "|---|---:|---:|"]
    lines.append(f"| a copy within the device | {copy / 1e9:,.1f} | 100 % |")
    for each in found.stages:
        speed = each.bytes_a_second
        lines.append(
            f"| {each.stage}, {found.rows:,} rows | {speed / 1e9:,.2f} | {speed / copy:.1%} |"
        )
    return lines


def _read(path: Path, kind: type[T]) -> T | None:
    return msgspec.json.decode(path.read_bytes(), type=kind) if path.exists() else None
