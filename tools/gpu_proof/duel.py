"""Our run of a program beside the one written by hand, in one process, in turns."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from sklearn.metrics import roc_auc_score

from pipeline import measure, task
from pipeline.compare.turns import turns
from tools.gpu_proof.hand import ByHand

SPEC = "boosting"


class Runs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Seconds of both ways, from opening the file to predictions on the host, and their AUC."""

    rows: int
    ours: list[float]
    hand: list[float]
    auc_ours: float
    auc_hand: float


def duel(path: Path, rows: int, device: str, repeats: int, seed: int = 0) -> Runs:
    """Run both ways in turns of random order, after a warm-up of each."""
    found = task.load("synthetic")
    _, split = found.split(None)
    job = measure.Job(task=found.name, spec=SPEC, variant=device, path=path, seed=seed)

    def ours() -> tuple[Any, Any]:
        outcome = measure.run(found, found.spec(SPEC, seed), job)
        return outcome.truth, outcome.predicted

    ways: dict[str, Callable[[], tuple[Any, Any]]]
    ways = {"ours": ours, "hand": lambda: ByHand(device, seed).run(path, split)}
    auc = {name: roc_auc_score(*way()) for name, way in ways.items()}
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for name in turns(list(ways), repeats, seed):
        start = time.perf_counter()
        ways[name]()
        seconds[name].append(time.perf_counter() - start)
    return Runs(rows=rows, auc_ours=auc["ours"], auc_hand=auc["hand"], **seconds)


def main() -> None:
    """Write the seconds of both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rows", type=int, required=True)
    parser.add_argument("--repeats", type=int, required=True)
    given = parser.parse_args()
    path = task.load("synthetic").prepare(Path("data"), rows=given.rows)
    found = duel(path, given.rows, given.device, given.repeats)
    given.out.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=2))


if __name__ == "__main__":
    main()
