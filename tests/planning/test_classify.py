from __future__ import annotations

from typing import Any

import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import Birch, KMeans
from sklearn.compose import make_column_transformer
from sklearn.decomposition import FastICA
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import LabelEncoder, MaxAbsScaler, OneHotEncoder, StandardScaler
from xgboost import XGBClassifier

from pipeline.backends.cpu import HOST
from pipeline.planning.classify import Kind, classify, classify_step, kind_of_step


class OwnVectorizer(TfidfVectorizer):
    pass


@pytest.mark.parametrize(
    ("estimator", "kind"),
    [
        (StandardScaler(), Kind.PREPROCESSING),
        (make_column_transformer((OneHotEncoder(), ["c"])), Kind.PREPROCESSING),
        (make_pipeline(StandardScaler(), OneHotEncoder()), Kind.PREPROCESSING),
        (LabelEncoder(), Kind.LABELS),
        (TfidfVectorizer(), Kind.TEXT),
        (OwnVectorizer(), Kind.PREPROCESSING),
        (XGBClassifier(), Kind.XGBOOST),
        (LogisticRegression(), Kind.MODEL),
        (KMeans(), Kind.MODEL),
        (Birch(), Kind.MODEL),
        (FastICA(), Kind.MODEL),
        (CalibratedClassifierCV(), Kind.MODEL),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_step_is_of_one_kind(estimator: Any, kind: Kind) -> None:
    assert kind_of_step(estimator) is kind


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
        (XGBClassifier(), "takes no sparse rows on the GPU"),
        (MaxAbsScaler(), "its rows are sparse"),
    ],
)
def test_what_follows_text_is_given_sparse_rows(taker: Any, why: str) -> None:
    last = classify(make_pipeline(TfidfVectorizer(), taker), "cuda")[-1]
    assert bool(last.reasons) is bool(why)
    assert all(why in reason.why for reason in last.reasons)
    assert not classify_step(taker, "model", "cuda", "dense").reasons
