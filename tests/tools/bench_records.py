"""A record of the benchmark with figures that are easy to reckon with."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.benchmark.results import Protocol
from pipeline.records import DataInfo, Machine, Source
from tools.bench import schema

MIB = 2**20


def cell(
    variant: str,
    fit_transform: Sequence[float],
    transform: Sequence[float],
    *,
    difference: float | None = 1e-7,
    why: str = "",
) -> schema.Cell:
    """Return the cell of a variant that took these seconds."""
    runs = [run(fit, again) for fit, again in zip(fit_transform, transform, strict=True)]
    return schema.Cell(
        case="synthetic",
        variant=variant,
        why=why,
        warmup=run(99.0, 99.0),
        runs=runs,
        input_bytes=100 * MIB,
        output_bytes=200 * MIB,
        difference=schema.Difference(fit_transform=difference, transform=difference),
    )


def run(fit_transform: float, transform: float) -> schema.Run:
    """Return a run whose reading took a second."""
    return schema.Run(
        read=1.0,
        fit_transform=fit_transform,
        transform=transform,
        before_bytes=300 * MIB,
        fit_transform_peak_bytes=900 * MIB,
        transform_peak_bytes=800 * MIB,
    )


def memory(*, before: int = 900, peak: int = 1_120, why: str = "") -> schema.Memory:
    """Return a memory measurement, in MiB: 225 are allowed."""
    return schema.Memory(
        variant="ours",
        why=why,
        rows=5_000,
        input_bytes=100 * MIB,
        output_bytes=200 * MIB,
        empty_bytes=800 * MIB,
        before_bytes=before * MIB,
        peak_bytes=peak * MIB,
    )


def results(*cells: schema.Cell, watched: Sequence[schema.Memory] = ()) -> schema.Results:
    """Return a record of these cells."""
    return schema.Results(
        schema=schema.SCHEMA,
        created="2026-01-02T03:04:05+00:00",
        machine=Machine(
            cpu="A processor", cores=2, memory_bytes=2**34, system="Linux", python="3.11",
            packages={"numpy": "2.4.6"}, threads={}, load_before=0.25, gpus=[], no_gpu_why="none",
        ),
        source=Source(commit="0123456789abcdef", dirty=False, command="python -m tools.bench"),
        protocol=Protocol(
            seed=0, repeats=5, warmups=1, order=[], clock="each", isolation="one process each"
        ),
        peaks="each phase",
        cases=[
            schema.Case(
                name="synthetic", title="Made", rows=1_000, columns=30, width=78, code="Spec()",
                files=[DataInfo(path="a", sha256="0", bytes=1, licence="none", source="here")],
            )
        ],
        variants=[
            schema.Variant(name=c.variant, title="T", input="a|b", output="float32", note="")
            for c in cells
        ],
        cells=list(cells),
        memory=list(watched),
    )  # fmt: skip
