from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from pipeline.benchmark import compare
from pipeline.benchmark.compare import Comparison
from pipeline.benchmark.record.results import Results
from pipeline.benchmark.run import measure, rounds, variants
from pipeline.benchmark.run.resume import FinishedRuns
from pipeline.benchmark.run.worker import RunReport, WorkerFailed
from pipeline.errors import DeviceUnavailable, PipelineError
from pipeline.system import devices
from pipeline.task.task import Job
from tasks.flights import TASK
from tests.benchmark import fixtures

TRUTH = np.array([0, 1, 1, 0])
REFERENCE = np.array([0.2, 0.7, 0.4, 0.5])
OTHER = np.array([0.2, 0.8, 0.6, 0.5])


OTHERS = ("cuda", "intelex", "accel")


class FakeWorker:
    """A worker that answers at once; its runs are counted, and fail where they are told to."""

    failures: ClassVar[dict[str, int]] = {}
    alive: ClassVar[list[str]] = []
    most_alive: ClassVar[list[int]] = []

    def __init__(self, job: Job) -> None:
        self.job, self.name, self.runs = job, f"{job.pipeline}/{job.variant}", 0
        self.alive.append(self.name)
        self.most_alive.append(len(self.alive))

    def __enter__(self) -> FakeWorker:
        return self

    def __exit__(self, *exc: object) -> None:
        self.alive.remove(self.name)

    def run(self, seed: int | None = None) -> RunReport:
        self.runs += 1
        if self.failures.get(self.name) == self.runs:
            raise WorkerFailed(f"{self.name} fails in run {self.runs}")
        probability = REFERENCE if self.job.variant == "reference" else OTHER
        if seed is not None:
            probability = probability[[1, 0, 3, 2]]
        return RunReport(
            total=float(self.runs),
            stages={"fit": self.runs / 2},
            metrics={"roc_auc": float(roc_auc_score(TRUTH, probability))},
            rows_train=9,
            y_true=TRUTH,
            predicted=probability,
            placements=[],
            execution_log=[],
            peak_rss_bytes=1000 + self.runs,
            threads={"openblas": "2"},
            cpu_seconds=2.0 * self.runs,
            other_cpu_seconds=0.0,
            usage=fixtures.usage("cpu"),
            work={"trees": "9"},
            classes=np.array([0, 1]),
        )


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is tested must not depend on the machine."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setattr(variants, "available", lambda package: False)


@pytest.fixture
def measured(
    monkeypatch: pytest.MonkeyPatch, small_flights: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Results]:
    """Measure with fake workers; `failures` maps a cell to the run that fails in it."""
    monkeypatch.setattr(rounds, "WorkerProcess", FakeWorker)
    monkeypatch.setattr(FakeWorker, "most_alive", [])

    def run(failures: dict[str, int] | None = None, seed: int = 0, **options: Any) -> Results:
        monkeypatch.setattr(FakeWorker, "failures", failures or {})
        job, say = Job("flights", "", "", small_flights, seed=seed), options.pop("say", str)
        options = {"pipelines": ["logistic", "forest"], "repeats": 4, **options}
        return Comparison(TASK, job, **options).measure(
            say, FinishedRuns(tmp_path_factory.mktemp("runs") / "runs", {})
        )

    return run


@pytest.fixture(scope="module")
def real(
    small_flights: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Results, list[str]]:
    """Measure one pipeline with real processes; return the record and what was said."""
    lines: list[str] = []
    job = Job("flights", "logistic", "cpu", small_flights)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CUDA_VISIBLE_DEVICES", "")
        found = Comparison(TASK, job, ["logistic"], repeats=2).measure(
            lines.append, FinishedRuns(tmp_path_factory.mktemp("runs") / "runs", {})
        )
    return found, lines


def test_metrics_and_agreement_can_be_recomputed(
    real: tuple[Results, list[str]], small_flights: Path
) -> None:
    record, lines = real
    assert [line for line in lines if "warm-up" in line] == lines[:2]
    for cell in record.cells:
        assert (cell.status, len(cell.runs), record.protocol.repeats) == ("ok", 2, 2)
        assert cell.warmup not in (None, *cell.runs)
        assert all(0 < sum(run.stages.values()) <= run.total for run in cell.runs)
        assert cell.peak_rss_bytes > 2**26
    job = Job("flights", "logistic", "reference", small_flights)
    reference = measure.measure_once(TASK, TASK.pipeline("logistic", 0), job)
    cpu = measure.measure_once(
        TASK, TASK.pipeline("logistic", 0), Job("flights", "", "cpu", small_flights)
    )
    ours, theirs = cpu.predicted["prediction"], reference.predicted["prediction"]
    apart, same = np.abs(ours - theirs), (ours > 0.5) == (theirs > 0.5)
    first, second = record.cells
    assert record.task.rows_train + record.task.rows_test == 6067
    assert record.data.bytes == small_flights.stat().st_size
    assert record.machine.threads, "thread pools as the workers had them"
    assert first.agreement is None
    assert second.agreement is not None
    assert second.agreement.max_difference == pytest.approx(apart.max(), rel=1e-3)
    assert second.agreement.mean_difference == pytest.approx(apart.mean(), rel=1e-3)
    assert second.agreement.same_decision == pytest.approx(same.mean())
    assert first.metrics == pytest.approx(measure.judge_outcome(TASK, reference))
    assert second.metrics == pytest.approx(measure.judge_outcome(TASK, cpu))


