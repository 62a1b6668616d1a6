"""Our run of a program beside the one written by hand, in one process, in turns."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from sklearn.metrics import roc_auc_score

from pipeline.benchmark import measure, task
from pipeline.benchmark.rounds import turns
from pipeline.data import read
from pipeline.data.files import parquet_files
from tools.gpu_proof import child
from tools.gpu_proof.hand import ByHand

FLOAT32 = 4


class Runs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Seconds of both ways, from opening the file to predictions on the host, and their AUC."""

    pipeline: str
    rows: int
    ours: list[float]
    hand: list[float]
    auc_ours: float
    auc_hand: float
    stages: list[dict[str, float]]
    """Seconds of the stages of each of our runs."""
    least_bytes: dict[str, int]
    """What a stage has to read or write at least."""


def duel(pipeline: str, path: Path, rows: int, device: str, repeats: int, seed: int = 0) -> Runs:
    """Run both ways in turns of random order, after a warm-up of each."""
    found, stages = task.load("synthetic"), list[dict[str, float]]()
    _, split = found.split(None)
    job = task.Job(task=found.name, pipeline=pipeline, variant=device, path=path, seed=seed)

    def ours() -> tuple[Any, Any]:
        outcome = measure.measure_once(found, found.pipeline(pipeline, seed), job)
        stages.append(outcome.stages)
        return outcome.y_true, outcome.predicted

    ways: dict[str, Callable[[], tuple[Any, Any]]]
    ways = {"ours": ours, "hand": lambda: ByHand(device, seed).run(pipeline, path, split)}
    answers = {name: way() for name, way in ways.items()}
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    # When the time is over, what there is gets written.
    with suppress(KeyboardInterrupt):
        for name in turns(list(ways), repeats, seed):
            start = time.perf_counter()
            ways[name]()
            seconds[name].append(time.perf_counter() - start)
    auc = {name: roc_auc_score(*answer) for name, answer in answers.items()}
    least = least_bytes(found, path, rows, len(answers["ours"][0]))
    return Runs(
        pipeline=pipeline, rows=rows, **seconds, auc_ours=auc["ours"], auc_hand=auc["hand"],
        stages=stages[1:], least_bytes=least,
    )  # fmt: skip


def least_bytes(found: task.Task, path: Path, rows: int, rows_test: int) -> dict[str, int]:
    """Return the bytes of the stages: the table once, a float32 for each column and row."""
    table = sum(read.agree(parquet_files(path), [*found.features, found.target]))
    row = FLOAT32 * len(found.features)
    return {"read": table, "preprocess": table + rows * row, "predict": rows_test * row}


def given_to(given: argparse.Namespace) -> Runs:
    """Return the times of what was asked for."""
    path = task.load("synthetic").prepare(Path("data"), rows=given.rows)
    return duel(given.pipeline, path, given.rows, given.device, given.repeats)


if __name__ == "__main__":
    child.write(given_to, __doc__)
