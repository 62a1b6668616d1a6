"""Answers of the kinds of task, from their comparison to what the report says of them."""

from __future__ import annotations

from html import unescape

import numpy as np
import pytest
from msgspec.structs import replace

from pipeline.benchmark.judge import agreement as answers
from pipeline.benchmark.record.results import Results, dumps
from pipeline.task.metrics import fields, part
from tests.benchmark import fixtures

WORDS = {
    "multiclass": ("predicted classes", "Same class", "7 classes in the test rows"),
    "regression": ("predicted numbers", "Largest difference", "mean 1.5, standard deviation"),
    "ranking": ("scores", "Largest difference", "in 2 queries of 3 to 4 rows"),
    "clusters": ("clusters", "Adjusted Rand index", "not learnt from; 7 known clusters"),
}
TRUTHS = {
    "multiclass": np.arange(7),
    "regression": np.array([1.0, 2.0]),
    "ranking": fields(target=np.arange(7) % 5, query=[1, 1, 1, 2, 2, 2, 2]),
    "clusters": np.arange(7),
}


def of_kind(kind: str) -> Results:
    """Return a comparison of a task of another kind; its answers differ a little."""
    made = fixtures.with_gpu()
    y_true = TRUTHS[kind]
    said = part(y_true, "target")
    agreement = answers.agreement(said, np.append(said[:-1], 9), kind)
    cells = [replace(c, agreement=c.agreement and agreement) for c in made.cells]
    about = answers.about(y_true, kind)
    task = replace(made.task, kind=kind, about_target=about, positive_rate=None)
    return replace(made, task=task, cells=cells)


@pytest.mark.parametrize("page", [fixtures.html_of, fixtures.markdown_of])
def test_the_report_tells_the_weights_and_the_rows_of_each_part(page) -> None:
    made = of_kind("multiclass")
    told = {"train": "sold < 2024-01-31", "test": "sold >= 2024-01-31", "weight": "area"}
    text = unescape(page(replace(made, task=replace(made.task, **told)))).replace("\\", "")
    assert "Weights of the rows" in text
    assert "to train (sold < 2024-01-31), 67,346 to test (sold >= 2024-01-31)" in text


@pytest.mark.quick(2)
@pytest.mark.parametrize("kind", WORDS)
@pytest.mark.parametrize("page", [fixtures.html_of, fixtures.markdown_of])
def test_the_report_says_what_was_compared(kind, page) -> None:
    text = page(of_kind(kind))
    for words in WORDS[kind]:
        assert words in text
    assert "predicted probabilities" not in text.partition("Agreement of")[2].partition("Memory")[0]
    assert "Same decision at 0.5" not in text


@pytest.mark.parametrize("kind", WORDS)
def test_what_has_no_meaning_for_a_kind_is_null_and_can_be_read(kind, tmp_path) -> None:
    from pipeline.benchmark.record import results

    (tmp_path / "results.json").write_bytes(dumps(of_kind(kind)))
    read = results.load(tmp_path / "results.json")
    found = next(cell.agreement for cell in read.cells if cell.agreement)
    assert (found.same_decision is None) == (kind != "multiclass")
    assert (found.max_difference is None) == (kind in ("multiclass", "clusters"))
    assert (found.adjusted_rand is None) == (kind != "clusters")
    assert read.task.positive_rate is None


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
