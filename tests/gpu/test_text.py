"""What cuML's text classes make that scikit-learn's do not; see docs/gpu.md."""

from __future__ import annotations

import pytest
from sklearn.feature_extraction.text import CountVectorizer

from pipeline import Accelerated


@pytest.mark.parametrize(
    ("params", "texts", "terms"),
    [
        ({"max_features": 2}, ["bb cc dd aa", "dd"], ["aa", "dd"]),
        ({}, ["\U00020000\U00020001 ab"], ["ab"]),
        ({}, ["ΟΔΟΣ"], ["οδοσ"]),
    ],
    ids=["equal counts", "letters beyond the first plane", "final sigma"],
)
def test_terms_differ_as_the_documentation_says(
    params: dict[str, int], texts: list[str], terms: list[str]
) -> None:
    model = Accelerated(CountVectorizer(**params), device="cuda").fit(texts)
    assert sorted(model.to_sklearn().vocabulary_) == terms


@pytest.mark.parametrize(
    ("estimator", "texts", "why"),
    [
        (CountVectorizer(), ["a b", ""], "empty vocabulary; perhaps the documents only contain"),
        (CountVectorizer(min_df=2), ["aa", "bb"], "After pruning, no terms remain"),
    ],
)
def test_no_terms_are_the_error_of_sklearn(
    estimator: CountVectorizer, texts: list[str], why: str
) -> None:
    with pytest.raises(ValueError, match=why):
        Accelerated(estimator, device="cuda").fit(texts)
