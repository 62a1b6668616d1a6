"""Tables for the docs of reports, and of what `make gpu-proof` measured, each from a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pipeline.benchmark.judge.statistics import REFERENCE, cell_parity, speed
from pipeline.benchmark.record import results
from pipeline.task.numerals import MISSING
from tools.bench.report import speed as pace
from tools.bench.report import table
from tools.gpu_proof.__main__ import read

PHASES = ["read", "preprocess", "fit", "predict"]


def reports(folder: Path, which: str = "*-gpu") -> str:
    """Return the times of the comparisons of a pattern, against the reference."""
    rows, machines = [], []
    for path in sorted(folder.glob(f"{which}/results.json")):
        found = results.load(path)
        for pipeline in found.pipelines:
            for variant in found.variants:
                timed = speed(found, pipeline.name, variant.name)
                if timed and timed.ratio and variant.name != REFERENCE:
                    quality = cell_parity(found, pipeline.name, variant.name)
                    names = [f"{found.task.name}, {pipeline.name}", f"`{variant.name}`"]
                    rows.append([*names, f"{timed.median:.2f}", pace(timed.ratio), quality])
        here, data = found.machine, found.task
        gpus = "".join(f", {gpu.name}" for gpu in here.gpus)
        machines.append(
            f"- [{data.name}](results/{path.parent.name}/report.md): {data.rows_train:,} training "
            f"and {data.rows_test:,} test rows; medians of {found.protocol.repeats} interleaved "
            f"runs; {here.cpu}, {here.cores} cores, load {here.load_before:.1f} before the first "
            f"run{gpus}; {found.created[:10]}"
        )
    head = ["pipeline", "variant", "seconds", "against scikit-learn", "quality"]
    shown = "\n".join([table(head, rows, right=(2,)), "", *machines])
    return shown if rows else _unmeasured("report")


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
    copies = ", ".join(f"{each:.1f} {name}" for name, each in found["bandwidth"].items())
    ours = ", ".join(f"{name} {moved[name] / _medians(runs)[name] / 1e9:.1f}" for name in moved)
    return (
        f"{table(head, rows, right=range(2, 8))}\n\nMedians of {len(runs)} alternating runs; "
        f"{_where(folder, 'hand')}.\n\nCopies, in GB/s: {copies}. Ours on {size['rows']:,} rows: "
        f"{ours}, in bytes of the file's columns when reading, else of the pandas table."
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
        "values (rows times columns), or of texts. Tables of 50 columns, copied from the host each "
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
        f"Not measured on a GPU yet: run `make gpu-proof ARGS='--stages {stage}'`, then "
        "`.venv/bin/python -m tools.docs`."
    )
