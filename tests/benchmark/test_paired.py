from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import log_loss, roc_auc_score

from pipeline.benchmark.judge.statistics import differences
from pipeline.task.metrics import fields

METRICS = {"roc_auc": roc_auc_score, "log_loss": log_loss}


def scores(rng: np.random.Generator, n: int, noise: float) -> tuple[np.ndarray, ...]:
    """Return a target and two noisy guesses of its probability, equally good."""
    signal = rng.normal(size=n)
    y_true = (rng.uniform(size=n) < 1 / (1 + np.exp(-signal))).astype(int)
    guesses = (signal + noise * rng.normal(size=n) for _ in range(2))
    return y_true, *(1 / (1 + np.exp(-guess)) for guess in guesses)


@pytest.mark.slow
def test_two_models_that_are_equally_good_are_seldom_told_apart() -> None:
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(200):
        interval = differences({"auc": roc_auc_score}, *scores(rng, 400, 0.5))["auc"]
        covered += interval.low <= 0 <= interval.high
    assert 180 <= covered <= 199, "95 % intervals cover some 190 of 200"


def test_a_model_that_is_worse_is_found_out() -> None:
    y_true, good, _ = scores(np.random.default_rng(2), 4_000, 0.1)
    found = differences(METRICS, y_true, np.full(len(y_true), y_true.mean()), good)
    assert found["roc_auc"].high < -0.1
    assert found["log_loss"].low > 0.05


def test_the_interval_narrows_with_the_rows_and_holds_the_difference() -> None:
    widths = []
    for n in (1_000, 16_000):
        y_true, ours, reference = scores(np.random.default_rng(3), n, 0.5)
        found = differences(METRICS, y_true, ours, reference)["roc_auc"]
        whole = roc_auc_score(y_true, ours) - roc_auc_score(y_true, reference)
        assert (found.low + found.high) / 2 == pytest.approx(whole)
        widths.append(found.high - found.low)
    assert widths[1] < widths[0] / 2


def test_the_rows_of_a_query_are_left_out_together() -> None:
    y_true = fields(target=np.arange(400) % 3, query=np.repeat(np.arange(100), 4))
    seen = []

    def whole(y_true: np.ndarray, scores: np.ndarray) -> float:
        seen.append(set(np.unique(y_true["query"], return_counts=True)[1].tolist()))
        return float(scores.mean())

    scores = np.random.default_rng(0).normal(size=400)
    found = differences({"mean": whole}, y_true, scores, scores + 1)
    assert found["mean"].low == pytest.approx(-1)
    assert all(lengths == {4} for lengths in seen)


def test_the_interval_of_a_mean_is_that_of_its_standard_error() -> None:
    scores = np.random.default_rng(0).normal(size=10_000)
    mean = {"mean": lambda y_true, scores: float(scores.mean())}
    found = differences(mean, np.zeros(10_000), scores, np.zeros(10_000))["mean"]
    assert (found.high - found.low) / 2 == pytest.approx(2.09 * 0.01, rel=0.4)
