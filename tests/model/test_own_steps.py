"""Cheap steps of numbers are scikit-learn's own on the CPU, wherever a twin would be slower."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from xgboost import XGBClassifier

from pipeline import Accelerated, DataError, load, save, twins
from pipeline.blocks.block import Numbers
from pipeline.blocks.table import Once, Table
from pipeline.compile.build import build
from pipeline.compile.flat import FlatProgram
from pipeline.compile.nodes import NodeInput
from pipeline.compile.rules import compile_transformer
from pipeline.compile.spec import spec_of
from pipeline.table import frames

ROWS = 40_000
TWIN = "pipeline (NumPy)"
EXACTLY = "the next one distinguishes 0 from 1e-19"


def table(n_rows: int = ROWS, kind: Any = "float64") -> pd.DataFrame:
    """Return numbers far from zero and near it, with gaps in one column."""
    values = np.random.default_rng(0).normal(3, 2, (n_rows, 3)) * [1, 1e-3, 1e4]
    X = pd.DataFrame(values.astype(kind), columns=["a", "b", "c"])
    X.loc[::7, "a"] = np.nan
    return X


X = table()
y = X["b"].to_numpy() > 0.003
OWN: dict[str, Any] = {
    "mean": SimpleImputer(),
    "scaler": StandardScaler(),
    "imputer, scaler": make_pipeline(SimpleImputer(), StandardScaler()),
    "a frame between": make_pipeline(
        SimpleImputer().set_output(transform="pandas"), StandardScaler()
    ),
    "before PCA": make_pipeline(SimpleImputer(), StandardScaler(), PCA(2)),
    "columns": make_pipeline(
        make_column_transformer((StandardScaler(), ["a", "b"]), ("passthrough", ["c"])),
        SimpleImputer(),
    ),
    "function": FunctionTransformer(np.arctan),
}


def ran(model: Accelerated) -> set[str]:
    """Return what ran the preprocessing of a fitted model."""
    placements = [place for step in model.plan_.steps[:1] for place in step.placements]
    assert not any(place.reasons for place in placements), "it is no fallback"
    return {place.implementation for place in placements}


def names_in(part: Any) -> list[Any]:
    """Return the names of columns of a fitted estimator, and of the steps in it."""
    own = list(vars(part).get("feature_names_in_", ()))
    return [own, *(names_in(step) for _, step in getattr(part, "steps", ()))]


def answers(model: Any, rows: Any) -> Any:
    """Return what a fitted model makes of rows."""
    return np.asarray((model.predict if hasattr(model, "predict") else model.transform)(rows))


@pytest.mark.quick(8)
@pytest.mark.parametrize("kind", ["float64", "float32"])
@pytest.mark.parametrize("name", OWN)
def test_steps_of_numbers_are_sklearns_own(name: str, kind: str, tmp_path: Path) -> None:
    rows = table(kind=kind)
    plain = clone(OWN[name]).fit(rows, y)
    expected = answers(plain, rows)
    model = Accelerated(OWN[name], device="cpu").fit(rows, y)
    assert TWIN not in ran(model)
    why = "output for a frame is a frame" if name == "function" else "faster"
    assert why in model.plan_.placements[0].note
    made = answers(model, rows)
    assert made.dtype == expected.dtype
    np.testing.assert_array_equal(made, expected)
    np.testing.assert_array_equal(answers(model.to_sklearn(), rows), expected)
    assert names_in(model.to_sklearn()) == names_in(plain)
    save(model, tmp_path / "own.model")
    loaded = load(tmp_path / "own.model", device="cpu")
    np.testing.assert_array_equal(answers(loaded, rows), expected)
    if hasattr(model, "fit_transform"):
        again = Accelerated(OWN[name], device="cpu").fit_transform(rows, y)
        np.testing.assert_array_equal(again, clone(OWN[name]).fit_transform(rows, y))


TWINS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "few rows": (MinMaxScaler(), X[:100], {}),
    "scikit-learn could add no rows": (make_union(MinMaxScaler(), MaxAbsScaler()), X, {}),
    "a twin is faster": (make_pipeline(SimpleImputer(), PolynomialFeatures()), X, {}),
    "rows are contiguous": (StandardScaler(), np.ascontiguousarray(X), {}),
    "text beside them": (
        make_column_transformer((StandardScaler(), ["b"]), (OneHotEncoder(), ["t"])),
        X.assign(t="x"),
        {},
    ),
    "float64 of float32": (MinMaxScaler(), table(kind="float32"), {"dtype": "float64"}),
    "in place": (MinMaxScaler(copy=False), X, {}),
    "a frame is asked for": (MinMaxScaler().set_output(transform="pandas"), X, {}),
}


@pytest.mark.parametrize("name", TWINS)
def test_other_rows_are_the_twins(name: str) -> None:
    estimator, rows, options = TWINS[name]
    model = Accelerated(estimator, device="cpu", **options).fit(rows)
    assert ran(model) == {TWIN}


def test_columns_are_named_where_sklearn_names_none() -> None:
    infinite = X.replace({"b": {X["b"][3]: np.inf}})
    with pytest.raises(DataError, match=r"^Input X contains infinity(.|\n)*'b'"):
        Accelerated(SimpleImputer(), device="cpu").fit(infinite)
    model = Accelerated(SimpleImputer(), device="cpu").fit(X)
    with pytest.raises(DataError, match=r"^Input X contains infinity(.|\n)*'b'"):
        model.transform(infinite)
    assert TWIN not in ran(model)


@pytest.mark.parametrize(
    ("estimator", "n_rows"),
    [
        (RobustScaler(), 10_000),
        (QuantileTransformer(n_quantiles=20), 100),
        (SimpleImputer(strategy="most_frequent"), ROWS),
    ],
)
def test_rows_that_were_not_kept_are_not_forgotten_in_silence(estimator: Any, n_rows: int) -> None:
    model = Accelerated(estimator, device="cpu").fit(X[:n_rows])
    assert TWIN not in ran(model)
    with pytest.raises(AttributeError, match="call partial_fit for the first rows as well"):
        model.partial_fit(X)


@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler(), MaxAbsScaler()])
def test_rows_are_added_as_sklearn_adds_them(scaler: Any) -> None:
    expected = clone(scaler).fit(X).partial_fit(5 * X[:100])
    model = Accelerated(scaler, device="cpu").fit(X)
    assert TWIN not in ran(model)
    model.partial_fit(5 * X[:100])
    for n_rows in (3, ROWS):
        np.testing.assert_array_equal(model.transform(X[:n_rows]), expected.transform(X[:n_rows]))
    seen = model.to_sklearn().n_samples_seen_
    np.testing.assert_array_equal(seen, expected.n_samples_seen_)


def test_weighted_rows_are_added_as_sklearn_adds_them() -> None:
    rows, weights = X, np.arange(ROWS) % 3
    expected = StandardScaler().fit(rows).partial_fit(rows[::2], sample_weight=weights[::2])
    model = Accelerated(StandardScaler(), device="cpu").fit(rows)
    assert TWIN not in ran(model)
    model.partial_fit(rows[::2], sample_weight=weights[::2])
    np.testing.assert_array_equal(model.transform(rows), expected.transform(rows))
    with pytest.raises(ValueError, match="feature names should match"):
        model.partial_fit(rows.rename(columns={"b": "z"}))


EXACT = [
    *(SimpleImputer(strategy=how) for how in ("mean", "median", "most_frequent")),
    SimpleImputer(strategy="constant", fill_value=-1, add_indicator=True),
    SimpleImputer(keep_empty_features=True),
    *(StandardScaler(with_mean=m, with_std=s) for m in (True, False) for s in (True, False)),
    MinMaxScaler((-1, 2), clip=True),
    MaxAbsScaler(),
    RobustScaler(quantile_range=(10, 80), unit_variance=True),
    RobustScaler(with_scaling=False),
    VarianceThreshold(),
    SelectKBest(k=2),
]


def wide(n_rows: int, seed: int, kinds: list[str]) -> pd.DataFrame:
    """Return columns of many sizes and signs, some with gaps, of these types."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n_rows, len(kinds))) * 10.0 ** rng.integers(-6, 7, len(kinds))
    X = pd.DataFrame({str(j): values[:, j] for j in range(len(kinds))})
    for name, kind in zip(X, kinds, strict=True):
        X[name] = (X[name] % 100 if kind[0] in "iu" else X[name]).astype(kind)
    return X


