"""The record of a batch of searches, ``tuning.json``: the only source of their page.

It holds each trial as it ran. Values are those of the metric itself: of a loss less is better,
as `TuningProtocol.smaller_is_better` says.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from pipeline import records
from pipeline.benchmark.record.results import FilePart, Interval, PipelineInfo, TaskInfo, Variant
from pipeline.optional import COMMAND
from pipeline.records import DataInfo, Machine, Source
from pipeline.task.scoring import ScoringInfo

TUNING_SCHEMA: Final = "pipeline.tuning/1"
TUNING_FILE: Final = "tuning.json"


class ParameterRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A parameter of a space, by its name in the pipeline; what others wrote is passed over."""

    name: str
    kind: Literal["float", "int", "choice"]
    low: float | None = None
    """Of a number; None of a choice."""
    high: float | None = None
    log: bool = False
    """Whether a number is drawn on a logarithmic scale."""
    step: float | None = None
    choices: list[Any] = []
    """Of a choice: numbers, texts, booleans and null; anything else as code."""
    default: Any = None
    """The value of the pipeline as it is."""


class TrialRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate: what was drawn and what came of it; what other versions have is passed over."""

    number: int
    params: dict[str, Any]
    """Parameter -> value; what is no number, text, boolean or null is code. One that the others
    rule out is left out."""
    state: Literal["complete", "pruned", "failed"]
    reason: str
    """Why it was stopped or failed; empty of a complete one."""
    score: float | None
    """The mean of the folds of a complete trial."""
    folds: list[float]
    """The scores of the folds that were judged, in their order."""
    seconds: float
    """From the start of the search to the end of the trial; the time between a kill and the next
    command does not count."""
    duration: float
    """Of its fits and predictions, which on several workers overlap with those of others."""


class JudgedModel(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A pipeline fitted on all training rows and judged on the test rows, which no search saw."""

    metrics: dict[str, float]
    seconds: float
    """From opening the file to predictions of the test rows."""
    device: str
    code: str
    """As an expression, with each parameter that is not the default."""


class SearchRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The search over the parameters of one pipeline by one variant."""

    pipeline: str
    variant: str
    """``"cpu"`` or ``"cuda"``."""
    ended: str
    """What ended it: "all trials ran", "timeout" or "Ctrl-C"."""
    seconds: float
    """Of searching: what `TuningProtocol.timeout` bounds."""
    trials: list[TrialRecord]
    """In the order of their numbers; those that did not end are left out."""
    default: int | None
    """Number of the trial that is the pipeline as it is; None where the space lacks it."""
    best: int | None
    """Number of the best complete trial; None where there is none."""
    edges: list[str]
    """Sentences that say which values of the best trial lie at an edge of the space."""
    untuned: JudgedModel | None = None
    tuned: JudgedModel | None = None
    differences: dict[str, Interval] = {}
    """Metric -> interval of tuned less untuned over the test rows."""
    model: FilePart | None = None
    """The list of sums of the folder of the tuned model, which ``predict`` takes."""

    def trial(self, number: int | None) -> TrialRecord | None:
        """Return a trial by its number."""
        return next((each for each in self.trials if each.number == number), None)


class TuningProtocol(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the searches were made."""

    seed: int
    trials: int
    """At most, of each search."""
    timeout: float | None
    """Seconds of each search, the same for all variants; None where only trials are counted."""
    metric: str
    """The task's first one, which the searches are about."""
    smaller_is_better: bool
    folds: int
    splitter: str
    """What the training rows are cut by, as code."""
    time: list[str] = []
    """Columns of the time, the first one first, by which the rows are in order; of one time as in
    the file. Empty where the split is not by time."""
    groups: str = ""
    """The column whose groups are not parted; empty where the split is not by groups."""
    prune: bool
    """Whether candidates are stopped that are unlikely to become the best."""
    cluster: str = ""
    """Whose workers ran the trials; empty for this process."""
    workers: int = 1
    interrupted: bool = False
    """Whether Ctrl-C ended the searches."""


class TuningRecord(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A whole batch."""

    schema: Literal["pipeline.tuning/1"]
    created: str
    """ISO 8601, UTC."""
    task: TaskInfo
    data: DataInfo
    machine: Machine
    source: Source
    protocol: TuningProtocol
    variants: list[Variant]
    """``"cpu"`` and ``"cuda"``, with the reason where one was skipped."""
    pipelines: list[PipelineInfo]
    """As they are, untuned."""
    spaces: dict[str, list[ParameterRecord]]
    """Pipeline -> what its search draws from."""
    searches: list[SearchRecord]
    cautions: list[str]
    """What is to be known of the table, its split and the searches before a score is believed."""
    baseline: dict[str, float]
    """Metric -> the value of scikit-learn's dummy, which looks at no column."""
    scoring: ScoringInfo = ScoringInfo()


def load_tuning(path: Path) -> TuningRecord:
    """Read and validate a record; see `pipeline.records.load_record`."""
    return records.load_record(
        path, TuningRecord, schema=TUNING_SCHEMA, command=f"{COMMAND} tune TASK"
    )
