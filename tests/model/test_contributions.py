"""What columns add to the answers: XGBoost's own values, closed forms, and sums that hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xgboost
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    SGDRegressor,
)
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC
from xgboost import XGBClassifier, XGBRegressor

from pipeline import Accelerated, ConfigError, DataError, Unsupported, load, save
from pipeline.errors import ParityError
from pipeline.model.contributions import Contributions

ROWS = 240
RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "age": RNG.normal(40, 10, ROWS),
        "idle": np.arange(ROWS),
        "town": RNG.choice(["York", "Ely", "Bath"], ROWS),
        "pay": RNG.normal(0, 1, ROWS),
    }
)
VALUES = TABLE["pay"] + (TABLE["town"] == "Ely") + TABLE["age"] / 20
TABLE.loc[::6, "age"] = np.nan
PLACES = np.digitize(VALUES, [1.7, 3])
WORDS = np.array(["low", "mid", "top"])[PLACES]
TWO = np.where(VALUES > 2, "top", "low")
COUNTS = PLACES.astype(float)

CASES: dict[str, tuple[Any, Any]] = {
    "XGBoost, values": (XGBRegressor(n_estimators=8), VALUES),
    "XGBoost, classes": (XGBClassifier(n_estimators=8), PLACES),
    "XGBoost, far from 0": (XGBRegressor(n_estimators=8), 1e6 + 10 * VALUES),
    "logistic": (LogisticRegression(), WORDS),
    "ridge, targets": (Ridge(), np.c_[VALUES, -VALUES]),
    "discriminants": (LinearDiscriminantAnalysis(), WORDS),
    "Poisson": (PoissonRegressor(), COUNTS),
    "forest of classes": (RandomForestClassifier(8), WORDS),
    "counts from histograms": (HistGradientBoostingRegressor(max_iter=8, loss="poisson"), COUNTS),
    "boosted": (GradientBoostingClassifier(n_estimators=8), TWO),
}


DENSE = (LinearDiscriminantAnalysis, HistGradientBoostingRegressor)
"""They take no sparse rows."""


def prepared(last: Any, sparse_threshold: float = 1.0) -> Any:
    """Return numbers without holes, products of them, and a sparse one-hot of text."""
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    products = make_pipeline(SimpleImputer(), StandardScaler(), PolynomialFeatures(2))
    columns = make_column_transformer(
        (numbers, ["age", "pay"]),
        (OneHotEncoder(), ["town"]),
        (products, ["pay", "age"]),
        sparse_threshold=0 if type(last) in DENSE else sparse_threshold,
    )
    return make_pipeline(columns, last)


def fitted(estimator: Any, y: Any, X: Any = TABLE) -> Accelerated:
    return Accelerated(clone(estimator), device="cpu").fit(X, y)


def answers(model: Any, X: Any) -> np.ndarray:
    """Return what contributions sum to, by the lifted model, of shape (n_rows, n_outputs)."""
    plain = model.to_sklearn()
    last = plain[-1] if hasattr(plain, "steps") else plain
    if type(last).__module__.startswith("xgboost"):
        return np.asarray(plain.predict(X, output_margin=True)).reshape(len(X), -1)
    if isinstance(last, PoissonRegressor) or getattr(last, "loss", "") == "poisson":
        return np.log(plain.predict(X)).reshape(len(X), -1)
    if hasattr(plain, "decision_function"):
        return np.asarray(plain.decision_function(X)).reshape(len(X), -1)
    if hasattr(plain, "predict_proba"):
        return plain.predict_proba(X)
    return np.asarray(plain.predict(X)).reshape(len(X), -1)


def total(found: Contributions) -> np.ndarray:
    return (found.values.sum(axis=1) + found.base_values).reshape(len(found.values), -1)


@pytest.mark.quick(9)
@pytest.mark.filterwarnings("ignore:Variables are collinear", "ignore::FutureWarning")
@pytest.mark.parametrize("name", CASES)
def test_values_sum_to_what_the_lifted_model_answers(name: str) -> None:
    model = fitted(prepared(CASES[name][0]), CASES[name][1])
    found, wanted = model.contributions(TABLE), answers(model, TABLE)
    size = max(1, np.abs(wanted).max())
    np.testing.assert_allclose(total(found) / size, wanted / size, atol=1e-4)
    assert found.columns == ("age", "idle", "town", "pay", "age, pay")
    assert found.values.shape[1] == 5
    assert not found.values[:, 1].any(), "no step reads it"
    assert found.values[:, 2].any(), "each step is read"
    assert len(found.outputs) == (wanted.shape[1] if wanted.shape[1] > 1 else found.outputs != ())


def test_only_the_trees_that_answer_are_explained() -> None:
    X, y = RNG.normal(size=(ROWS, 3)), RNG.normal(size=ROWS)
    estimator = XGBRegressor(n_estimators=40, early_stopping_rounds=2)
    model = Accelerated(estimator, device="cpu")
    model.fit(X[:150], y[:150], eval_set=[(X[150:], y[150:])], verbose=False)
    best = model.plan_.steps[-1].worker.native.best_iteration
    booster = model.to_sklearn().get_booster()
    assert best + 1 < booster.num_boosted_rounds()
    own = booster.predict(xgboost.DMatrix(X), pred_contribs=True, iteration_range=(0, best + 1))
    np.testing.assert_allclose(model.contributions(X).values, own[:, :-1], atol=1e-7)


def test_categories_and_holes_that_xgboost_reads_itself() -> None:
    table = TABLE.drop(columns="idle").astype({"town": "category"})
    model = fitted(XGBRegressor(n_estimators=10, enable_categorical=True), VALUES, table)
    matrix = xgboost.DMatrix(table, enable_categorical=True)
    own = model.to_sklearn().get_booster().predict(matrix, pred_contribs=True)
    np.testing.assert_allclose(model.contributions(table).values, own[:, :-1], atol=1e-7)
    few = table[:9].assign(town=table["town"][:9].cat.add_categories("Rome"))
    np.testing.assert_allclose(model.contributions(few).values, own[:9, :-1], atol=1e-7)


def test_the_background_is_the_training_rows_or_what_is_passed() -> None:
    model = fitted(prepared(Ridge()), VALUES)
    every = model.contributions(TABLE).values
    np.testing.assert_allclose(every.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(model.contributions(TABLE[:1]).values, every[:1])
    same = model.contributions(TABLE[:5].assign(town="York"))
    assert same.values[:, 2].all(), "a column that is constant in X is explained too"
    other = model.contributions(TABLE[:1], background=TABLE[100:])
    assert not np.allclose(other.values, every[:1])
    with pytest.raises(DataError, match="0 sample"):
        model.contributions(TABLE, background=TABLE[:0])


X_PLAIN = RNG.normal(5, 1, size=(ROWS, 3)).astype("float32")
"""Means in float32 of these have 3 or 4 digits less."""


@pytest.mark.parametrize(
    ("last", "X"),
    [
        (Ridge(), X_PLAIN),
        (LinearRegression(copy_X=False), X_PLAIN),
        (Ridge(), pd.DataFrame(X_PLAIN)),
        (Ridge(), sparse.csr_matrix(X_PLAIN)),
        (Ridge(), sparse.csc_matrix(X_PLAIN)),
        (Ridge(), sparse.csr_matrix(X_PLAIN.shape)),
    ],
    ids=["array", "overwritten", "frame", "csr", "csc", "no values"],
)
def test_means_are_those_of_the_training_rows_in_float64(last: Any, X: Any) -> None:
    wanted = X_PLAIN.astype("float64").mean(axis=0) * (getattr(X, "nnz", 1) > 0)
    model = Accelerated(last, device="cpu").fit(X.copy(), VALUES, sample_weight=PLACES + 1.0)
    n_rows, means = model.plan_.steps[-1].worker.background
    assert (n_rows, means.dtype) == (ROWS, "float64")
    np.testing.assert_allclose(means, wanted, rtol=1e-12)


def test_batches_and_partitions_have_the_means_of_all_rows() -> None:
    batches = Accelerated(SGDRegressor(random_state=0), device="cpu")
    for start in range(0, ROWS, 100):
        batches.partial_fit(X_PLAIN[start : start + 100], VALUES[start : start + 100])
    parts = Accelerated(make_pipeline(StandardScaler(with_mean=False), Ridge()), device="cpu")
    parts.fit(da.from_array(X_PLAIN, chunks=(50, 3)), VALUES)
    scale = X_PLAIN.std(axis=0, dtype="float64")
    for model, by in ((batches, 1.0), (parts, scale)):
        n_rows, means = model.plan_.steps[-1].worker.background
        assert n_rows == ROWS
        np.testing.assert_allclose(means * by, X_PLAIN.mean(axis=0, dtype="float64"), rtol=1e-6)


def test_a_model_without_means_asks_for_a_background(tmp_path: Path) -> None:
    model = fitted(prepared(Ridge()), VALUES)
    wanted = model.contributions(TABLE)
    model.plan_.steps[-1].worker.background = None  # as an older version saved it
    old = load(save(model, tmp_path / "old.model"), device="cpu")
    printing = make_pipeline(StandardScaler(), Ridge(), verbose=True)  # scikit-learn runs it
    for each, X in ((old, TABLE), (fitted(printing, VALUES, X_PLAIN), X_PLAIN)):
        with pytest.raises(DataError, match=r"(ridge|pipeline): .*; pass background="):
            each.contributions(X)
    found = old.contributions(TABLE, background=TABLE)
    np.testing.assert_allclose(found.values, wanted.values, atol=1e-12)


ONE_OF_EACH_KIND = pytest.mark.parametrize(
    "last",
    [XGBRegressor(n_estimators=5), Ridge(), RandomForestRegressor(5, random_state=0)],
    ids=lambda each: type(each).__name__,
)


@pytest.mark.quick(1)
@ONE_OF_EACH_KIND
def test_a_saved_model_and_every_form_of_the_table_are_explained_alike(
    last: Any, tmp_path: Path
) -> None:
    model = fitted(prepared(last), VALUES)
    wanted = model.contributions(TABLE).values
    loaded = load(save(model, tmp_path / "a.model"), device="cpu")
    backwards = TABLE[TABLE.columns[::-1]]
    for X in (TABLE, backwards, pl.from_pandas(TABLE), pa.Table.from_pandas(TABLE)):
        for each in (model, loaded):
            np.testing.assert_allclose(each.contributions(X).values, wanted, atol=1e-6)
    parts = dd.from_pandas(TABLE, npartitions=2)
    with pytest.raises(DataError, match="an explanation needs all rows in one table"):
        model.contributions(parts)


def test_texts_are_one_column() -> None:
    texts = [f"row {i % 7} of {'few' if c else 'many'}" for i, c in enumerate(PLACES > 0)]
    model = fitted(make_pipeline(TfidfVectorizer(), LogisticRegression()), TWO, texts)
    found = model.contributions(texts)
    assert found.columns == ("text",)
    np.testing.assert_allclose(total(found), answers(model, texts), atol=1e-9)
    named = pd.Series(texts, name="review")
    assert fitted(model.estimator, TWO, named).contributions(named).columns == ("review",)


def test_columns_that_a_step_mixes_stand_together() -> None:
    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(), PCA(2)), ["age", "pay", "idle"]),
        (OneHotEncoder(), ["town"]),
    )
    found = fitted(make_pipeline(columns, Ridge()), VALUES).contributions(TABLE)
    assert found.columns == ("town", "age, idle, pay")


@pytest.mark.parametrize(
    ("last", "y", "said"),
    [
        (
            KNeighborsRegressor(),
            VALUES,
            "KNeighborsRegressor has no exact contributions; use a",
        ),
        (SVC(), TWO, "SVC has no exact"),
        (SVC(kernel="linear"), WORDS, "SVC has no exact"),
    ],
    ids=["neighbours", "kernel", "pairs of classes"],
)
def test_others_are_refused_with_a_way_out(last: Any, y: Any, said: str) -> None:
    model = fitted(prepared(last, 0.0), y)
    with pytest.raises(Unsupported, match=said) as refused:
        model.contributions(TABLE)
    assert "model.importance(X, y)" in str(refused.value)
    assert refused.value.reasons[0].step == type(last).__name__.lower()


def test_what_does_not_add_up_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    model = fitted(prepared(Ridge()), VALUES)
    native = model.plan_.steps[-1].worker.native
    answer = native.predict
    monkeypatch.setattr(native, "predict", lambda X: answer(X) + 1e-3 * (np.arange(ROWS) == 7))
    with pytest.raises(ParityError, match="row 7: .* 1 of 240 rows differ"):
        model.contributions(TABLE)


def test_a_frame_of_one_output() -> None:
    model = fitted(prepared(LogisticRegression()), WORDS)
    found = model.contributions(TABLE)
    frame = found.to_frame("mid")
    assert tuple(frame.columns) == found.columns
    np.testing.assert_array_equal(frame.to_numpy(), found.values[:, :, 1])
    with pytest.raises(ConfigError, match=r"output=None: choose from \['low', 'mid', 'top'\]"):
        found.to_frame()
    assert fitted(prepared(Ridge()), VALUES).contributions(TABLE).to_frame().shape == (ROWS, 5)
    shown = repr(found).splitlines()
    assert shown[0] == (
        "Contributions of 5 columns to decision_function in 240 rows, outputs low, mid, top"
    )
    assert shown[1].split("  ")[-3:] == ["mean |low|", "mean |mid|", "mean |top|"]
    sizes = np.abs(found.values).mean(axis=0)
    assert shown[2].split()[0] == found.columns[sizes.sum(axis=1).argmax()], "the largest is first"
    assert shown[2].split()[1:] == [f"{size:.4g}" for size in sizes[sizes.sum(axis=1).argmax()]]
    wide = Contributions(np.ones((2, 30)), np.zeros(2), tuple(range(30)), "predict", ())
    assert repr(wide).endswith("and 20 more")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("last", [XGBRegressor(n_estimators=9), Ridge(), RandomForestRegressor(9)])
def test_values_are_those_of_shap_added_up_by_column(last: Any) -> None:
    shap = pytest.importorskip("shap")
    encoder = OneHotEncoder(sparse_output=False)
    columns = make_column_transformer((encoder, ["town"]), (StandardScaler(), ["pay"]))
    X = TABLE[["town", "pay"]]
    model = fitted(make_pipeline(columns, last), VALUES, X)
    matrix = model[:-1].transform(X)
    if isinstance(last, Ridge):
        rows = shap.maskers.Independent(matrix, max_samples=len(matrix))
        theirs = shap.LinearExplainer(model[-1], rows)(matrix)
    else:
        explain = shap.TreeExplainer(model[-1], feature_perturbation="tree_path_dependent")
        theirs = explain(matrix, check_additivity=False)
    wanted = np.c_[theirs.values[:, :3].sum(axis=1), theirs.values[:, 3]]
    found = model.contributions(X)
    np.testing.assert_allclose(found.values, wanted, atol=2e-6 * np.abs(wanted).max())
    np.testing.assert_allclose(found.base_values, theirs.base_values, rtol=2e-6)


def test_trees_need_shap(monkeypatch: pytest.MonkeyPatch) -> None:
    model = fitted(prepared(RandomForestRegressor(2)), VALUES)
    monkeypatch.setattr("pipeline.model.contributions.available", lambda name: False)
    with pytest.raises(ConfigError, match="the extra `explain`"):
        model.contributions(TABLE)


@ONE_OF_EACH_KIND
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["array", "sparse"])
def test_rows_without_names_are_numbered(last: Any, form: Any) -> None:
    X = form(np.where(RNG.random((ROWS, 4)) < 0.5, 0, RNG.normal(size=(ROWS, 4))))
    y = np.asarray(X.sum(axis=1)).ravel()
    model = fitted(make_pipeline(StandardScaler(with_mean=False), last), y, X)
    found = model.contributions(X)
    assert found.columns == (0, 1, 2, 3)
    plain = np.asarray(model.to_sklearn().predict(X))
    np.testing.assert_allclose(total(found)[:, 0], plain, atol=1e-5)
