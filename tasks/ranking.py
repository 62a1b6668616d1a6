"""Generated queries: boosted trees rank their rows by relevance."""

from __future__ import annotations

from typing import Any

from sklearn.compose import make_column_transformer
from sklearn.metrics import make_scorer, ndcg_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import TargetEncoder
from xgboost import XGBRanker

from pipeline import CalendarFeatures
from pipeline.task.included import dataset
from pipeline.task.task import Split, Task

synthetic = dataset("synthetic")
tables = dataset("synthetic.tables")
NUMBERS = [name for name in synthetic.NUMERIC if int(name.partition("_")[2]) < 10]
CATEGORIES, DATES = ["category_1", "category_5"], ["date_4"]


def lambdamart(seed: int) -> Pipeline:
    """Pairs of rows of a query, weighted by what their order is worth."""
    return make_pipeline(prepared(seed), ranker(seed, "rank:ndcg"))


def pairwise(seed: int) -> Pipeline:
    """Pairs of rows of a query, all worth the same."""
    return make_pipeline(prepared(seed), ranker(seed, "rank:pairwise"))


def prepared(seed: int) -> object:
    """Numbers as they are, categories as their shares of each relevance, weekdays."""
    by_grade = TargetEncoder(cv=StratifiedKFold(5, shuffle=True, random_state=seed))
    return make_column_transformer(
        ("passthrough", NUMBERS),
        (by_grade, CATEGORIES),
        (CalendarFeatures(["weekday"]), DATES),
    )


def ranker(seed: int, objective: str) -> XGBRanker:
    """Shallow trees that learn from the first rows of each query."""
    return XGBRanker(
        n_estimators=80, max_depth=4, learning_rate=0.15, objective=objective,
        lambdarank_pair_method="topk", lambdarank_num_pair_per_sample=10, random_state=seed,
    )  # fmt: skip


def ndcg_at_10(relevance: Any, scores: Any) -> float:
    """Normalised gain of the first ten rows of each query; a relevance r gains 2**r - 1."""
    return float(ndcg_score(2.0**relevance - 1, scores, k=10))


TASK = Task(
    name="ranking",
    title="Generated queries: which rows are relevant? The best attainable NDCG@10 is 0.9135",
    kind="ranking",
    dataset="synthetic",
    prepare=tables.ranking,
    features=[*NUMBERS, *CATEGORIES, *DATES],
    target=synthetic.TARGET,
    query="query",
    pipelines={"lambdamart": lambdamart, "pairwise": pairwise},
    splits={"queries": Split([("fold", "<", 75)], [("fold", ">=", 75)], "train three quarters")},
    metrics={"ndcg_at_10": make_scorer(ndcg_at_10)},
    margins={"ndcg_at_10": 0.005},
    licence=synthetic.LICENCE,
    source=synthetic.SOURCE,
)
