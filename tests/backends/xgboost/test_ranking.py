"""XGBoost's ranker: rows of queries in any order, learnt from as if they were sorted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import ndcg_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBRanker

from pipeline import Accelerated
from pipeline.errors import DataError

ROWS, QUERIES = 600, 40


@pytest.fixture
def rows() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    made = pd.DataFrame(rng.normal(size=(ROWS, 3)), columns=list("abc"))
    made["query"] = np.sort(rng.integers(0, QUERIES, ROWS))
    made["grade"] = np.digitize(made["a"] + 0.3 * rng.normal(size=ROWS), [0, 1, 2])
    return made


def estimator(**params: Any) -> XGBRanker:
    return XGBRanker(n_estimators=20, lambdarank_pair_method="topk", n_jobs=1, **params)


def fitted(table: pd.DataFrame, **params: Any) -> Accelerated:
    model = Accelerated(make_pipeline(StandardScaler(), estimator()), device="cpu")
    told = {"qid": table["query"]} | params
    return model.fit(table[["a", "b", "c"]], table["grade"], **told)


def scores(model: Any, table: pd.DataFrame) -> np.ndarray:
    return np.asarray(model.predict(table[["a", "b", "c"]]))


def test_it_ranks_as_the_plain_pipeline_does(rows: pd.DataFrame) -> None:
    plain = make_pipeline(StandardScaler(), estimator())
    plain.fit(rows[["a", "b", "c"]], rows["grade"], xgbranker__qid=rows["query"])
    ours = fitted(rows)
    np.testing.assert_allclose(scores(ours, rows), scores(plain, rows), rtol=1e-5)
    np.testing.assert_allclose(scores(ours.to_sklearn(), rows), scores(ours, rows), rtol=1e-5)
    one = rows[rows["query"] == 3]
    assert ndcg_score([one["grade"]], [scores(ours, one)]) > 0.9
    assert 0.9 < ours.score(rows[["a", "b", "c"]], rows["grade"], qid=rows["query"]) <= 1


def test_rows_in_any_order_and_sizes_of_queries_give_the_same_ranker(rows: pd.DataFrame) -> None:
    mixed = rows.sample(frac=1, random_state=1)
    # Within a query the order is kept, so that rows of equal score are drawn alike.
    inside = mixed.assign(at=mixed.index).groupby("query")["at"].transform(lambda at: sorted(at))
    mixed = rows.loc[inside.to_numpy()]
    assert not mixed["query"].is_monotonic_increasing
    wanted = scores(fitted(rows), rows)
    np.testing.assert_allclose(scores(fitted(mixed), rows), wanted, atol=1e-4)
    sizes = rows.groupby("query").size().to_numpy()
    np.testing.assert_array_equal(scores(fitted(rows, qid=None, group=sizes), rows), wanted)


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"qid": None}, "pass qid=, the query of each row"),
        ({"group": [ROWS]}, "qid and group are both given"),
        ({"qid": np.arange(5)}, r"qid has the shape \(5,\), but X has 600 rows"),
        ({"qid": np.append(np.arange(ROWS - 1.0), np.nan)}, "1 of them missing"),
        ({"qid": np.full(ROWS, "a")}, "qid holds <U1.*, not integers"),
    ],
)
def test_queries_that_cannot_be_used_are_named(rows: pd.DataFrame, told, said) -> None:
    with pytest.raises(DataError, match=said):
        fitted(rows, **told)
