"""Builders of comparisons for the tests; every number is synthetic."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from pipeline import records
from pipeline.benchmark.record.results import (
    Agreement,
    CalibrationBin,
    Cell,
    Curve,
    Diagnostics,
    Interval,
    PipelineInfo,
    Protocol,
    Results,
    Run,
    TaskInfo,
    Variant,
)
from pipeline.benchmark.report.html import page_html
from pipeline.benchmark.report.markdown import page_markdown
from pipeline.benchmark.report.panels import comparison_page
from pipeline.task.scoring import ScoringInfo

SPECS = {"logistic": 4.0, "forest": 21.0, "boosting": 9.0}
FACTORS = {"reference": 1.0, "cpu": 0.42, "cuda": 0.08}
SHARES = {"read": 0.06, "preprocess": 0.34, "copy": 0.0, "fit": 0.48, "predict": 0.1}
STEPS = {
    "columntransformer.simpleimputer": "SimpleImputer",
    "columntransformer.standardscaler": "StandardScaler",
    "columntransformer.onehotencoder": "OneHotEncoder",
    "classifier": "Classifier",
}
HOSTILE = '<script>alert(1)</script> "q" | a\nb `c` *d* _e_ \x1b[31m [f](javascript:g)'
NO_GPU = "the NVIDIA driver is not installed"


def run(total: float, *, copy: float = 0.0) -> Run:
    """Return a run whose stages leave 2 % of the time over."""
    stages = {name: share * total for name, share in SHARES.items()}
    stages["copy"] = copy * total
    return Run(total=total, stages=stages, cpu_seconds=1.9 * total, other_cpu_seconds=0.0)


def cell(pipeline: str, variant: str, totals: list[float]) -> Cell:
    """Return a cell that ran, with the given totals in seconds."""
    reference = variant == "reference"
    agreement = Agreement(max_difference=3e-7, mean_difference=2e-8, same_decision=1.0)
    return Cell(
        pipeline=pipeline,
        variant=variant,
        status="ok",
        why="",
        warmup=run(1.6 * totals[0]),
        runs=[run(total) for total in totals],
        differences={} if reference else {"roc_auc": Interval(low=-1e-4, high=1e-4)},
        usage=usage(variant),
        noise={"roc_auc": 3e-4, "log_loss": 2e-4, "brier": 0.0} if reference else {},
        metrics={"roc_auc": 0.8123, "log_loss": 0.4021 + (0 if reference else 1e-5), "brier": 0.13},
        agreement=None if reference else agreement,
        peak_rss_bytes=1_900_000_000 if reference else 1_200_000_000,
        placement=placement(variant),
        execution_log=[] if reference else execution_log(variant),
        diagnostics=diagnostics(),
    )


def diagnostics() -> Diagnostics:
    """Return those of a binary task: probabilities that are somewhat too high."""
    shares = [0.05 + 0.1 * tenth for tenth in range(10)]
    return Diagnostics(
        calibration=[
            CalibrationBin(rows=6734, weight=6734.0, predicted=share, positive=0.9 * share)
            for share in shares
        ],
        roc=Curve(x=[0.0, 0.2, 1.0], y=[0.0, 0.7, 1.0], area=0.8123),
        precision_recall=Curve(x=[0.0, 0.5, 1.0], y=[1.0, 0.6, 0.25], area=0.6),
    )


def placement(variant: str) -> list[records.PlacementRecord]:
    """Return where the steps of a variant ran; on a GPU, the first stays on the host."""
    library = {"reference": "sklearn", "cpu": "numpy", "cuda": "cuml"}[variant]
    device = "cuda" if variant == "cuda" else "cpu"
    return [
        records.PlacementRecord(
            step=step,
            implementation=f"{library} {name}",
            device="cpu" if index == 0 else device,
            note="strings are imputed on the host" if index == 0 else "",
        )
        for index, (step, name) in enumerate(STEPS.items())
    ]


def execution_log(variant: str) -> list[records.Movement]:
    """Return a execution log; only a GPU moves bytes."""
    moved = 48 * 2**20 if variant == "cuda" else 0
    return [
        records.Movement(
            step=step,
            call=call,
            device="cuda" if variant == "cuda" else "cpu",
            seconds=0.0125,
            to_device_bytes=moved if "scaler" in step else 0,
            to_host_bytes=moved // 64 if step == "classifier" else 0,
            why="what is fitted" if call == "fit" else "the answer",
        )
        for call in ("fit", "predict")
        for step in STEPS
    ]


def usage(variant: str) -> records.Usage:
    """Return what a run took."""
    on_gpu = variant == "cuda"
    part, missing = ("gpu", "processor energy") if on_gpu else ("processor", "gpu")
    return records.Usage(
        gpu_use=0.44 if on_gpu else None,
        gpu_bytes=2**30 if on_gpu else None,
        energy={part: records.Energy(joules=123.0, how="synthetic")},
        not_measured={missing: "synthetic"},
    )


def totals(pipeline: str, variant: str, n: int) -> list[float]:
    """Return n times with 2 % of noise, always the same."""
    random = np.random.default_rng([list(SPECS).index(pipeline), list(FACTORS).index(variant), n])
    base = SPECS[pipeline] * FACTORS[variant]
    return [round(float(t), 6) for t in base * np.exp(random.normal(0, 0.02, n))]


def order(variants: list[str], n: int) -> list[str]:
    """Return rounds of all cells."""
    return [f"{pipeline}/{variant}" for _ in range(n) for pipeline in SPECS for variant in variants]


def normal(n: int = 7) -> Results:
    """Three pipelines, the reference and the CPU; no GPU on the machine."""
    variants = [
        Variant(name="reference", title="plain scikit-learn", device="cpu", status="ok", why=""),
        Variant(name="cpu", title="this pipeline on the CPU", device="cpu", status="ok", why=""),
        Variant(name="cuda", title="this pipeline", device="cuda", status="skipped", why=NO_GPU),
    ]
    names = [v.name for v in variants if v.status == "ok"]
    return Results(
        schema="pipeline.results/2",
        created="2026-01-02T03:04:05Z",
        task=TaskInfo(
            name="flights",
            title="Late arrivals of flights from New York, 2013",
            target="late",
            split="the last two months are the test rows",
            rows_train=260_000,
            rows_test=67_346,
            columns=14,
            positive_rate=0.237,
            margins={"roc_auc": 0.002, "log_loss": 0.002},
        ),
        data=records.DataInfo(
            path="data/flights.parquet",
            sha256="ab" * 32,
            bytes=7_654_321,
            licence="CC0",
            source="Bureau of Transportation Statistics",
        ),
        machine=records.Machine(
            cpu="Example CPU 3000",
            cores=8,
            memory_bytes=32 * 2**30,
            system="Linux 6.1",
            python="3.11.7",
            packages={"numpy": "2.4.6", "pandas": "3.0.6", "scikit-learn": "1.9.1"},
            threads={"OMP_NUM_THREADS": "8", "openblas": "8"},
            load_before=0.12,
            gpus=[],
            no_gpu_why=NO_GPU,
        ),
        source=records.Source(
            commit="0123abc", dirty=False, command="python -m pipeline compare flights"
        ),
        protocol=Protocol(
            seed=0,
            repeats=n,
            warmups=1,
            order=order(names, n),
            clock="reading, preprocessing, copies, fit and predict; not imports",
            isolation="a fresh process for each pipeline and variant",
        ),
        variants=variants,
        pipelines=[
            PipelineInfo(name=s, title=f"{s} on flights", code=f"Pipeline([\n  ('{s}', {s}())\n])")
            for s in SPECS
        ],
        cells=[cell(s, v, totals(s, v, n)) for s in SPECS for v in names],
        cautions=["'distance' is mostly missing."],
        baseline={"roc_auc": 0.5, "log_loss": 0.548, "brier": 0.181},
        scoring=ScoringInfo(signs={"roc_auc": 1, "log_loss": -1, "brier": -1}),
    )


def html_of(results: Results) -> str:
    """Return the page of a comparison."""
    return page_html(comparison_page(results))


def markdown_of(results: Results) -> str:
    """Return the same as Markdown."""
    return page_markdown(comparison_page(results))


def few() -> Results:
    """Three timed runs per cell."""
    return normal(3)


def with_gpu() -> Results:
    """The same with a made-up GPU, on which the smallest pipeline is slower."""
    base = normal()
    variants = [*base.variants[:2], replace(base.variants[2], status="ok", why="")]
    cells = [cell(s, "cuda", totals(s, "cuda", 7)) for s in SPECS]
    slow = [round(1.3 * run.total, 6) for run in base.cells[0].runs]
    cells[0] = cell("logistic", "cuda", slow)
    gpu = records.Gpu(
        name="Synthetic GPU 1",
        memory_bytes=16 * 2**30,
        driver="0.0",
        compute_capability="0.0",
    )
    machine = replace(base.machine, gpus=[gpu], no_gpu_why="")
    protocol = replace(base.protocol, order=order(list(FACTORS), 7))
    cells = [*base.cells, *cells]
    return replace(base, variants=variants, cells=cells, machine=machine, protocol=protocol)


def with_cell(results: Results, pipeline: str, variant: str, **changes: object) -> Results:
    """Return the results with one cell changed."""
    cells = [
        replace(c, **changes) if (c.pipeline, c.variant) == (pipeline, variant) else c
        for c in results.cells
    ]
    return replace(results, cells=cells)


def failed(variant: str = "cpu") -> Results:
    """The forest's cell of one variant failed."""
    return with_cell(
        normal(), "forest", variant, status="failed", why="MemoryError: 3 GiB", runs=[], metrics={}
    )