@pytest.mark.parametrize("estimator", EXACT, ids=str)
@pytest.mark.parametrize(
    ("kinds", "others"),
    [
        (["float64"] * 4, ["float64"] * 4),
        (["float32"] * 4, ["float32"] * 4),
        (["float64", "float32", "int64", "uint8"], ["float64", "float32", "int64", "uint8"]),
        (["float64", "float32", "int16", "uint8"], ["float64", "float32", "int64", "int64"]),
        (["float64", "int64", "int64", "int64"], ["float64", "int8", "uint64", "uint8"]),
    ],
    ids=str,
)
def test_twins_that_stand_in_for_few_rows_make_the_same_bits(
    estimator: Any, kinds: list[str], others: list[str]
) -> None:
    assert twins.TWINS[type(estimator)].exact
    rows, new = wide(500, 0, kinds), wide(3_000, 1, others)
    assert Table(new).has([*rows.dtypes.items()])
    if isinstance(estimator, SimpleImputer | StandardScaler):
        for each in (rows, new):
            each.loc[::3, "0"] = np.nan
    fitted = clone(estimator).fit(rows, np.arange(500) % 2)
    node = build(compile_transformer(estimator, "step", spec_of(rows)), frames.head(rows))
    node.resume(fitted, NodeInput(list(rows), framed=True), iter(list(node.forms())))
    flat = FlatProgram(node, frames.head(rows))
    table_of_new = Table(new)
    made: Any = flat.bind(table_of_new)(table_of_new.whole)
    expected = fitted.transform(new)
    assert made.values.dtype == expected.dtype
    np.testing.assert_array_equal(np.asarray(made.values), expected)


