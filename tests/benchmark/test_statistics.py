"""Numbers derived from a record, checked against definitions and by simulation."""

from __future__ import annotations

import statistics as standard

import numpy as np
import pytest

from pipeline.benchmark.judge.statistics import OTHER, cell_parity, parity, ratio, speed, stages
from pipeline.benchmark.record.results import Interval, Results
from tests.benchmark import fixtures


def totals(results: Results, pipeline: str, variant: str) -> list[float]:
    cell = results.cell(pipeline, variant)
    assert cell is not None
    return [run.total for run in cell.runs]


def test_speed_is_the_order_statistics_of_the_totals() -> None:
    results = fixtures.normal()
    found, values = speed(results, "forest", "cpu"), totals(results, "forest", "cpu")
    assert found is not None
    assert found.n == 7
    assert found.median == standard.median(values)
    assert (found.minimum, found.maximum) == (min(values), max(values))


def test_ratio_is_variant_over_reference_and_lies_in_its_interval() -> None:
    results = fixtures.with_gpu()
    found = speed(results, "logistic", "cuda")
    assert found is not None
    assert found.ratio is not None
    assert found.ratio.interval is not None
    expected = standard.median(totals(results, "logistic", "cuda")) / standard.median(
        totals(results, "logistic", "reference")
    )
    assert found.ratio.value == pytest.approx(expected)
    assert found.ratio.interval[0] <= found.ratio.value <= found.ratio.interval[1]
    assert found.ratio.outcome == "slower"


@pytest.mark.parametrize(
    ("n", "outcome"), [(2, "no verdict"), (3, "no verdict"), (4, "no verdict"), (5, "faster")]
)
def test_of_too_few_runs_nothing_is_said(n: int, outcome: str) -> None:
    found = ratio(np.linspace(1.0, 1.1, n), np.linspace(2.0, 2.1, 9))
    assert found is not None
    assert found.outcome == outcome
    assert (found.interval is None) == (n < 3)


@pytest.mark.quick(2)
@pytest.mark.parametrize(("n", "spikes"), [(5, 0.5), (7, 0.0), (10, 0.5)])
def test_at_equal_speed_a_duel_is_rarely_called_faster(n: int, spikes: float) -> None:
    random = np.random.default_rng(20 + n)

    def sample() -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        late = (random.random(n) < 0.15) * random.exponential(spikes, n)
        return np.exp(random.normal(0, 0.05, n)) * (1 + late)

    outcomes = [found.outcome for _ in range(300) if (found := ratio(sample(), sample()))]
    assert len(outcomes) == 300
    assert outcomes.count("faster") <= 0.05 * 300
    assert outcomes.count("slower") <= 0.05 * 300


def test_stages_and_other_add_up_to_the_median_total() -> None:
    results = fixtures.with_gpu()
    for pipeline in fixtures.SPECS:
        for variant in fixtures.FACTORS:
            found = speed(results, pipeline, variant)
            assert found is not None
            parts = stages(results, pipeline, variant)
            assert sum(parts.values()) == pytest.approx(found.median)
            assert parts[OTHER] == pytest.approx(0.02 * found.median, rel=0.2)


def test_parity_lists_every_metric_and_judges_the_declared_ones() -> None:
    rows = {row.metric: row for row in parity(fixtures.parity_failed(), "boosting", "cpu")}
    assert {name: row.judged for name, row in rows.items()} == {
        "roc_auc": "PASS",
        "log_loss": "FAIL",
        "brier": "no margin",
    }
    assert rows["log_loss"].difference == pytest.approx(0.02)
    assert rows["log_loss"].margin == 0.002
    assert rows["brier"].value is None


@pytest.mark.parametrize(
    ("low", "high", "noise", "judged"),
    [
        (-0.001, 0.0015, 0.0, "PASS"),
        (-0.002, 0.002, 0.0, "PASS"),
        (-0.001, 0.003, 0.0, "INCONCLUSIVE"),
        (-0.003, 0.001, 0.0, "INCONCLUSIVE"),
        (0.0015, 0.01, 0.0, "INCONCLUSIVE"),
        (0.003, 0.01, 0.0, "FAIL"),
        (-0.01, -0.003, 0.0, "FAIL"),
        (0.003, 0.01, 0.005, "INCONCLUSIVE"),
        (0.006, 0.01, 0.005, "FAIL"),
        (-0.001, 0.001, 0.005, "PASS"),
    ],
)
def test_parity_is_judged_by_the_whole_interval(
    low: float, high: float, noise: float, judged: str
) -> None:
    metrics = {"roc_auc": 0.8123, "log_loss": 0.4001 + (low + high) / 2}
    results = fixtures.with_cell(
        fixtures.normal(),
        "forest",
        "cpu",
        metrics=metrics,
        differences={"log_loss": Interval(low=low, high=high)},
    )
    results = fixtures.with_cell(results, "forest", "reference", noise={"log_loss": noise})
    rows = {row.metric: row for row in parity(results, "forest", "cpu")}
    assert rows["log_loss"].judged == judged
    assert cell_parity(results, "forest", "cpu") == judged


@pytest.mark.parametrize(
    ("metrics", "judged"),
    [
        ({"roc_auc": 0.8143, "log_loss": 0.4001}, "PASS"),
        ({"roc_auc": 0.8144, "log_loss": 0.4001}, "FAIL"),
        ({"roc_auc": 0.8123}, "FAIL"),
        ({"roc_auc": float("nan"), "log_loss": 0.4021}, "FAIL"),
    ],
    ids=["at the margins", "beyond one", "without one", "no number"],
)
def test_without_an_interval_the_difference_is_judged(
    metrics: dict[str, float], judged: str
) -> None:
    changes = {"metrics": metrics, "differences": {}}
    results = fixtures.with_cell(fixtures.normal(), "forest", "cpu", **changes)
    assert cell_parity(results, "forest", "cpu") == judged
