"""Rows depend on the recipe and their number, and on nothing else."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn import metrics

from datasets.synthetic import KINDS, Recipe, rows
from datasets.synthetic.rows import table
from pipeline.task import task

ROOT = Path(__file__).parents[3]

DIGESTS = {
    "binary": "47d62e7de7693b8a",
    "regression": "bc2210d270f7e8aa",
    "ranking": "a7c0e0cd6b2e31ba",
    "clusters": "6e931bf6a0095a02",
}


def digest(made: pa.Table) -> str:
    frame = made.to_pandas().astype({n: str for n in made.column_names if n.startswith("cat")})
    return hashlib.sha256(frame.to_csv(index=False).encode()).hexdigest()[:16]


@pytest.mark.parametrize("kind", KINDS)
def test_the_rows_of_a_seed_are_for_ever_the_same(kind) -> None:
    assert digest(table(Recipe(kind, columns=12), 1_000, 1_300)) == DIGESTS[kind]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ends", [(0, 1), (3, 5), (4, 399)])
def test_a_range_is_a_part_of_the_whole(kind, ends) -> None:
    recipe = Recipe(kind, columns=23)
    assert table(recipe, *ends).equals(table(recipe, 0, 400).slice(ends[0], ends[1] - ends[0]))


def test_the_schema_is_the_one_that_is_told() -> None:
    for kind in KINDS:
        recipe = Recipe(kind, columns=20, cardinality=70_000)
        made = table(recipe, 0, 100)
        assert made.column_names == list(recipe.schema())
        for name, column in recipe.schema().items():
            kind_found = made.schema.field(name).type
            if column.type == "category":
                assert pa.types.is_dictionary(kind_found), name
            else:
                assert kind_found == pa.type_for_alias(column.type), name


def test_values_are_missing_as_often_as_told() -> None:
    recipe, made = Recipe(), table(Recipe(), 0, 50_000)
    for feature in recipe.features():
        share = made[feature.name].null_count / 50_000
        assert share == pytest.approx(feature.missing, abs=0.01)
        assert (share == 0) == (feature.missing == 0)


def test_a_fold_is_asked_for_and_changes_no_other_column() -> None:
    plain, folded = (table(Recipe(columns=5, fold=fold), 0, 2_000) for fold in (False, True))
    assert folded.drop_columns(["fold"]).equals(plain)
    counts = np.bincount(folded["fold"].to_numpy(), minlength=100)
    assert (len(counts), counts.min() > 5) == (100, True)


def test_the_fold_of_a_ranking_is_that_of_its_query() -> None:
    frame = table(Recipe("ranking", columns=3, fold=True), 500, 2_500).to_pandas()
    assert frame.groupby("query")["fold"].nunique().eq(1).all()
    assert frame["fold"].nunique() > 30


BEST = {
    "binary": 0.8626, "regression": 0.7960, "ranking": 0.9135,
    "clusters": 0.5331,
}  # fmt: skip
"""As docs/datasets.md and the tasks give them."""
TASKS = {"binary": "synthetic", "ranking": "ranking", "clusters": "segments_synthetic"}


def best(kind: str, count: int = 250_000) -> float:
    """Return the score of the model that knows how the target is drawn."""
    recipe = Recipe(kind)
    made = table(recipe, 0, count)
    y = made["target"].to_numpy()
    if kind == "clusters":
        near = np.zeros((count, rows.CLUSTERS))
        for feature in recipe.features():
            if (centres := rows.centres(recipe, feature)) is not None:
                values = made[feature.name].to_numpy()[:, None]
                near += np.nan_to_num((values - centres) ** 2)
        return metrics.adjusted_rand_score(y, near.argmin(axis=1))
    told = rows.effects(recipe, 0, count)
    if kind == "binary":
        return metrics.roc_auc_score(y, rows.probabilities(told))
    if kind == "regression":
        return metrics.r2_score(y, rows.LEVEL + rows.SCALE * rows.signal(told))
    queries = pd.DataFrame({"gain": 2.0**y - 1, "score": rows.signal(told)})
    scores = [
        metrics.ndcg_score([query["gain"]], [query["score"]], k=10)
        for _, query in queries[:30_000].groupby(made["query"].to_numpy()[:30_000])
        if query["gain"].any()
    ]
    return float(np.mean(scores))


@pytest.mark.quick(1)
@pytest.mark.parametrize("kind", KINDS)
def test_who_knows_how_the_target_is_drawn_reaches_the_best_score(kind: str) -> None:
    assert best(kind) == pytest.approx(BEST[kind], abs=0.003)
    assert f"| {BEST[kind]:.4f} |" in (ROOT / "docs" / "datasets.md").read_text("utf-8")
    if kind in TASKS:
        assert f"is {BEST[kind]:.4f}" in task.load(TASKS[kind]).title
