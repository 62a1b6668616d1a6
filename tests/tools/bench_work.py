"""What the processes of the bench's tests do; they import this module."""

from __future__ import annotations

import os
import time

from tools.bench import record
from tools.bench.record import Run, Values
from tools.bench.runner import Ask, Turn


def start(ask: Ask, case: record.Case, variant: str) -> Turn:
    """Count the turns of a process; what happens in some of them is the variant's name."""
    made: list[float] = []
    begun = time.monotonic()

    def turn() -> tuple[Run, Values]:
        made.append(len(made) + 1.0)
        if variant == "dies":
            os._exit(3)
        if variant == "fails" and len(made) == 3:
            raise ValueError("no room\nat all")
        if variant == "sleeps":
            time.sleep(60)
        values: Values = {"turn": made[-1], f"turn {len(made)}": float(os.getpid())}
        if variant.startswith("starts"):
            values |= {"started": begun, "first turn": time.monotonic()} if len(made) == 1 else {}
        return Run(seconds={"fit": made[-1]}), values

    return turn
