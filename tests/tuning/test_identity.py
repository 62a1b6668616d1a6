"""What makes a search this one: texts that differ where something that matters does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from xgboost import XGBClassifier

from pipeline import Accelerated, Search, shared
from pipeline.tuning.evaluate import Evaluation
from pipeline.tuning.identity import (
    describe,
    describe_folds,
    describe_rows,
    facets_of_estimator,
    identity_of,
)
from pipeline.tuning.space import Space
from tests.commands import python

FRAME = pd.DataFrame(
    {
        "n": [1.5, 2.0, np.nan],
        "t": ["a", None, "b"],
        "c": pd.Categorical(["u", "v", "u"]),
        "i": pd.array([1, None, 3], dtype="Int64"),
        "d": pd.to_datetime(["2020-01-01", "2021-01-01", None]),
    }
)
TOLD = """
from tests.tuning.test_identity import model, facets_of_estimator
print(facets_of_estimator(model()))
"""


def of_three(text: Any) -> Any:
    return text in {"alpha", "beta", "gamma", "delta"}


def model() -> Accelerated:
    columns = make_column_transformer(
        (StandardScaler(), ["n"]),
        (OneHotEncoder(drop="first"), make_column_selector(dtype_include=object)),
        (FunctionTransformer(of_three), slice(0, 2)),
    )
    return Accelerated(make_pipeline(columns, XGBClassifier(n_estimators=10)), device="cpu")


def test_an_estimator_is_told_by_what_is_no_default() -> None:
    facets = facets_of_estimator(model(), ["estimator__xgbclassifier__n_estimators"])
    code = facets.pop("estimator__columntransformer__functiontransformer__func")
    assert code.startswith("of_three ")
    inner = "estimator__columntransformer"
    assert facets == {
        "class": "Accelerated",
        "device": "'cpu'",
        "estimator": "Pipeline",
        "estimator__steps": "columntransformer, xgbclassifier",
        inner: "ColumnTransformer",
        f"{inner}__transformers": "standardscaler, onehotencoder, functiontransformer",
        f"{inner}__standardscaler": "StandardScaler",
        f"{inner}__standardscaler of": "['n']",
        f"{inner}__onehotencoder": "OneHotEncoder",
        f"{inner}__onehotencoder__drop": "'first'",
        f"{inner}__onehotencoder of": facets[f"{inner}__onehotencoder of"],
        f"{inner}__functiontransformer": "FunctionTransformer",
        f"{inner}__functiontransformer of": "slice(0, 2, None)",
        "estimator__xgbclassifier": "XGBClassifier",
    }


@pytest.mark.slow
def test_another_process_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    said = set()
    for seed in "12":
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        said.add(python("-c", TOLD))
    assert {each.out for each in said} == {f"{facets_of_estimator(model())}\n"}, said


def test_own_code_is_told_by_what_it_does() -> None:
    scope: list[dict[str, Any]] = [{"__name__": "mine"} for _ in range(3)]
    for known, more in zip(scope, (1, 1, 2), strict=True):
        exec(f"def f(x):\n    return x + {more}", known)
    first, same, other = (describe(known["f"]) for known in scope)
    assert first == same != other
    assert describe(make_scorer(scope[0]["f"])) != describe(make_scorer(scope[2]["f"]))


PAIRS: list[tuple[Any, Any]] = [
    (KFold(3), KFold(4)),
    (KFold(3, shuffle=True, random_state=0), KFold(3, shuffle=True, random_state=1)),
    (make_scorer(f1_score, average="macro"), make_scorer(f1_score, average="micro")),
    (make_column_selector(pattern="a"), make_column_selector(pattern="b")),
    ([1, "a"], [1, "b"]),
    (list(range(1000)), [*range(999), 0]),
    ({"a": 1}, {"a": 2}),
    (np.ones(3), np.array([1.0, 1, 2])),
    (pd.Series([1, 2]), pd.Series([1, 3])),
    (
        VotingClassifier([("a", LogisticRegression(C=2))]),
        VotingClassifier([("a", StandardScaler())]),
    ),
    ("1", 1),
    (None, "None"),
    (np.float64, np.float32),
]


@pytest.mark.parametrize(("first", "other"), PAIRS, ids=[type(a).__name__ for a, _ in PAIRS])
def test_values_that_differ_are_told_apart(first: Any, other: Any) -> None:
    assert describe(first) != describe(other)
    assert describe(first) == describe(first)
    assert len(describe(first)) <= 120


def test_rows_are_told_by_their_values_names_and_types() -> None:
    told = describe_rows(FRAME)
    assert told.startswith("3 × 5, ")
    assert describe_rows(shared(FRAME)) == told
    assert describe_rows(pl.from_pandas(FRAME)) == describe_rows(pl.from_pandas(FRAME))
    assert describe_rows(shared(FRAME)[np.array([0, 1])]) == describe_rows(FRAME.iloc[:2])
    changes = [
        FRAME.rename(columns={"n": "m"}),
        FRAME.astype({"n": "float32"}),
        FRAME.iloc[::-1],
        FRAME.iloc[:2],
        FRAME.assign(t=["a", "b", None]),
        FRAME.assign(i=pd.array([1, 2, 3], dtype="Int64")),
        pa.Table.from_pandas(FRAME[["n"]]),
        FRAME[["n"]].to_numpy(),
        sparse.csr_matrix(np.eye(3)),
        sparse.csr_matrix(np.eye(3)[::-1]),
        np.array([["a", 1], ["b", None]], dtype=object),
        np.array([["a", 1], ["b", 2]], dtype=object),
        ["a", "b"],
        ["b", "a"],
        pl.Series([1, 2]),
        np.zeros((2, 3, 4)),
        [["a"], ["b"]],
    ]
    assert len({told, *map(describe_rows, changes)}) == len(changes) + 1


def test_folds_are_told_by_their_rows() -> None:
    folds = list(KFold(3).split(np.zeros((9, 1))))
    assert describe_folds(folds) == describe_folds(folds)
    swapped = [folds[1], folds[0], folds[2]]
    moved = [(np.r_[train, test[:1]], test[1:]) for train, test in folds]
    assert len({describe_folds(each) for each in (folds, swapped, moved, folds[:2])}) == 4


def test_a_parameter_that_only_some_candidates_draw_counts() -> None:
    X, y = np.zeros((4, 1)), np.array([0, 1, 0, 1])
    folds = [(np.array([0, 1]), np.array([2, 3]))]

    def told(space: Any, weights: Any = None, **params: Any) -> dict[str, str]:
        estimator = LogisticRegression(**params)
        given = {} if weights is None else {"sample_weight": weights}
        evaluation = Evaluation(estimator, X, y, folds, max, given)
        return identity_of(Search(estimator, space), evaluation, Space.of(space, estimator))

    always = {"C": [1.0, 2.0]}
    assert told(always, C=1) == told(always, C=3)
    sometimes = [always, {"tol": [0.1]}]
    assert told(sometimes, C=1) != told(sometimes, C=3)
    assert told(always) != told(sometimes)
    assert told(always, weights=[1, 1, 1, 1]) != told(always, weights=[1, 1, 1, 2])
