"""The record of a comparison: the only source of every report.

``results.json`` holds raw timings and metrics, never a conclusion: ratios and
verdicts are derived from it by :mod:`pipeline.benchmark.judge.verdict`, so that a
reader can derive them anew. Unknown fields, missing fields and wrong types are
refused when a file is read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

import msgspec

from pipeline import records
from pipeline.optional import COMMAND
from pipeline.records import DataInfo, Machine, Movement, PlacementRecord, Source, Usage
from pipeline.records import dumps as dumps
from pipeline.task.cautions.overview import TableSummary
from pipeline.task.scoring import ScoringInfo
from pipeline.task.task import Kind

SCHEMA: Final = "pipeline.results/2"
STAGES = ("read", "preprocess", "copy", "fit", "predict")

Status = Literal["ok", "failed", "skipped"]


class TaskInfo(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is predicted, from which rows and columns, and how it is scored."""

    name: str
    title: str
    target: str
    split: str
    rows_train: int
    rows_test: int
    columns: int
    positive_rate: float | None
    """Share of the positive class in the test rows; None if the task has no positive class."""
    margins: dict[str, float]
    """Metric -> largest absolute difference from the reference that counts as equal."""
    kind: Kind = "binary"
    """The kind of the task."""
    about_target: str = ""
    """The target of the test rows, in words."""
    classes: list[str] = []
    """Names of the classes of the training rows, then of others in the test rows."""
    positive: str = ""
    """The positive class."""
    weight: str = ""
    """The column of row weights."""
    train: str = ""
    """The training rows, as conditions on columns."""
    test: str = ""
    """The test rows, likewise."""


class Protocol(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the runs were timed."""

    seed: int
    repeats: int
    warmups: int
    order: list[str]
    """``"pipeline/variant"`` in the order of the timed runs."""
    clock: str
    """What is timed, in words."""
    isolation: str
    resumed: int = 0
    """Runs taken over from an interrupted comparison."""


class Variant(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One way to run a pipeline."""

    name: str
    title: str
    device: str
    status: Status
    why: str
    """Why it was skipped, or chosen by ``pipeline run``."""


class PipelineInfo(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One scikit-learn program."""

    name: str
    title: str
    code: str
    """As an expression, with each parameter that is not the default."""


class Run(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One timed run, in seconds of wall time."""

    total: float
    stages: dict[str, float]
    """Stage -> seconds: read, preprocess, copy, fit, predict."""
    cpu_seconds: float
    """Processor time of all threads; divided by `total`, the number of busy processors."""
    other_cpu_seconds: float
    """Processor time of other processes meanwhile."""


class Agreement(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Predictions compared with the reference's, over all test rows; None where undefined."""

    max_difference: float | None = None
    mean_difference: float | None = None
    """Mean absolute difference of probabilities, numbers or scores."""
    same_decision: float | None = None
    """Share of rows on the same side of 0.5, or of the same class."""
    adjusted_rand: float | None = None
    """Adjusted Rand index of two clusterings."""
    shared_neighbours: float | None = None
    """Share of nearest neighbours that two embeddings have in common."""


class Interval(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a value lies with 95 % confidence."""

    low: float
    high: float


class CalibrationBin(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Test rows of like probability."""

    rows: int
    weight: float
    """Sum of their weights; their number where rows have none."""
    predicted: float
    """Mean probability of the positive class."""
    positive: float
    """Share of the positive class, 0 to 1."""


class Curve(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A curve over the thresholds of a binary task, thinned to the points that show its shape."""

    x: list[float]
    y: list[float]
    area: float
    """Of all points: roc_auc, or the average precision."""


class Diagnostics(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the predictions of the test rows are right and wrong, by the kind of the task."""

    calibration: list[CalibrationBin] = []
    """Of a binary task: bins of as many rows each, by probability."""
    roc: Curve | None = None
    """Of a binary task: the true positive rate over the false positive rate."""
    precision_recall: Curve | None = None
    """Of a binary task: the precision over the recall."""
    quantiles: dict[str, float] = {}
    """Of a regression: share of the rows -> the residual that so many are below."""
    confusion: list[list[float]] = []
    """Of several classes: true class, in the order of the task's, by predicted class. Empty where
    there are too many classes for a matrix."""


class FilePart(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file beside the record."""

    file: str
    sha256: str
    bytes: int


class Cell(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything measured of one pipeline in one variant."""

    pipeline: str
    variant: str
    status: Status
    why: str
    warmup: Run | None
    """The first run of the process, after imports."""
    runs: list[Run]
    metrics: dict[str, float]
    agreement: Agreement | None
    """Predictions compared with the reference's."""
    peak_rss_bytes: int
    placement: list[PlacementRecord]
    execution_log: list[Movement]
    differences: dict[str, Interval] = {}
    """Metric -> interval of its difference from the reference."""
    noise: dict[str, float] = {}
    """Metric -> range over several seeds; of the reference only."""
    usage: Usage | None = None
    """GPU use, GPU memory and energy of the last timed run."""
    diagnostics: Diagnostics | None = None
    """Where predictions are wrong; None for rankings and clusters."""
    model: FilePart | None = None
    """The checksums of the saved model, if there is one."""
    predictions: FilePart | None = None
    """Predictions of the test rows, if they were kept."""


class Point(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The runs of one pipeline in one variant on a table of another size."""

    pipeline: str
    variant: str
    size: float
    """Up to 1 a share of the task's rows, otherwise a number of rows."""
    rows_train: int
    """0 if no run ended."""
    rows_test: int
    status: Status
    why: str
    runs: list[Run]
    """Without the warm-up."""


class Price(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an hour of this machine costs."""

    per_hour: float
    """Of the whole machine, whatever part of it a run uses."""
    currency: str


class Results(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A comparison; that of ``pipeline run`` has one variant."""

    schema: Literal["pipeline.results/2"]
    created: str
    """ISO 8601, UTC."""
    task: TaskInfo
    data: DataInfo
    machine: Machine
    source: Source
    protocol: Protocol
    variants: list[Variant]
    pipelines: list[PipelineInfo]
    cells: list[Cell]
    points: list[Point] = []
    """Runs on other sizes of the table (``--sizes``)."""
    price: Price | None = None
    """``--price``."""
    cautions: list[str] = []
    """Each as ``severity: text [id]``; the severities are critical, warning and note."""
    baseline: dict[str, float] = {}
    """Metric -> score of scikit-learn's dummy; empty for rankings and clusters."""
    scoring: ScoringInfo = ScoringInfo()
    table: TableSummary | None = None
    """The columns: kinds, missing values, ranges, drift."""

    def cell(self, pipeline: str, variant: str) -> Cell | None:
        """Return the cell of a pipeline and a variant, or None."""
        asked = pipeline, variant
        return next((cell for cell in self.cells if (cell.pipeline, cell.variant) == asked), None)


def load(path: Path) -> Results:
    """Read and validate a results file; see `pipeline.records.load_record`."""
    return records.load_record(path, Results, schema=SCHEMA, command=f"{COMMAND} report TASK")
