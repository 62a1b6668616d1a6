from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import LabelEncoder, StandardScaler

from pipeline.backends.text_input import documents, reads_text
from pipeline.errors import DataError
from tests.names import plain

TEXTS = ["one text", "", "naïve 日本"]


class OwnVectorizer(CountVectorizer):
    pass


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        (HashingVectorizer(), True),
        (OwnVectorizer(), True),
        (make_pipeline("passthrough", None, CountVectorizer(), LogisticRegression()), True),
        (make_pipeline(make_pipeline(CountVectorizer()), LogisticRegression()), True),
        (FeatureUnion([("d", "drop"), ("c", CountVectorizer())]), True),
        (TfidfTransformer(), False),
        (make_pipeline(StandardScaler(), LogisticRegression()), False),
        (FeatureUnion([("s", StandardScaler())]), False),
        (make_pipeline("passthrough"), False),
        (LabelEncoder(), False),
        (object(), False),
    ],
    ids=plain,
)
def test_specs_that_read_text_are_known_by_their_first_step(estimator: Any, expected: bool) -> None:
    assert reads_text(estimator) is expected


@pytest.mark.parametrize(
    "X",
    [
        TEXTS,
        tuple(TEXTS),
        (text for text in TEXTS),
        np.array(TEXTS),
        np.array(TEXTS, dtype=object),
        pd.Series(TEXTS),
        pd.Series(TEXTS, dtype=object),
        pd.Series(TEXTS, dtype="string"),
        pd.Series(TEXTS, dtype="category"),
        pa.array(TEXTS),
        pa.chunked_array([TEXTS[:1], TEXTS[1:]]),
    ],
    ids=lambda X: f"{type(X).__name__} {getattr(X, 'dtype', '')}",
)
def test_every_sequence_of_text_becomes_one_series(X: Any) -> None:
    made = documents(X)
    assert made.dtype == "str"
    assert made.tolist() == TEXTS


@pytest.mark.parametrize(
    ("X", "why"),
    [
        ("one text", r"single text, not a list.*pass \[X\]"),
        (7, "X is of type int; pass a list of texts"),
        ([], "X has 0 documents"),
        (pd.DataFrame({"a": TEXTS}), r"X is a table \(shape=\(3, 1\)\).*X\['name'\]"),
        (np.array([TEXTS]), r"X is a table \(shape=\(1, 3\)\).*X\[:, 0\]"),
        (["a", None, "b", np.nan], r"2 missing documents.*fillna\(''\)"),
        (pd.Series(["a", None]), "1 missing documents"),
        ([b"a"], "X holds bytes.*decode bytes"),
        (["a", 1], "X holds mixed-integer values, not text"),
        ([["a"], ["b"]], "X holds mixed values, not text"),
        (np.arange(3), "X holds integer values, not text"),
        (["a", "\ud800"], "cannot be written as UTF-8.*position 0"),
    ],
)
def test_what_is_no_text_is_one_clear_error(X: Any, why: str) -> None:
    with pytest.raises(DataError, match=why):
        documents(X)
