"""Tables for the docs of what `make gpu-proof` measured, each from a folder of records."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.benchmark.judge.statistics import REFERENCE, Speed, cell_parity, speed
from pipeline.benchmark.record import results
from pipeline.task.numerals import MISSING
from tools.bench.report import table
from tools.gpu_proof.__main__ import read

PHASES = ["read", "preprocess", "fit", "predict"]


def reports(folder: Path) -> str:
    """Return the times of the comparisons."""
    rows, told = [], []
    for path in sorted(folder.glob("*-gpu/results.json")):
        found = results.load(path)
        for pipeline in found.pipelines:
            for variant in found.variants:
                if timed := speed(found, pipeline.name, variant.name):
                    quality = cell_parity(found, pipeline.name, variant.name)
                    judged = MISSING if variant.name == REFERENCE else quality
                    names = [found.task.name, pipeline.name, variant.name]
                    rows.append([*names, *_times(timed), judged])
        here, data = found.machine, found.task
        gpus = ", ".join(gpu.name for gpu in here.gpus)
        told.append(
            f"- [{data.name}, {', '.join(each.name for each in found.pipelines)}]"
            f"(results/{path.parent.name}/report.md): {data.rows_train:,} training and "
            f"{data.rows_test:,} test rows; medians of {found.protocol.repeats} interleaved runs; "
            f"{here.cpu}, {here.cores} cores, {gpus}; {found.created[:10]}"
        )
    head = ["task", "pipeline", "variant", "s", "ratio", "95 % interval", "quality"]
    shown = "\n".join([table(head, rows, right=(3, 4)), "", *told])
    return shown if rows else _unmeasured("report")


def _times(timed: Speed) -> list[str]:
    """Return the seconds, their ratio to the reference's, and its interval."""
    ratio = timed.ratio
    ends = "–".join(f"{end:.2f}" for end in (ratio and ratio.interval) or ())
    return [f"{timed.median:.2f}", f"{ratio.value:.2f}" if ratio else MISSING, ends or MISSING]


def hand(folder: Path) -> str:
    """Return the times beside those of a program written by hand, by phase, and the rates."""
    found = _found(folder, "hand")
    ended = [size for size in found.get("sizes", ()) if size["runs"]["hand"]]
    if not ended:
        return _unmeasured("hand")
    rows = []
    for size in ended:
        for way, runs in size["runs"].items():
            whole = float(np.median([sum(run.values()) for run in runs]))
            seconds = [f"{each:.3f}" for each in (*_medians(runs).values(), whole)]
            rows.append([f"{size['rows']:,}", way, *seconds, f"{size['auc'][way]:.4f}"])
    head = ["rows", "program", *(f"{phase}, s" for phase in PHASES), "all, s", "AUC"]
    size = ended[-1]
    runs, tested = size["runs"]["ours"], size["rows_test"] / size["rows"]
    # Rows of training and of the test are in every row group, so each is read twice.
    moved = {"read": 2 * size["parquet_bytes"], "preprocess": size["table_bytes"]}
    moved["predict"] = size["table_bytes"] * tested
    speeds = {f"copies {name}": each for name, each in found["bandwidth"].items()}
    speeds |= {f"ours: {name}": moved[name] / _medians(runs)[name] / 1e9 for name in moved}
    rates = table(["what", "GB/s"], [[name, f"{each:.2f}"] for name, each in speeds.items()], [1])
    return (
        f"{table(head, rows, right=range(2, 8))}\n\nMedians of {len(runs)} runs in turns; "
        f"{_where(folder, 'hand')}.\n\n{rates}\n\nOurs on {size['rows']:,} rows: bytes of the "
        "columns in the file when reading, else of the table that pandas makes of them."
    )


def _medians(runs: list[dict[str, float]]) -> dict[str, float]:
    return {phase: float(np.median([run[phase] for run in runs])) for phase in PHASES}


def sizes(folder: Path) -> str:
    """Return from which size on a GPU is worth it, by families of estimators."""
    if not (found := _found(folder, "sizes")):
        return _unmeasured("sizes")
    rows = []
    for name, each in found["families"].items():
        cells = [each["gpu_from_cells"], each["cpu_second_cells"]]
        worth, second = (f"{n:,}" if n else MISSING for n in cells)
        last = each["sizes"][-1:]
        largest = [f"{size['cells']:,}" for size in last] or [MISSING]
        seconds = [f"{size[way]:.3f}" for size in last for way in ("cpu", "gpu")] or [MISSING] * 2
        second += " (extrapolated)" * each["extrapolated"]
        shown = f"`{each['estimator']}`" + f" (failed: {each['error']})" * bool(each["error"])
        rows.append([name, shown, worth, second, *largest, *seconds])
    head = ["family", "measured", "GPU as fast from", "CPU takes 1 s at", "largest", "CPU, s"]
    return (
        f"{table([*head, 'GPU, s'], rows, right=range(2, 7))}\n\nThe first three numbers are of "
        "cells, or of texts. Tables of 50 columns on the host, from where they are copied each "
        f"time; the fastest of two or three runs after a first one; {_where(folder, 'sizes')}."
    )


def _found(folder: Path, work: str) -> dict[str, Any]:
    """Return what a work has measured on a GPU; empty if it has not."""
    on_gpu = read(folder / "gpu-proof", work).get("device") == "cuda"
    return read(folder / "gpu-proof", f"{work}-found") if on_gpu else {}


def _where(folder: Path, work: str) -> str:
    """Return the machine that a work ran on."""
    record = read(folder / "gpu-proof", work)
    here, gpus = record["machine"], record["gpu"]["devices"]
    return f"{here['cpu']}, {here['cores']} cores, {', '.join(each['name'] for each in gpus)}"


def _unmeasured(stage: str) -> str:
    return (
        f"This was not measured on a GPU: `make gpu-proof ARGS='--stages {stage}'` measures it, "
        "and `.venv/bin/python -m tools.docs` writes the tables here."
    )


PARTS: dict[str, Callable[[Path], str]] = {"reports": reports, "hand": hand, "sizes": sizes}
"""Name -> what makes the part of the folder ``docs/results``."""