def test_a_gpu_takes_part_where_there_is_one(measured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "obstacle", lambda: "")
    monkeypatch.setattr(compare.environment.gpu, "probe", lambda: devices.gpu.Probe())
    record = measured(pipelines=["logistic"])
    assert [cell.variant for cell in record.cells] == ["reference", "cpu", "cuda"]
    assert Counter(record.protocol.order) == {
        f"logistic/{name}": 4 for name in ("reference", "cpu", "cuda")
    }


def test_a_gpu_that_is_absent_is_skipped_unless_it_is_asked_for(measured) -> None:
    record = measured()
    status = {variant.name: variant.status for variant in record.variants}
    assert status == dict.fromkeys(("reference", "cpu"), "ok") | dict.fromkeys(OTHERS, "skipped")
    assert not [cell for cell in record.cells if cell.variant == "cuda"]
    with pytest.raises(DeviceUnavailable, match="needs a usable NVIDIA GPU"):
        measured(device="cuda")


def test_every_round_has_every_variant_once_in_an_order_that_the_seed_fixes(measured) -> None:
    order, same, other = (measured(seed=seed, repeats=10).protocol.order for seed in (0, 0, 1))
    assert order == same != other
    assert len(order) == 2 * 2 * 10
    for pipeline, turns in (("logistic", order[:20]), ("forest", order[20:])):
        pair = {f"{pipeline}/reference", f"{pipeline}/cpu"}
        rounds = [turns[start : start + 2] for start in range(0, 20, 2)]
        assert all(set(names) == pair for names in rounds)
        assert len({tuple(names) for names in rounds}) == 2, "not always in the same order"


def test_runs_are_in_order_and_only_one_pipeline_is_in_memory(measured) -> None:
    record = measured()
    for cell in record.cells:
        assert cell.warmup is not None
        assert (cell.warmup.total, [run.total for run in cell.runs]) == (1.0, [2.0, 3.0, 4.0, 5.0])
        assert cell.peak_rss_bytes == 1005, "the peak of the whole process"
        assert cell.noise == ({"roc_auc": 0.5} if cell.variant == "reference" else {})
    assert max(FakeWorker.most_alive) == 2
    assert FakeWorker.alive == []


def test_a_variant_that_fails_later_keeps_its_times_and_claims_nothing(measured) -> None:
    record = measured({"logistic/cpu": 3, "forest/reference": 1})
    failed = record.cell("logistic", "cpu")
    assert (failed.status, failed.why) == ("failed", "logistic/cpu fails in run 3")
    assert [run.total for run in failed.runs] == [2.0]
    assert (failed.metrics, failed.agreement) == ({}, None)
    assert record.protocol.order.count("logistic/cpu") == 2, "no further turn after the failure"
    assert record.protocol.order.count("logistic/reference") == 4
    assert record.cell("forest", "reference").warmup is None
    assert "forest/reference" not in record.protocol.order
    alone = record.cell("forest", "cpu")
    assert (alone.status, alone.agreement) == ("ok", None), "there is no reference"


def test_when_nothing_succeeds_there_is_no_record(measured) -> None:
    cells = [
        f"{pipeline}/{name}" for pipeline in ("logistic", "forest") for name in ("reference", "cpu")
    ]
    with pytest.raises(PipelineError, match="no run succeeded: logistic/reference fails") as caught:
        measured(dict.fromkeys(cells, 1))
    assert caught.value.exit_code == 70


def test_each_run_has_a_line(measured) -> None:
    lines: list[str] = []
    measured({"forest/cpu": 3}, say=lines.append, pipelines=["forest"], repeats=3)
    assert lines[:2] == ["forest  reference  warm-up  1.00 s", "forest  cpu  warm-up  1.00 s"]
    assert "forest  cpu  2/3 failed: forest/cpu fails in run 3" in lines
    assert lines[-2:] == [f"forest  reference  seed {n}  {n + 4}.00 s" for n in (1, 2)]
