"""The cards of the report: the comparison, the machine, the protocol, the way back."""

from __future__ import annotations

from itertools import groupby

from pipeline.compare.report.format import integer, share, size
from pipeline.compare.report.table import Table, row
from pipeline.compare.results import Results, TaskInfo
from pipeline.records import Gpu

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
