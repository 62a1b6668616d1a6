"""The best score is what the one that knows the truth reaches, and nobody beats it."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from sklearn import metrics
from sklearn.linear_model import LinearRegression

from datasets.synthetic import KINDS, Kind, Recipe, best, truth
from datasets.synthetic.features import clusters
from datasets.synthetic.rows import table
from datasets.synthetic.scores import adjusted_rand, ndcg

ROWS = 100_000


@cache
def estimated(kind: Kind) -> float:
    """Return the best score; its estimate takes most of the time here."""
    return float(best(Recipe(kind))["value"])


def reached(kind: str, start: int) -> float:
    recipe = Recipe(kind)
    known = truth(recipe, start, start + ROWS)
    y = table(recipe, start, start + ROWS)["target"].to_numpy()
    return {
        "binary": lambda: metrics.roc_auc_score(y, known),
        "multiclass": lambda: metrics.accuracy_score(y, known.argmax(axis=1)),
        "regression": lambda: metrics.r2_score(y, known),
        "clusters": lambda: metrics.adjusted_rand_score(y, known),
    }[kind]()


@pytest.mark.quick(1)
@pytest.mark.parametrize("kind", ["binary", "multiclass", "regression", "clusters"])
def test_the_truth_reaches_the_best_score_on_rows_it_was_not_estimated_on(kind) -> None:
    assert reached(kind, 2_000_000) == pytest.approx(estimated(kind), abs=0.006)


@pytest.mark.quick(1)
@pytest.mark.parametrize("kind", KINDS)
def test_there_is_something_to_learn_and_something_left_whatever_the_rows(kind: Kind) -> None:
    assert 0.4 < estimated(kind) < 0.95
    assert best(Recipe(kind, rows=10**9))["value"] == estimated(kind)


def test_probabilities_are_those_of_the_classes() -> None:
    recipe = Recipe("multiclass")
    y = table(recipe, 0, ROWS)["target"].to_numpy()
    chances = truth(recipe, 0, ROWS)
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    np.testing.assert_allclose(np.bincount(y) / ROWS, chances.mean(axis=0), atol=0.005)
    binary = truth(Recipe(), 0, ROWS)
    sure = (binary > 0.7) & (binary < 0.8)
    drawn = table(Recipe(), 0, ROWS)["target"].to_numpy()
    assert drawn[sure].mean() == pytest.approx(binary[sure].mean(), abs=0.015)


def test_a_straight_line_through_the_truth_is_no_better_than_the_truth() -> None:
    recipe = Recipe("regression")
    y = table(recipe, 0, ROWS)["target"].to_numpy()
    line = LinearRegression().fit(truth(recipe, 0, ROWS)[:, None], y)
    assert (line.coef_[0], line.intercept_) == pytest.approx((1, 0), abs=0.05)


def test_noise_columns_tell_nothing_of_the_target() -> None:
    frame = table(Recipe("regression"), 0, ROWS).to_pandas()
    assert abs(frame["number_19"].corr(frame["target"])) < 0.015
    assert abs(frame["number_0"].corr(frame["target"])) > 0.3


def test_ndcg_is_scikit_learns_with_exponential_gains() -> None:
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(40), 25)
    grades, scores = rng.integers(0, 5, 1_000).astype(float), rng.normal(size=1_000)
    expected = [
        metrics.ndcg_score([2 ** grades[groups == g] - 1], [scores[groups == g]], k=10)
        for g in range(40)
    ]
    assert ndcg(grades, scores, groups) == pytest.approx(np.mean(expected))


def test_ranking_by_the_truth_is_better_than_by_a_column() -> None:
    recipe = Recipe("ranking", columns=10)
    rows = table(recipe, 0, 20_000)
    grades, groups = rows["target"].to_numpy().astype(float), rows["query"].to_numpy()
    by_truth = ndcg(grades, truth(recipe, 0, 20_000), groups)
    assert by_truth == pytest.approx(best(recipe)["value"], abs=0.01)
    assert by_truth > ndcg(grades, rows["number_0"].to_numpy().astype(float), groups) + 0.05


def test_adjusted_rand_is_scikit_learns() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, 4, 500), rng.integers(0, 6, 500)
    second[:300] = first[:300]
    assert adjusted_rand(first, second) == pytest.approx(metrics.adjusted_rand_score(first, second))


def test_every_cluster_is_drawn() -> None:
    counts = np.bincount(clusters(Recipe("clusters"), 0, ROWS)) / ROWS
    np.testing.assert_allclose(counts, 1 / 8, atol=0.005)
