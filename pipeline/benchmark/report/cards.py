"""The cards of the report: names beside values, as text."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from pipeline.benchmark.record.results import Results, TaskInfo
from pipeline.records import Gpu, Machine
from pipeline.task.numerals import integer, share, size

MOST_CLASSES = 30
"""Classes that are named."""
Card = list[tuple[str, str]]


def fairness(results: Results) -> Card:
    """Return what is the same for every variant."""
    task, data = results.task, results.data
    return [
        ("Task", f"{task.title} ({task.name}); target {task.target}"),
        ("Data", f"{data.path}, {size(data.bytes)}; {data.source}; {data.licence}"),
        ("SHA-256 of the data", data.sha256),
        ("Split", task.split),
        *([("Rows to train", task.train), ("Rows to test", task.test)] if task.test else []),
        ("Rows", ", ".join(_rows(task))),
        ("Columns", integer(task.columns)),
        ("Target", _target(task)),
        *([("Classes", _classes(task))] if task.classes else []),
        *([("Weights of the rows", task.weight)] if task.weight else []),
        ("Margins", ", ".join(f"{k} ±{v:g}" for k, v in task.margins.items()) or "none declared"),
        ("Seed", str(results.protocol.seed)),
    ]


def _rows(task: TaskInfo) -> Iterator[str]:
    """Yield how many rows each part has, and which."""
    parts = {"train": (task.rows_train, task.train), "test": (task.rows_test, task.test)}
    for part, (count, which) in parts.items():
        yield f"{integer(count)} to {part}" + (f" ({which})" if which else "")


def _target(task: TaskInfo) -> str:
    """Describe the target; records of before there were kinds hold the share alone."""
    if task.positive_rate is None or task.about_target:
        weights = f"; rows are weighted by {task.weight!r}" if task.weight else ""
        return f"{task.kind}: {task.about_target}{weights}"
    return f"{task.kind}: class 1 is {share(task.positive_rate)} of the test rows"


def _classes(task: TaskInfo) -> str:
    named = [f"{name} (positive)" if name == task.positive else name for name in task.classes]
    more = len(named) - MOST_CLASSES
    return ", ".join(named[:MOST_CLASSES]) + (f" and {more} more" if more > 0 else "")


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