def test_zeros_of_few_rows_are_sklearns_before_trees() -> None:
    rows = table(5_000).assign(t=np.arange(5_000) % 40)
    branches = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), ["a", "b", "c"]),
        (OneHotEncoder(), ["t"]),
    )
    boosted = make_pipeline(branches, XGBClassifier(n_estimators=5))
    model = Accelerated(boosted, device="cpu").fit(rows, y[:5_000])
    assert [EXACTLY in place.note for place in model.plan_.placements] == [True, True, False, False]
    plain = clone(boosted).fit(rows, y[:5_000])
    for n_rows in (1, 10, 2_047, 5_000):
        few = rows[:n_rows]
        made = model.plan_.transform(model.inputs_.take(few))
        expected = plain[0].transform(few).astype("float32")  # as XGBoost reads it
        for part in ("data", "indices", "indptr"):
            np.testing.assert_array_equal(getattr(made, part), getattr(expected, part))
        np.testing.assert_array_equal(model.predict_proba(few), plain.predict_proba(few))


def test_few_rows_of_a_loaded_model_run_no_step_of_sklearns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts, few = np.resize([*"uvwx", None], 12_000), y[:12_000]
    rows = X[: len(few)].assign(
        t=pd.Categorical(texts), s=pd.array(texts, "str"), n=pd.Categorical(few * 3)
    )
    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), ["a", "b"]),
        (OneHotEncoder(handle_unknown="ignore"), ["t", "s", "n"]),
        remainder="passthrough",
    )
    model = make_pipeline(columns, Ridge()).fit(rows, few)
    save(Accelerated(clone(model), device="cpu").fit(rows, few), tmp_path / "model")
    others = pd.Categorical(["x", None, "new"], categories=["new", "x", *"abcdefghijklm"])
    new = rows[:3].assign(t=others, s=pd.array(["new", "v", None], "str"))
    expected = [model.predict(each) for each in (rows[:2_047], new)]
    loaded = load(tmp_path / "model", device="cpu")
    for own in (SimpleImputer, StandardScaler, OneHotEncoder):
        monkeypatch.delattr(own, "transform")
    for each, answer in zip((rows[:2_047], new), expected, strict=True):
        np.testing.assert_allclose(loaded.predict(each), answer, rtol=1e-9)


