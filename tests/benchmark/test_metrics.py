"""What is judged of each kind of task, and by which metric."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.manifold import trustworthiness
from sklearn.metrics import accuracy_score, log_loss, ndcg_score, silhouette_score
from sklearn.preprocessing import StandardScaler

from pipeline.benchmark.metrics import (
    SAMPLE,
    Metric,
    Queries,
    answer,
    fields,
    fit_answer,
    judge,
    of_embedding,
    of_rows,
    probability_metric,
)
from pipeline.errors import ConfigError, DataError
from tasks.breast_cancer import TASK

RANDOM = np.random.default_rng(0)


class Said:
    """A model that answers what it is told to."""

    classes_ = np.array([10, 20])

    def predict(self, X: np.ndarray) -> np.ndarray:
        return X * 10

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        return np.column_stack([1 - X, X])


@pytest.mark.parametrize(
    ("kind", "expected"), [("binary", [0.25]), ("regression", [2.5]), ("ranking", [2.5])]
)
def test_the_kind_of_task_tells_which_answer_is_judged(kind, expected) -> None:
    assert answer(Said(), np.array([0.25]), kind).tolist() == expected


def test_several_classes_are_answered_with_their_probabilities() -> None:
    found = answer(Said(), np.array([0.25, 0.75]), "multiclass")
    assert found["prediction"].tolist() == [0, 1]  # places among the classes
    assert found["probability"].tolist() == [[0.75, 0.25], [0.25, 0.75]]


def test_the_most_anomalous_row_has_the_largest_score() -> None:
    X = np.vstack([RANDOM.normal(size=(200, 2)), [[50.0, 50.0]]])
    found = answer(IsolationForest(random_state=0).fit(X), X, "binary")
    assert found.argmax() == 200
    assert ((found > 0) & (found < 1)).all()


def test_a_program_that_gives_no_score_is_named() -> None:
    with pytest.raises(ConfigError, match="StandardScaler gives neither probabilities nor"):
        answer(StandardScaler(), np.zeros((2, 1)), "binary")


def test_clusters_and_embeddings_are_learnt_and_answered_in_one() -> None:
    X = RANDOM.normal(size=(50, 3))
    assert fit_answer(KMeans(2, n_init=1), X).shape == (50,)
    assert fit_answer(PCA(2), X)["embedding"].shape == (50, 2)


def test_a_metric_is_taken_of_what_it_reads_and_left_out_where_that_is_not_there() -> None:
    metrics = {"accuracy": accuracy_score, "log_loss": probability_metric(log_loss)}
    task = replace(TASK, kind="multiclass", metrics=metrics)
    y_true, chances = np.array([0, 1, 2]), np.full((3, 3), 1 / 3)
    with_both = fields(prediction=[0, 1, 1], probability=chances)
    assert judge(task, y_true, with_both) == pytest.approx(
        {"accuracy": 2 / 3, "log_loss": np.log(3)}
    )
    assert judge(task, y_true, np.array([0, 1, 1])) == pytest.approx({"accuracy": 2 / 3})


def test_a_task_none_of_whose_metrics_can_be_taken_is_named() -> None:
    metrics = {"log_loss": probability_metric(log_loss)}
    with pytest.raises(DataError, match="breast_cancer: no metric reads"):
        judge(replace(TASK, kind="multiclass", metrics=metrics), np.arange(2), np.arange(2))


def test_distances_are_taken_of_a_sample_of_the_rows() -> None:
    rows, labels = RANDOM.normal(size=(5_000, 2)), RANDOM.integers(0, 2, 5_000)
    seen = np.linspace(0, 4_999, SAMPLE).astype(int)
    y_true = fields(target=labels, row=rows)
    found = of_rows(silhouette_score)(y_true, labels)
    assert found == pytest.approx(silhouette_score(rows[seen], labels[seen]))
    kept = of_embedding(trustworthiness)(y_true, fields(embedding=rows[:, :1]))
    assert kept == pytest.approx(trustworthiness(rows[seen], rows[seen, :1]))


def test_classes_in_words_can_be_kept_without_a_pickle() -> None:
    said = fields(prediction=np.array(["a", "bc"], object), probability=np.eye(2))
    assert not said.dtype.hasobject
    assert accuracy_score(np.array(["a", "b"], object), said["prediction"]) == 0.5


def gain(relevance: np.ndarray, scores: np.ndarray) -> float:
    return float(ndcg_score(relevance, scores, k=3))


def test_a_ranking_is_judged_query_by_query() -> None:
    lengths = RANDOM.integers(1, 6, 60)
    query = RANDOM.permutation(np.repeat(np.arange(60), lengths))
    y_true = fields(target=RANDOM.integers(0, 5, len(query)), query=query)
    scores = RANDOM.normal(size=len(query))
    wanted = [
        gain(y_true["target"][None, query == q], scores[None, query == q])
        for q, length in enumerate(lengths)
        if length > 1
    ]
    assert Queries(gain)(y_true, scores) == pytest.approx(np.mean(wanted))


def test_queries_of_one_row_each_are_no_ranking() -> None:
    y_true = fields(target=[1, 2], query=[0, 1])
    task = replace(TASK, kind="ranking", query="query", metrics={"gain": gain})
    with pytest.raises(DataError, match="gain of the 2 test rows: no query has two rows"):
        judge(task, y_true, np.array([0.5, 0.1]))


def test_a_plain_metric_reads_target_and_prediction() -> None:
    assert (
        Metric(accuracy_score)(fields(target=[0, 1], row=[[1.0], [2.0]]), np.array([0, 0])) == 0.5
    )
