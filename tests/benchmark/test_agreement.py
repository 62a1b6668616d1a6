"""Answers of the kinds of task, from their comparison to what the report says of them."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.benchmark.judge import agreement as answers
from pipeline.task.metrics import fields


def test_numbers_are_compared_in_their_unit() -> None:
    found = answers.agreement(np.array([1.0, 5.0]), np.array([1.5, 3.0]), "regression")
    assert (found.max_difference, found.mean_difference) == (2.0, 1.25)


def test_probabilities_decide_at_a_half() -> None:
    found = answers.agreement(np.array([0.4, 0.6]), np.array([0.45, 0.5]), "binary")
    assert found.same_decision == 0.5


def test_classes_with_probabilities_are_compared_by_both() -> None:
    one = fields(prediction=[0, 1], probability=[[0.9, 0.1], [0.4, 0.6]])
    other = fields(prediction=[0, 0], probability=[[0.8, 0.2], [0.5, 0.5]])
    found = answers.agreement(one, other, "multiclass")
    assert found.max_difference == pytest.approx(0.1)
    assert found.same_decision == 0.5
    bare = answers.agreement(np.array([0, 1]), other, "multiclass")
    assert (bare.max_difference, bare.same_decision) == (None, 0.5)


def test_clusters_of_other_numbers_are_the_same_clusters() -> None:
    one = np.array([0, 0, 1, 1, 2, 2])
    assert answers.agreement(one, 7 - one, "clusters").adjusted_rand == 1.0
    assert answers.agreement(one, np.array([0, 1, 0, 1, 0, 1]), "clusters").adjusted_rand < 0.1


def test_an_embedding_that_is_turned_is_the_same_embedding() -> None:
    points = np.random.default_rng(0).normal(size=(5_000, 2))
    turned = points @ np.array([[0.0, -1.0], [1.0, 0.0]])
    other = np.random.default_rng(1).normal(size=(5_000, 2))
    one, same, none = (fields(embedding=each) for each in (points, turned, other))
    assert answers.agreement(one, same, "clusters").shared_neighbours == 1.0
    assert answers.agreement(one, none, "clusters").shared_neighbours < 0.1