def parity_failed() -> Results:
    """The CPU's log loss on boosting is off by ten times its margin."""
    return with_cell(normal(), "boosting", "cpu", metrics={"roc_auc": 0.8124, "log_loss": 0.4221})


def with_diagnostics(kind: str, found: Diagnostics, classes: list[str] | None = None) -> Results:
    """The same of another kind of task."""
    base = normal()
    task = replace(base.task, kind=kind, classes=classes or [])
    return replace(base, task=task, cells=[replace(c, diagnostics=found) for c in base.cells])


def of_classes() -> Results:
    """Three classes, one of them with a hostile name."""
    found = Diagnostics(confusion=[[40.0, 2.0, 0.0], [3.0, 50.0, 0.5], [0.0, 0.0, 0.0]])
    return with_diagnostics("multiclass", found, ["a", "b", HOSTILE])


def of_numbers() -> Results:
    """Residuals of numbers."""
    return with_diagnostics("regression", Diagnostics(quantiles={"0": -9.0, "0.5": 0.2, "1": 17.5}))


def hostile() -> Results:
    """Every free text is an attack on HTML, Markdown or a terminal."""
    base = with_gpu()
    names = {s.name: f"{s.name} {HOSTILE}" for s in base.pipelines}
    return replace(
        base,
        created=HOSTILE,
        cautions=[HOSTILE],
        baseline={"roc_auc": 0.9, HOSTILE: 0.9},
        task=replace(base.task, title=HOSTILE, split=HOSTILE, margins={HOSTILE: 0.1}),
        data=replace(base.data, path=HOSTILE, source=HOSTILE),
        machine=replace(base.machine, cpu=HOSTILE, packages={HOSTILE: HOSTILE}),
        source=replace(base.source, command=HOSTILE, commit=HOSTILE),
        protocol=replace(base.protocol, clock=HOSTILE, order=[HOSTILE]),
        variants=[
            replace(v, title=HOSTILE, why=HOSTILE, status="skipped" if v.name == "cpu" else "ok")
            for v in base.variants
        ],
        pipelines=[replace(s, name=names[s.name], code=HOSTILE + "```") for s in base.pipelines],
        cells=[_hostile(c, names[c.pipeline]) for c in base.cells],
    )


def _hostile(cell: Cell, name: str) -> Cell:
    places = [replace(p, note=HOSTILE, implementation=HOSTILE) for p in cell.placement]
    metrics = {**cell.metrics, HOSTILE: 0.5}
    return replace(cell, pipeline=name, placement=places, metrics=metrics)
