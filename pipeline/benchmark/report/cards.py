"""The cards of the report: names beside values, as text."""

from __future__ import annotations

import re
import shlex
from itertools import groupby, pairwise
from pathlib import Path
from typing import NamedTuple

from pipeline.benchmark.judge.verdict import first_metric
from pipeline.benchmark.record.results import Results
from pipeline.optional import COMMAND
from pipeline.records import Machine
from pipeline.task.numerals import beside_dummy, size

MOST_CLASSES = 30
"""Classes that are named."""
_KEPT = "--rows", "--years", "--seed", "--split", "--data-home", "--set"
"""Options of a comparison that say what a pipeline is trained on, or change it."""
Card = list[tuple[str, str]]


class Use(NamedTuple):
    """The pipeline to use, why, the commands that train it and predict, and how to in Python."""

    title: str
    why: str
    commands: str
    code: str


def how_to_use(results: Results, best: str) -> Use | None:
    """Return how to use the best pipeline; None where no pipeline is known to be the best."""
    if not best:
        return None
    name, value = first_metric(results, best) or ("", 0.0)
    rows = f"{results.task.rows_test:,} test rows"
    model = f"runs/{results.task.name}/{best}.model"
    words = shlex.split(re.sub(r"(?<= --)([a-z-]+)=", r"\1 ", results.source.command))
    kept = [word for pair in pairwise(words) if pair[0] in _KEPT for word in pair]
    run = f"{COMMAND} {shlex.join(['run', results.task.name, *kept, '--pipelines', best])}"
    predict = f"{COMMAND} {shlex.join(['predict', model, 'new.csv', 'predictions.csv'])}"
    return Use(
        f"Best pipeline: {best}",
        f"{beside_dummy(name, value, results.baseline)}, on {rows}",
        f"{run}\n{predict}",
        in_python(model),
    )


def in_python(model: str | Path) -> str:
    """Return the lines that predict with a saved model.

    >>> print(in_python("tuned/linear.model"))
    import pipeline
    model = pipeline.load('tuned/linear.model')
    model.predict(new_rows)
    """
    return f"import pipeline\nmodel = pipeline.load({str(model)!r})\nmodel.predict(new_rows)"


def fairness(results: Results) -> Card:
    """Return what is the same for every variant."""
    task, data = results.task, results.data
    rows = {"to train": (task.rows_train, task.train), "to test": (task.rows_test, task.test)}
    counts = (
        f"{n:,} {part}" + (f" ({which})" if which else "") for part, (n, which) in rows.items()
    )
    named = [f"{name} (positive)" if name == task.positive else name for name in task.classes]
    more = f" and {len(named) - MOST_CLASSES} more" if len(named) > MOST_CLASSES else ""
    variants = (f"{v.name}: {v.title}" for v in results.variants if v.status == "ok")
    facts = [
        ("Task", f"{task.title} ({task.name})"),
        ("Data", f"{data.path}, {size(data.bytes)}; {data.source}; {data.licence}"),
        ("SHA-256 of the data", data.sha256),
        ("Split", task.split),
        ("Rows", ", ".join(counts)),
        ("Columns", f"{task.columns:,}"),
        ("Target", ": ".join(filter(None, (f"{task.target}, {task.kind}", task.about_target)))),
        ("Classes", ", ".join(named[:MOST_CLASSES]) + more),
        ("Weights", task.weight),
        ("Margins", ", ".join(f"{k} ±{v:g}" for k, v in task.margins.items()) or "none declared"),
        ("Seed", str(results.protocol.seed)),
        ("Variants", "; ".join(variants)),
    ]
    return [(name, value) for name, value in facts if value]


def protocol(results: Results) -> Card:
    """Return how the runs were timed, and in which order."""
    plan = results.protocol
    streak = max((len(list(group)) for _, group in groupby(plan.order)), default=0)
    kind = "interleaved" if streak == 1 else f"up to {streak} of one kind in a row"
    return [
        ("Inside the clock", plan.clock),
        ("Isolation", plan.isolation),
        ("Warm-ups", f"{plan.warmups} per pipeline and variant, not counted"),
        ("Timed runs", f"{plan.repeats} per pipeline and variant"),
        ("Order", f"{len(plan.order)} runs, {kind}: {', '.join(plan.order)}"),
    ]


def machine_line(host: Machine) -> str:
    """Return the machine in one line.

    >>> host = Machine(
    ...     cpu="CPU 1", cores=8, memory_bytes=2**34, system="", python="", packages={}, threads={},
    ...     load_before=0.0, gpus=[], no_gpu_why="",
    ... )
    >>> machine_line(host)
    'CPU 1, 8 logical processors, 16.0 GiB'
    """
    every = host.cpu, f"{host.cores} logical processors", size(host.memory_bytes)
    return ", ".join([*every, *(gpu.name for gpu in host.gpus)])


def machine_rows(host: Machine) -> Card:
    """Return what describes a machine."""
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
        *([("GPU", gpus)] if gpus else []),
    ]


def reproduction(results: Results) -> Card:
    """Return which code ran, and when."""
    source = results.source
    state = "with changes that no commit holds" if source.dirty else "clean working tree"
    known = " " not in source.commit
    return [
        ("Commit", f"{source.commit}, {state}" if known else source.commit),
        ("Created", results.created),
        ("Record", f"results.json, schema {results.schema}"),
    ]
