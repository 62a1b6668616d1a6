"""A made-up record with everything that a comparison may have; every number is synthetic."""

from __future__ import annotations

from msgspec.structs import replace

from pipeline.benchmark.record.results import FilePart, Point, Price, Results
from pipeline.task.cautions.overview import ColumnSummary, TableSummary
from pipeline.task.scoring import ScoringInfo
from tests.benchmark import fixtures

STARTS = {"logistic": 0.0, "forest": 1.6, "boosting": 0.6}
"""Seconds that a run on the GPU takes, however few the rows."""
PRICE = Price(per_hour=3.6, currency="EUR")

TABLE = TableSummary(
    rows=9_000,
    sampled=True,
    left_out=3,
    columns=[
        ColumnSummary(name="late", kind="category", missing=0.0, distinct=2, most_frequent="1",
                      share=0.5, drift=0.51),
        ColumnSummary(name="distance", kind="number", missing=0.8, distinct=12_345, low=-0.5,
                      median=900.0, high=1_234_567.0, drift=0.7012,
                      cautions=["mostly-missing", "drift"]),
        ColumnSummary(name="sold", kind="date", missing=0.0, distinct=300, low="2013-01-01",
                      median="2013-06-30", high="2013-12-31"),
        ColumnSummary(name=fixtures.HOSTILE, kind="list<item: int64>", missing=0.0),
    ],
)  # fmt: skip


def everything() -> Results:
    """Return a record with a GPU, sizes and a price."""
    base = with_sizes(fixtures.with_gpu())
    found = replace(
        fixtures.diagnostics(), quantiles={"0": -9.0, "1": 17.5}, confusion=[[40.0, 2.0]] * 2
    )
    part = FilePart(file="logistic.predictions.parquet", sha256="0" * 64, bytes=9)
    base = fixtures.with_cell(
        base, "logistic", "cpu", diagnostics=found, model=part, predictions=part
    )
    scoring = ScoringInfo(signs={"roc_auc": 1}, best={"roc_auc": 1.0}, mute=["drift"])
    return replace(base, price=PRICE, scoring=scoring, table=TABLE)


def hostile() -> Results:
    """Return the same with attacks in every free text."""
    base, full, bad = fixtures.hostile(), everything(), fixtures.HOSTILE
    names = dict(zip(fixtures.SPECS, (pipeline.name for pipeline in base.pipelines), strict=True))
    return replace(
        base,
        points=[replace(p, pipeline=names[p.pipeline], status="ok", why=bad) for p in full.points],
        price=replace(PRICE, currency=bad),
        table=TABLE,
    )


def with_sizes(base: Results | None = None) -> Results:
    """The same with three shares of the rows; what is faster there has a start to pay."""
    base = base or fixtures.normal()
    names = [variant.name for variant in base.variants if variant.status == "ok"]
    points = [
        Point(
            pipeline=pipeline,
            variant=name,
            size=share,
            rows_train=int(260_000 * share),
            rows_test=int(67_346 * share),
            status="ok",
            why="",
            runs=[fixtures.run(_seconds(pipeline, name, share) * (1 + 0.01 * i)) for i in range(5)],
        )
        for pipeline in fixtures.SPECS
        for share in (0.02, 0.1, 0.4)
        for name in names
    ]
    return replace(base, points=points)


def _seconds(pipeline: str, variant: str, share: float) -> float:
    start = STARTS[pipeline] if variant == "cuda" else 0.0
    slow = variant == "cuda" and pipeline == "logistic"
    whole = fixtures.SPECS[pipeline] * (1.3 if slow else fixtures.FACTORS[variant])
    return start + (whole - start) * share
