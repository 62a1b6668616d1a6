"""The runs of one spec by one variant, and the cell of the record that they make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pipeline import provenance
from pipeline.compare import answers
from pipeline.compare import results as record
from pipeline.compare.paired import Metric, differences
from pipeline.compare.statistics import REFERENCE
from pipeline.compare.worker import Report
from pipeline.task import Kind


@dataclass
class Contest:
    """The runs of one spec by one variant, as they come in."""

    spec: str
    variant: str
    kind: Kind = "binary"
    why: str = ""
    warmup: Report | None = None
    reports: list[Report] = field(default_factory=list)
    seeds: list[Report] = field(default_factory=list)
    """Runs of the reference with other seeds, not timed."""

    @property
    def is_reference(self) -> bool:
        """Whether the others can be held to it."""
        return self.variant == REFERENCE and bool(self.reports) and not self.why

    def cell(self, reference: Report | None, metrics: Mapping[str, Metric]) -> record.Cell:
        """Return the record of all runs; the last one's predictions are judged."""
        last = self.reports[-1] if self.reports else self.warmup
        ok = last is not None and not self.why
        rival = last is not None and ok and reference is not None and last is not reference
        return record.Cell(
            spec=self.spec,
            variant=self.variant,
            status="ok" if ok else "failed",
            why=self.why,
            warmup=as_run(self.warmup) if self.warmup else None,
            runs=[as_run(report) for report in self.reports],
            metrics=last.metrics if last and ok else {},
            agreement=self._agreement(last, reference) if last and ok else None,
            peak_rss_bytes=self._peak(),
            placement=provenance.placements(last.placements if last else []),
            residency=provenance.movements(last.residency if last else []),
            differences=_differences(metrics, last, reference) if rival else {},
            trace=last.trace if last else None,
            noise=_noise([*self.reports[-1:], *self.seeds]) if self.seeds else {},
        )

    def _peak(self) -> int:
        """Return the largest peak: each is that of a process, and there may have been several."""
        every = [report for report in (self.warmup, *self.reports) if report]
        return max((report.peak_rss_bytes for report in every), default=0)

    def _agreement(self, report: Report, reference: Report | None) -> record.Agreement | None:
        if reference is None or report is reference:
            return None
        return answers.agreement(report.predicted, reference.predicted, self.kind)


def as_run(report: Report) -> record.Run:
    """Return the record of a run."""
    return record.Run(total=report.total, stages=report.stages, cpu_seconds=report.cpu_seconds)


def _differences(metrics: Mapping[str, Metric], last: Any, reference: Any) -> Any:
    judged = {name: metric for name, metric in metrics.items() if name in last.metrics}
    return differences(judged, last.truth, last.predicted, reference.predicted)


def _noise(reports: Sequence[Report]) -> dict[str, float]:
    """Return how far each metric moves from seed to seed."""
    values = {name: [report.metrics[name] for report in reports] for name in reports[0].metrics}
    return {name: max(found) - min(found) for name, found in values.items()}
