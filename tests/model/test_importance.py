"""The importance of columns is what scikit-learn's own function says of the same model."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.impute import SimpleImputer
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, get_scorer, make_scorer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler, TargetEncoder
from sklearn.svm import LinearSVC
from xgboost import XGBClassifier

from pipeline import Accelerated, CalendarFeatures, shared
from pipeline.errors import ConfigError, DataError
from pipeline.model.importance import Importance, PreparedRows

ROWS = 120
NUMBERS, WORDS = ["age", "fare", "size"], ["port", "deck"]


def table() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": rng.normal(40, 9, ROWS),
            "fare": rng.lognormal(2, 1, ROWS),
            "size": rng.integers(1, 5, ROWS),
            "port": rng.choice(["a", "b", "c"], ROWS),
            "deck": rng.choice(["x", "y"], ROWS),
            "note": rng.choice(["red car", "blue car", "red ship", "boat"], ROWS),
            "day": pd.Timestamp("2024-01-31") + pd.to_timedelta(rng.integers(0, 400, ROWS), "D"),
            "idle": rng.normal(size=ROWS),
        },
        index=rng.permutation(ROWS),
    )
    told = (X["age"] > 40).to_numpy() + (X["port"] == "a").to_numpy() * 1.0
    X.loc[X.index[::7], "age"] = np.nan
    return X, told


X, TOLD = table()
LATE = np.where(TOLD + np.random.default_rng(1).normal(0, 0.5, ROWS) > 0.7, "yes", "no")
filled = make_pipeline(SimpleImputer(), StandardScaler())
logistic = LogisticRegression()

CASES = {
    "sparse beside numbers": (
        make_column_transformer((filled, NUMBERS), (OneHotEncoder(), ["note", *WORDS]),
                                sparse_threshold=1),
        logistic,
    ),
    "indicators": (
        make_column_transformer(
            (make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), NUMBERS),
            (OneHotEncoder(drop="first"), WORDS), sparse_threshold=1,
        ),
        logistic,
    ),
    "dates": (make_column_transformer((CalendarFeatures(cyclical=True), ["day"])), logistic),
    "target": (
        make_column_transformer((TargetEncoder(random_state=0), WORDS), (filled, ["age"])),
        logistic,
    ),
    "functions": (
        make_column_transformer((FunctionTransformer(np.log1p), ["fare"]),
                                (FunctionTransformer(lambda t: t - t.shift(fill_value=0)),
                                 ["size"]),
                                (OneHotEncoder(), ["port"])),
        logistic,
    ),
    "text": (
        make_column_transformer((TfidfVectorizer(), "note"), (filled, ["age"])),
        logistic,
    ),
    "passthrough": (
        make_column_transformer(("drop", [*WORDS, "note", "day"]), (StandardScaler(), ["fare"]),
                                remainder="passthrough"),
        XGBClassifier(n_estimators=5),
    ),
    "steps behind": (
        make_column_transformer((filled, NUMBERS), (OneHotEncoder(), WORDS)),
        StandardScaler(with_mean=False),
        SelectKBest(f_classif, k=4),
        logistic,
    ),
    "projected": (
        make_column_transformer((filled, NUMBERS), (OneHotEncoder(sparse_output=False), WORDS)),
        PCA(3, random_state=0),
        logistic,
    ),
}  # fmt: skip


def fitted(steps: Any, X: Any = X, y: Any = LATE) -> Accelerated:
    last = steps[-1]
    y = (y == "yes").astype(int) if isinstance(last, XGBClassifier) else y
    return Accelerated(make_pipeline(*steps), device="cpu").fit(X, y)


def both(model: Any, X: Any, y: Any, **asked: Any) -> tuple[Any, Any]:
    asked = {"repeats": 2, **asked}
    found = model.importance(X, y, random_state=3, **asked)
    theirs = {"n_repeats" if name == "repeats" else name: each for name, each in asked.items()}
    return found, permutation_importance(model, X, y, random_state=3, **theirs)


def assert_same(found: Any, expected: Any) -> None:
    for name in ("importances", "importances_mean", "importances_std"):
        np.testing.assert_array_equal(found[name], expected[name])


@cache
def case(name: str) -> Accelerated:
    return fitted(CASES[name])


@pytest.mark.quick(2)
@pytest.mark.parametrize("name", CASES)
def test_numbers_are_those_of_sklearn(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, last = case(name), CASES[name][-1]
    y = (LATE == "yes").astype(int) if isinstance(last, XGBClassifier) else LATE
    scoring = "accuracy" if isinstance(last, LinearSVC) else "neg_log_loss"
    expected = permutation_importance(model, X, y, scoring=scoring, n_repeats=2, random_state=3)
    lifted = permutation_importance(
        model.to_sklearn(), X, y, scoring=scoring, n_repeats=2, random_state=3
    )

    def of_prepared(model: Any, rows: Any, *given: Any, **asked: Any) -> Any:
        assert isinstance(rows, PreparedRows)
        return permutation_importance(model, rows, *given, **asked)

    monkeypatch.setattr("pipeline.model.importance.permutation_importance", of_prepared)
    found = model.importance(X, y, scoring=scoring, repeats=2, random_state=3)
    assert_same(found, expected)
    np.testing.assert_allclose(found.importances, lifted.importances, rtol=1e-6, atol=1e-6)
    assert list(found.feature_names) == list(X)
    assert np.abs(found.importances).max() > 0


@pytest.mark.quick(3)
@pytest.mark.parametrize(
    "scoring",
    [None, ["accuracy", "roc_auc"], {"right": make_scorer(accuracy_score),
     "own": lambda model, X, y: -np.abs(X["fare"]).mean() * (model.predict(X) == y).mean()},
     get_scorer("neg_log_loss"), lambda model, X, y: (model.predict(X) == y).mean()],
    ids=["default", "list", "dict", "scorer", "own"],
)  # fmt: skip
def test_any_scoring_of_sklearn_serves(scoring: Any) -> None:
    found, expected = both(case("sparse beside numbers"), X, LATE, scoring=scoring)
    if isinstance(scoring, list | dict):
        assert found.keys() == expected.keys() == dict.fromkeys(scoring).keys()
    pairs = (
        [(found, expected)] if "importances" in found else [(found[n], expected[n]) for n in found]
    )
    for ours, theirs in pairs:
        assert ours.importances.shape == (X.shape[1], 2)
        assert_same(ours, theirs)
        assert list(ours.feature_names) == list(X)


@pytest.mark.parametrize(
    ("name", "max_samples"),
    [("sparse beside numbers", 0.5), ("text", 30), ("projected", 0.5)],
)
def test_a_sample_of_the_rows_and_weights(name: str, max_samples: float) -> None:
    weights = np.random.default_rng(5).uniform(size=ROWS)
    asked = {"sample_weight": weights, "max_samples": max_samples}
    assert_same(*both(case(name), X, LATE, **asked))


def test_a_column_that_no_step_reads_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    model = fitted((make_column_transformer((filled, ["age"])), logistic))
    asked = []
    answer = LogisticRegression.predict_proba
    monkeypatch.setattr(
        LogisticRegression, "predict_proba", lambda *given: asked.append(1) or answer(*given)
    )
    found = model.importance(X, LATE, scoring="neg_log_loss", repeats=3)
    assert len(asked) == 1 + 3
    assert [bool(each.all()) for each in found.importances] == [name == "age" for name in X]
    asked.clear()
    model.importance(X, LATE, scoring="neg_log_loss", repeats=3, max_samples=50)
    assert len(asked) == 2 + 3


# Forms of tables.


def numeric() -> tuple[np.ndarray, Accelerated]:
    cells = np.random.default_rng(4).normal(size=(ROWS, 4))
    cells[:, 3] *= cells[:, 0] > 0.5
    return cells, fitted((StandardScaler(), logistic), cells)


def test_polars_and_shared_rows() -> None:
    given = X.drop(columns="day")
    model = fitted(CASES["sparse beside numbers"], given)
    expected = permutation_importance(model, given, LATE, random_state=3, n_repeats=1)
    for each in (pl.from_pandas(given), shared(given)):
        found = model.importance(each, LATE, random_state=3, repeats=1)
        assert_same(found, expected)
        assert list(found.feature_names) == list(given)


@pytest.mark.parametrize("steps", [(logistic,), (StandardScaler(with_mean=False), logistic)])
@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix])
def test_sparse_rows(steps: Any, form: Any) -> None:
    cells, _ = numeric()
    cells[cells < 0] = 0
    model = fitted(steps, form(cells))
    dense = permutation_importance(
        model, cells, LATE, scoring="neg_log_loss", random_state=3, n_repeats=3
    )
    given = form(cells)
    found = model.importance(given, LATE, scoring="neg_log_loss", random_state=3, repeats=3)
    np.testing.assert_allclose(found.importances, dense.importances, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(given.toarray(), cells)


def test_columns_are_found_by_name() -> None:
    model = case("target")
    turned = X[list(X)[::-1]].assign(other=1.0)
    found = model.importance(turned, LATE, random_state=0, repeats=2)
    expected = model.importance(X, LATE, random_state=0, repeats=2)
    assert list(found.feature_names) == list(turned)
    ours = dict(zip(found.feature_names, found.importances.tolist(), strict=True))
    theirs = dict(zip(expected.feature_names, expected.importances.tolist(), strict=True))
    assert ours == {**theirs, "other": [0.0] * 2}


WRONG = [
    ({"y": LATE[:-1]}, ValueError, "inconsistent numbers of samples"),
    ({"sample_weight": [1.0]}, ValueError, "inconsistent numbers of samples"),
    ({"scoring": "acuracy"}, ConfigError, "get_scorer_names"),
    ({"scoring": accuracy_score}, ConfigError, "make_scorer"),
    ({"repeats": 0}, ConfigError, "repeats=0"),
    ({"max_samples": 121}, ConfigError, "max_samples=121"),
    ({"max_samples": 0.001}, ConfigError, "max_samples=0.001"),
    ({"X": X.drop(columns="port")}, DataError, "port"),
]


@pytest.mark.parametrize(("asked", "kind", "said"), WRONG, ids=[said for *_, said in WRONG])
def test_what_is_wrong_is_named(asked: dict[str, Any], kind: type, said: str) -> None:
    with pytest.raises(kind, match=said):
        case("target").importance(**{"X": X, "y": LATE, **asked})


def test_partitions_are_refused() -> None:
    dd = pytest.importorskip("dask.dataframe")
    with pytest.raises(DataError, match="has partitions; pass X.compute"):
        case("target").importance(dd.from_pandas(X, npartitions=2), LATE)


def test_texts_have_no_columns() -> None:
    model = Accelerated(make_pipeline(TfidfVectorizer(), logistic), device="cpu")
    model.fit(X["note"], LATE)
    with pytest.raises(DataError, match="1 dimension"):
        model.importance(X["note"], LATE)


def test_the_columns_that_matter_most_are_shown() -> None:
    importances = np.array([[0.0], [0.25], [0.125], *[[0.01]] * 9]) + [0.0, 0.02]
    shown = Importance(
        importances=importances,
        importances_mean=importances.mean(axis=1),
        importances_std=importances.std(axis=1),
        feature_names=np.array(["none", "<b>most</b>", "some", *"defghijkl"], dtype=object),
    )
    lines = repr(shown).splitlines()
    assert lines[0] == "Permutation importance of 12 columns, 2 repeats"
    assert [line.split() for line in lines[2:4]] == [
        ["<b>most</b>", "0.26", "±", "0.01"],
        ["some", "0.135", "±", "0.01"],
    ]
    assert (len(lines), lines[-1]) == (13, "and 2 more")
    page = shown._repr_html_()
    assert page.index("&lt;b&gt;most&lt;/b&gt;") < page.index("some") < page.index("and 2 more")
    assert "none" not in page.partition("</style>")[2]