def test_few_new_rows_of_columns_side_by_side_are_a_matrix() -> None:
    columns = make_column_transformer((SimpleImputer(), ["a"]), remainder="passthrough")
    model = Accelerated(make_pipeline(columns, Ridge()), device="cpu").fit(X, y)
    assert "faster" in model.plan_.placements[0].note
    plain = make_pipeline(clone(columns), Ridge()).fit(X, y)
    for n_rows in (1, 5_000):
        np.testing.assert_array_equal(model.predict(X[:n_rows]), plain.predict(X[:n_rows]))


@pytest.mark.parametrize("new", [["a", "b", "c"], ["a"]], ids=len)
def test_columns_that_a_step_before_did_not_make_at_fit_are_refused(new: list[str]) -> None:
    steps = make_pipeline(FunctionTransformer(pd.get_dummies), StandardScaler())
    plain, rows = clone(steps), pd.DataFrame({"k": ["a", "b"] * 10})
    model = Accelerated(steps, device="cpu").fit(rows)
    for fitted in (plain.fit(rows), model):
        with pytest.raises(ValueError, match="feature names"):
            fitted.transform(pd.DataFrame({"k": new}))


def test_few_rows_of_other_types_are_sklearns() -> None:
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(60_000, 2)), columns=["c", "d"])
    narrow = rows.astype("float32")
    new = narrow[:2].assign(d=np.nan)
    plain = SimpleImputer().fit(narrow)
    model = Accelerated(SimpleImputer(), device="cpu").fit(narrow)
    np.testing.assert_array_equal(model.transform(new), plain.transform(new))
    zero = SimpleImputer(strategy="constant", fill_value=0)
    model = Accelerated(zero, device="cpu").fit(rows)
    with pytest.raises(ValueError, match="bool"):
        model.transform(rows[:3] > 0)


IMPUTED = make_pipeline(SimpleImputer(), RobustScaler())


@pytest.mark.parametrize("n_rows", [100, ROWS])
@pytest.mark.parametrize("method", ["fit", "fit_transform"])
@pytest.mark.parametrize(
    "estimator",
    [
        SimpleImputer(),
        IMPUTED,
        make_pipeline(StandardScaler(), SimpleImputer()),
        make_union(SimpleImputer(), IMPUTED),
        make_column_transformer((SimpleImputer(), ["a", "b"])),
    ],
    ids=["imputer", "first", "last", "union", "columns"],
)
def test_a_fit_warns_of_dropped_columns_where_sklearn_does(
    estimator: Any, method: str, n_rows: int
) -> None:
    said = []
    for model in (clone(estimator), Accelerated(clone(estimator), device="cpu")):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            getattr(model, method)(X[:n_rows].assign(b=np.nan))
        said.append([str(w.message) for w in caught if "Skipping" in str(w.message)])
    assert said[0] == said[1]


def test_a_model_holds_nothing_that_is_attached_to_the_frame_of_its_fit() -> None:
    attached = X[["a"]].copy()
    attached.attrs["how"] = lambda: 0  # which cannot be pickled
    model = Accelerated(StandardScaler(), device="cpu").fit(attached)
    assert pickle.loads(pickle.dumps(model)).n_features_in_ == 1


def test_wide_blocks_are_not_kept() -> None:
    for n_rows, kept in ((100, True), (10_000, False)):
        data = Table(np.zeros((n_rows, 2)))
        data.keeps = True
        read = Once(lambda part: Numbers(np.zeros((part.n_rows, 20))))
        assert (read(data.whole) is read(data.whole)) is kept
        assert data.keeps is kept


def test_dense_branches_before_trees_are_twins() -> None:
    rows = table(300).assign(t=np.arange(300) % 4)
    branches = make_column_transformer((StandardScaler(), ["a"]), (OrdinalEncoder(), ["t"]))
    model = Accelerated(make_pipeline(branches, XGBClassifier(n_estimators=2)), device="cpu")
    assert ran(model.fit(rows, y[:300])) == {TWIN}
