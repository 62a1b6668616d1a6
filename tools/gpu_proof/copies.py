"""The flights, strictly on the GPU, by the driver's own count of copied bytes."""

from __future__ import annotations

import argparse
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import msgspec

from pipeline import Accelerated, io, task
from tools.gpu_proof.driver import copies

SPECS = ("logistic", "forest", "boosting")


class Moved(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Bytes that a program moved; the answers themselves have to come to the host."""

    spec: str
    booked: int
    """From the device to the host, by our ledger."""
    fit_to_host: int | None
    """The same in `fit`, by the driver; None where nobody counts, as on the CPU."""
    predict_to_host: int | None
    """The same in the prediction of the test rows."""
    answer_bytes: int
    """Of the predictions."""


def moved(spec: str, device: str, path: Path) -> Moved:
    """Fit one program of the flights and predict, and return what was copied between."""
    counting: Any = copies if device == "cuda" else nullcontext
    found = task.load("flights")
    _, split = found.split(None)
    X, y = io.read(path, found.features, found.target, split.train, device)
    rows, _ = io.read(path, found.features, found.target, split.test, device)
    model = Accelerated(found.specs[spec](0), device=device, host_bytes=0)
    with counting() as learning:
        model.fit(X, y)
    with counting() as answering:
        answers = model.predict_proba(rows)
    return Moved(
        spec=spec,
        booked=model.residency_.to_host_bytes,
        fit_to_host=_to_host(learning),
        predict_to_host=_to_host(answering),
        answer_bytes=int(answers.nbytes),
    )


def _to_host(counted: Counter[str] | None) -> int | None:
    return None if counted is None else counted["DTOH"]


def main() -> None:
    """Write the bytes of all programs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", required=True)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    path = task.load("flights").prepare(Path("data"))
    found = [moved(spec, given.device, path) for spec in SPECS]
    given.out.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=2))


if __name__ == "__main__":
    main()
