from __future__ import annotations

from typing import Any

import pytest
from sklearn.compose import make_column_transformer
from sklearn.decomposition import FastICA
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline, make_union
from sklearn.preprocessing import (
    MaxAbsScaler,
    OneHotEncoder,
    StandardScaler,
)
from sklearn.random_projection import SparseRandomProjection
from xgboost import XGBClassifier

from pipeline.backends.cpu import HOST
from pipeline.planning.classify import classify, classify_step
from tests.names import plain


def test_one_walk_says_what_runs_each_step_or_why_nothing_does() -> None:
    whole = Pipeline(
        [("s", StandardScaler()), ("off", None), ("ica", FastICA()), ("model", XGBClassifier())]
    )
    scaler, ica, model = classify(whole, "cuda")
    assert [node.path for node in (scaler, ica, model)] == ["s", "ica", "model"]
    assert scaler.runs_on_blocks
    assert scaler.rule is None
    assert [place.device for place in scaler.placements] == ["cuda"]
    assert [reason.step for reason in ica.reasons] == ["ica"]
    assert ica.placements == ()
    assert model.rule is not None
    assert model.placements[0].implementation == "xgboost.XGBClassifier"
    assert [node.rule for node in classify(whole, "cpu")] == [None, HOST, HOST]


@pytest.mark.parametrize(
    ("taker", "why"),
    [
        (LogisticRegression(), ""),
        (XGBClassifier(), ""),
        (RandomForestClassifier(), ""),
        (MaxAbsScaler(), "its rows are sparse"),
    ],
    ids=plain,
)
def test_what_follows_text_is_given_sparse_rows(taker: Any, why: str) -> None:
    last = classify(make_pipeline(TfidfVectorizer(), taker), "cuda")[-1]
    assert bool(last.reasons) is bool(why)
    assert all(why in reason.why for reason in last.reasons)
    assert not classify_step(taker, "model", "cuda", "dense").reasons


NUMBERS = (StandardScaler(), ["n"])
HOT = make_column_transformer((OneHotEncoder(), ["c"]), NUMBERS)
FEW = "is given CSR where fewer than 0.3 of the cells are not zero"
GIVEN = "is given CSR"


MAKERS: dict[str, tuple[Any, str]] = {
    "few": (HOT, FEW),
    "asked to be dense": (
        make_column_transformer((OneHotEncoder(sparse_output=False), ["c"]), NUMBERS),
        "",
    ),
    "text beside numbers": (make_column_transformer((TfidfVectorizer(), "t"), NUMBERS), FEW),
    "scaled": (make_pipeline(HOT, MaxAbsScaler()), FEW),
    "projected to dense": (make_pipeline(HOT, SparseRandomProjection(2, dense_output=True)), ""),
    "alone": (OneHotEncoder(), GIVEN),
    "a union": (make_union(StandardScaler(), OneHotEncoder()), GIVEN),
}


@pytest.mark.parametrize(("maker", "told"), MAKERS.values(), ids=list(MAKERS))
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_rows_that_may_be_sparse_are_told(maker: Any, told: str, device: str) -> None:
    for taker, more in {
        LogisticRegression(): "",
        XGBClassifier(): "sparse rows come to the host",
        RandomForestClassifier(): "sparse rows are made dense where they fit, and refused",
        GaussianNB(): "sparse rows are refused, as scikit-learn's own refuses them",
    }.items():
        (place,) = classify(make_pipeline(maker, taker), device)[-1].placements
        assert told in place.note
        assert bool(told) == (GIVEN in place.note)
        assert (more in place.note) == (not more or (device == "cuda" and bool(told)))
