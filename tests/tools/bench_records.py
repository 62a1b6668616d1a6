"""A record of a claim with figures that are easy to reckon with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pipeline.benchmark.results import Protocol
from pipeline.records import Machine, Source
from tools.bench import record

MIB = 2**20


def cell(
    variant: str,
    seconds: Mapping[str, Sequence[float]] | None = None,
    *,
    case: str = "synthetic",
    why: str = "",
    held: Mapping[str, int] | None = None,
    **values: float | None,
) -> record.Cell:
    """Return a cell whose runs took these seconds and held these MiB."""
    taken = seconds or {}
    number = len(next(iter(taken.values()), []))
    runs = [
        record.Run(
            seconds={phase: every[i] for phase, every in taken.items()},
            bytes={name: count * MIB for name, count in (held or {}).items()},
        )
        for i in range(number or bool(held))
    ]
    given = {name.replace("_bytes", " bytes"): value for name, value in values.items()}
    return record.Cell(case=case, variant=variant, why=why, runs=runs, values=given)


def results(*cells: record.Cell, **facts: float) -> record.Results:
    """Return a record of these cells; the facts are those of all cases."""
    return record.Results(
        schema=record.SCHEMA,
        created="2026-01-02T03:04:05+00:00",
        machine=Machine(
            cpu="A processor", cores=2, memory_bytes=2**34, system="Linux", python="3.11",
            packages={"numpy": "2.4.6"}, threads={}, load_before=0.25, gpus=[], no_gpu_why="none",
        ),
        source=Source(commit="0123456789abcdef", dirty=False, command="python -m tools.bench"),
        claim="made up",
        settings={"rows": [1_000]},
        protocol=Protocol(
            seed=0, repeats=5, warmups=1, order=[], clock="each", isolation="one process each"
        ),
        cases=[
            record.Case(name=name, code="Spec()", facts={"rows": 1_000, "columns": 30, **facts})
            for name in dict.fromkeys(cell.case for cell in cells)
        ],
        variants=[
            record.Variant(name=name, title=name, input="a|b", output="float32")
            for name in dict.fromkeys(cell.variant for cell in cells)
        ],
        cells=list(cells),
    )  # fmt: skip
