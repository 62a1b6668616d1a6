"""What the records of the stages show, against the targets that were set before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, TypeVar
from xml.etree import ElementTree as ET

import msgspec
import numpy as np

from pipeline.benchmark import results
from pipeline.benchmark.results import Results
from pipeline.benchmark.statistics import REFERENCE, cell_parity, measured, ratio
from pipeline.records import Machine
from tools.bench.report import table
from tools.gpu_proof import process
from tools.gpu_proof.bandwidth import Bandwidth
from tools.gpu_proof.copies import Moved
from tools.gpu_proof.duel import Runs
from tools.gpu_proof.record import Ran
from tools.gpu_proof.stages import STAGES, Ask

LEAST = {REFERENCE: 20.0, "accel": 2.0}
"""Variant -> how many times as fast as it ours has to be on the longest table compared."""
MOST_HAND = 1.1
"""Our time in that of the program written by hand."""
MOST_UNBOOKED = 1
"""Bytes a row; copies of single values, as every `bool(x.any())` makes, come to less."""
SPECS = ("boosting", "logistic")
ENDED = {"failure": "failed", "error": "failed", "skipped": "skipped"}
"""What pytest writes of a test -> how it ended; of one that passed it writes nothing."""
NOT_RUN = "not run"
T = TypeVar("T")


class Verdict(NamedTuple):
    """A row of the table; `met` is None where there is nothing to judge."""

    what: str
    wanted: str
    found: str
    met: bool | None


def report(ask: Ask, machine: Machine, ran: Mapping[str, Ran]) -> str:
    """Return the targets, what was found of each, bandwidths and times, as Markdown."""
    gpus = ", ".join(f"{gpu.name}, driver {gpu.driver}" for gpu in machine.gpus) or "no GPU"
    lines = ["# Proof on a GPU", "", f"{gpus}; {machine.cpu}, {machine.cores} cores.", ""]
    if ask.rehearsal:
        lines += ["**A rehearsal on the CPU: it proves nothing of a GPU.**", ""]
    words = {True: "yes", False: "**no**", None: "–"}
    found = [[*verdict[:3], words[verdict.met]] for verdict in verdicts(ask, ran)]
    lines += [table(["what", "wanted", "found", "met"], found, right=(1, 2)), ""]
    if copied := list(_bandwidths(ask)):
        lines += [table(["at least moved", "GB/s", "of a copy's"], copied, right=(1, 2)), ""]
    head = ["stage", "commands", "seconds", "not ended with 0"]
    return "\n".join([*lines, table(head, _times(ran), right=(1, 2))]) + "\n"


def verdicts(ask: Ask, ran: Mapping[str, Ran]) -> Iterator[Verdict]:
    """Yield the targets with what was found."""
    yield _tests(ask, ran)
    yield _strict(_read(ask.file("strict.json"), list[Moved]))
    yield _unbooked(_read(ask.file("copies.json"), list[Moved]))
    tables = (ask.synthetic(rows) / "results.json" for rows in ask.rows)
    if compared := [table for table in tables if table.exists()]:
        yield from _speeds(results.load(compared[-1]), ask)
    else:
        yield Verdict("end to end", "", NOT_RUN, None)
    yield from (
        _hand(pipeline, _read(ask.file(f"hand-{pipeline}.json"), Runs)) for pipeline in SPECS
    )


def _tests(ask: Ask, ran: Mapping[str, Ran]) -> Verdict:
    """Return how many failed; they are met when the tests of every file have run to their end."""
    commands = [step.command for step in STAGES["tests"](ask)]
    ended = [ran.get(str(command)) for command in commands]
    outcomes = [each for command in commands for each in _outcomes(Path(command[-1]))]
    failed, skipped = (outcomes.count(word) for word in ("failed", "skipped"))
    asked = len(outcomes) - skipped
    found = f"{failed} of {asked}, {skipped} skipped" if outcomes else NOT_RUN
    missing = sum(each is None or each.code not in (0, 1) for each in ended)
    found += f", {missing} of {len(ended)} files not run to their end" if missing else ""
    return Verdict("failing `gpu` tests", "0", found, not (failed or missing) if asked else None)


def _outcomes(path: Path) -> list[str]:
    """Return how the tests of a file ended, those that have run again the last time."""
    files = (each for each in (path, path.with_suffix(".again.xml")) if each.exists())
    suites = [next(ET.parse(each).iter("testsuite")) for each in files]  # noqa: S314  # pytest's
    whole = suites[0].get("timestamp", "") if suites else ""
    found: dict[tuple[str | None, str | None], str] = {}
    for case in (case for s in suites if s.get("timestamp", "") >= whole for case in s):
        said = [ENDED[child.tag] for child in case if child.tag in ENDED]
        found[case.get("classname"), case.get("name")] = (said or ["passed"])[0]
    return list(found.values())


def _strict(found: list[Moved] | None) -> Verdict:
    what = "programs of the flights that a run with `host_bytes=0` refuses"
    if found is None:
        return Verdict(what, "0", NOT_RUN, None)
    refused = [f"{each.pipeline}: {each.why}" for each in found if each.why]
    return Verdict(what, "0", "; ".join([f"{len(refused)}", *refused]), not refused)


def _unbooked(found: list[Moved] | None) -> Verdict:
    what, wanted = "bytes a row to the host that are not booked", f"< {MOST_UNBOOKED}"
    beyond = [(each.counted - each.booked) / each.rows for each in found or [] if each.counted]
    if not found or len(beyond) < len(found):
        return Verdict(what, wanted, NOT_RUN, None)
    worst = max(beyond)
    return Verdict(what, wanted, f"{worst:.3f}", min(beyond) >= 0 and worst < MOST_UNBOOKED)


def _speeds(found: Results, ask: Ask) -> Iterator[Verdict]:
    rows = found.task.rows_train + found.task.rows_test
    for pipeline in found.pipelines:
        ours = _totals(found, pipeline.name, ask.device)
        for variant, least in LEAST.items():
            what = f"{pipeline.name}, {rows:,} rows, against {variant}"
            other = _totals(found, pipeline.name, variant)
            compared = ratio(other, ours) if len(other) and len(ours) else None
            if compared is None:
                yield Verdict(what, f"{least:g}×", NOT_RUN, None)
            else:
                yield Verdict(
                    what, f"{least:g}×", f"{compared.value:.1f}×", compared.value >= least
                )
        parity = cell_parity(found, pipeline.name, ask.device)
        yield Verdict(f"{pipeline.name}, quality parity", "PASS", parity, parity == "PASS")


def _totals(found: Results, pipeline: str, variant: str) -> np.ndarray:
    cell = measured(found, pipeline, variant)
    return np.array([run.total for run in cell.runs] if cell else [])


def _hand(pipeline: str, found: Runs | None) -> Verdict:
    what, wanted = f"{pipeline}, our time in that of the program by hand", f"≤ {MOST_HAND}"
    if not (found and found.ours and found.hand):
        return Verdict(what, wanted, NOT_RUN, None)
    value = float(np.median(found.ours) / np.median(found.hand))
    aucs = f"AUC {found.auc_ours:.4f} and {found.auc_hand:.4f}"
    return Verdict(what, wanted, f"{value:.2f}, {aucs}", value <= MOST_HAND)


def _bandwidths(ask: Ask) -> Iterator[list[str]]:
    """Yield what a copy reaches, and what the stages of our runs beside those by hand reach."""
    copy = _read(ask.file("bandwidth.json"), Bandwidth)
    if copy is None:
        return
    most = copy.bytes_a_second
    yield ["a copy within the device", f"{most / 1e9:,.1f}", "100 %"]
    for pipeline in SPECS:
        runs = _read(ask.file(f"hand-{pipeline}.json"), Runs)
        if runs and runs.stages:
            for stage, least in runs.least_bytes.items():
                speed = least / np.median([each.get(stage, np.inf) for each in runs.stages])
                what = f"{pipeline}, {stage}, {runs.rows:,} rows"
                yield [what, f"{speed / 1e9:,.2f}", f"{speed / most:.1%}"]


def _times(ran: Mapping[str, Ran]) -> Iterator[list[str]]:
    for stage in STAGES:
        those = [each for each in ran.values() if each.stage == stage]
        bad = ", ".join(process.said(each.code) for each in those if each.code)
        if those:
            seconds = sum(each.seconds for each in those)
            yield [stage, f"{len(those)}", f"{seconds:,.0f}", bad]


def _read(path: Path, kind: type[T]) -> T | None:
    return msgspec.json.decode(path.read_bytes(), type=kind) if path.exists() else None
