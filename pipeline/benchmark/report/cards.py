"""The cards of the report: names beside values, as text."""

from __future__ import annotations

from itertools import groupby

from pipeline.benchmark.record.results import Results
from pipeline.records import Machine
from pipeline.task.numerals import size

MOST_CLASSES = 30
"""Classes that are named."""
Card = list[tuple[str, str]]


def fairness(results: Results) -> Card:
    """Return what is the same for every variant."""
    task, data = results.task, results.data
    rows = {"to train": (task.rows_train, task.train), "to test": (task.rows_test, task.test)}
    counts = (
        f"{n:,} {part}" + (f" ({which})" if which else "") for part, (n, which) in rows.items()
    )
    named = [f"{name} (positive)" if name == task.positive else name for name in task.classes]
    more = f" and {len(named) - MOST_CLASSES} more" if len(named) > MOST_CLASSES else ""
    variants = (
        f"{v.name}: {v.title} on {v.device}, {v.status}" + (f", {v.why}" if v.why else "")
        for v in results.variants
    )
    facts = [
        ("Task", f"{task.title} ({task.name})"),
        ("Data", f"{data.path}, {size(data.bytes)}; {data.source}; {data.licence}"),
        ("SHA-256 of the data", data.sha256),
        ("Split", task.split),
        ("Rows", ", ".join(counts)),
        ("Columns", f"{task.columns:,}"),
        ("Target", ": ".join(filter(None, (f"{task.target}, {task.kind}", task.about_target)))),
        ("Classes", ", ".join(named[:MOST_CLASSES]) + more),
        ("Weights of the rows", task.weight),
        ("Margins", ", ".join(f"{k} ±{v:g}" for k, v in task.margins.items()) or "none declared"),
        ("Seed", str(results.protocol.seed)),
        ("What differs", "; ".join(variants)),
    ]
    return [(name, value) for name, value in facts if value]


def protocol(results: Results) -> Card:
    """Return how the runs were made, and in which order."""
    plan = results.protocol
    streak = max((len(list(group)) for _, group in groupby(plan.order)), default=0)
    kind = "interleaved" if streak == 1 else f"up to {streak} of one cell in a row"
    return [
        ("Inside the clock", plan.clock),
        ("Isolation", plan.isolation),
        ("Warm-ups", f"{plan.warmups} per cell, not counted"),
        ("Timed runs", f"{plan.repeats} per cell"),
        ("Order", f"{len(plan.order)} runs, {kind}: {', '.join(plan.order)}"),
    ]


def machine_line(host: Machine) -> str:
    """Return what something ran on, in one line.

    Examples
    --------
    >>> host = Machine(
    ...     cpu="CPU 1", cores=8, memory_bytes=2**34, system="", python="", packages={}, threads={},
    ...     load_before=0.0, gpus=[], no_gpu_why="",
    ... )
    >>> machine_line(host)
    'CPU 1, 8 logical processors, 16.0 GiB, no GPU'
    """
    gpus = ", ".join(gpu.name for gpu in host.gpus) or "no GPU"
    return f"{host.cpu}, {host.cores} logical processors, {size(host.memory_bytes)}, {gpus}"


def machine_rows(host: Machine) -> Card:
    """Return what something ran on."""
    threads = ", ".join(f"{name} = {value}" for name, value in host.threads.items())
    gpus = "; ".join(
        f"{gpu.name}, {size(gpu.memory_bytes)}, driver {gpu.driver}, "
        f"compute capability {gpu.compute_capability}"
        for gpu in host.gpus
    )
    return [
        ("Processor", host.cpu),
        ("Logical processors", str(host.cores)),
        ("Threads", threads or "not recorded"),
        ("Memory", size(host.memory_bytes)),
        ("Load before the first run", f"{host.load_before:.2f} (one-minute average)"),
        ("System", host.system),
        ("Python", host.python),
        ("Packages", ", ".join(f"{name} {version}" for name, version in host.packages.items())),
        ("GPU", gpus or f"none used: {host.no_gpu_why or 'not said'}"),
    ]


def reproduction(results: Results) -> Card:
    """Return which code ran, and when."""
    source = results.source
    state = "with changes that no commit holds" if source.dirty else "clean working tree"
    return [
        ("Commit", f"{source.commit}, {state}"),
        ("Made", results.created),
        ("Record", f"results.json, schema {results.schema}"),
    ]
