"""What no twin runs, branch by branch, beside plain scikit-learn."""

from __future__ import annotations

import pickle
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csc_matrix, csr_array, issparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.experimental import enable_iterative_imputer  # noqa: F401 - makes IterativeImputer
from sklearn.impute import KNNImputer, MissingIndicator, SimpleImputer
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler, TargetEncoder

from pipeline import Accelerated, explain, load, save
from pipeline.blocks import table

ROWS = 120
NUMBERS = make_pipeline(SimpleImputer(), StandardScaler())
ONE_HOT = OneHotEncoder(handle_unknown="ignore", sparse_output=False)


class Shown(TransformerMixin, BaseEstimator):
    """Makes text that says what each cell is."""

    def fit(self, X: Any, y: Any = None) -> Shown:
        self.names_ = list(X.columns)
        return self

    def transform(self, X: Any) -> Any:
        return pd.DataFrame({name: X[name].map(repr) for name in X}, index=X.index)

    def get_feature_names_out(self, names: Any = None) -> np.ndarray:
        return np.asarray(self.names_, dtype=object)


class Folded(TransformerMixin, BaseEstimator):
    """Makes of the rows that it is fitted on what it makes of no others."""

    def fit(self, X: Any, y: Any = None) -> Folded:
        self.names_ = list(X.columns)
        return self

    def transform(self, X: Any) -> Any:
        return np.asarray(X, dtype=float)

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        return self.fit(X).transform(X) + np.asarray(y)[:, None]

    def get_feature_names_out(self, names: Any = None) -> np.ndarray:
        return np.asarray(self.names_, dtype=object)


def length(X: Any) -> Any:
    return X.map(lambda cell: len(str(cell)))


def first_letters(column: pd.Series) -> pd.DataFrame:
    return column.str[:1].to_frame()


def less_the_mean(X: Any) -> Any:
    return X - X.mean()


def function(how: Any) -> FunctionTransformer:
    return FunctionTransformer(how, feature_names_out="one-to-one")


def columns(*transformers: tuple[Any, Any], **params: Any) -> ColumnTransformer:
    return make_column_transformer(*transformers, **params)


def rows(n: int = ROWS, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n)})
    X["i"] = rng.integers(0, 9, n).astype("int8")
    X["flag"] = rng.random(n) < 0.5
    X["t"] = rng.choice(["x", "yy", "zzz"], n)
    X["c"] = X["t"].astype("category")
    objects = {"o": ["p", None, "q", np.nan], "m": [1, "w", 2.5], "raw": [b"r", b"s"]}
    for name, cells in objects.items():
        X[name] = pd.Series([cells[k % len(cells)] for k in range(n)], dtype=object)
    X.loc[::5, "a"] = np.nan
    X.index = np.zeros(n, int)
    return X


CASES: dict[str, Any] = {
    "neighbours": columns((KNNImputer(), ["a", "b"]), (StandardScaler(), ["i"]), (ONE_HOT, ["t"])),
    "components behind a twin": columns((make_pipeline(SimpleImputer(), PCA(1)), ["a", "i"])),
    "in a union": columns((make_union(KNNImputer(), SimpleImputer()), ["a", "b"])),
    "weighted": ColumnTransformer(
        [("k", KNNImputer(), ["a"]), ("s", StandardScaler(), ["b"])], transformer_weights={"k": 3}
    ),
    "other rows of the training": columns((Folded(), ["b"]), (TargetEncoder(cv=KFold(3)), ["t"])),
    "a function of all rows": columns((function(less_the_mean), ["b"]), (ONE_HOT, ["t"])),
    "objects as they are passed": columns((Shown(), ["o", "m", "raw", "c", "t", "i"])),
    "text that is passed on": columns(("passthrough", ["t", "c", "i"]), (StandardScaler(), ["b"])),
    "objects that are passed on": columns(("passthrough", ["o", "m", "raw"]), (NUMBERS, ["a"])),
    "what is missing": columns((MissingIndicator(), ["a", "t"])),
    "a series": columns((FunctionTransformer(first_letters), "t"), (StandardScaler(), ["b"])),
    "short names": columns(
        (KNNImputer(), ["a"]), ("passthrough", ["t", "i"]), verbose_feature_names_out=False
    ),
}


def assert_same(ours: Any, theirs: Any) -> None:
    assert type(ours) is type(theirs)
    if isinstance(theirs, pd.DataFrame):
        pd.testing.assert_frame_equal(ours, theirs, rtol=1e-9)
        ours, theirs = ours.to_numpy(), theirs.to_numpy()
    assert ours.dtype == theirs.dtype
    assert ours.shape == theirs.shape
    if theirs.dtype == object:
        assert [type(cell) for cell in ours.flat] == [type(cell) for cell in theirs.flat]
        ours, theirs = (
            np.array(list(map(rounded, each.flat)), dtype=object) for each in (ours, theirs)
        )
        assert ours.tolist() == theirs.tolist()
    else:
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


def rounded(cell: Any) -> Any:
    return repr(round(cell, 9) + 0.0) if isinstance(cell, float) else cell


@pytest.mark.quick(9)
@pytest.mark.parametrize(
    ("name", "output"),
    [(n, how) for n in CASES for how in ("default", "pandas")],
)
@pytest.mark.filterwarnings("ignore:When `set_output`", "ignore:.*early stopping")
def test_equals_sklearn(name: str, output: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "CHUNK_ROWS", 50)
    X, new, y = rows(), rows(70, seed=1), np.random.default_rng(2).normal(size=ROWS)
    estimator = clone(CASES[name])
    if output != "default":
        estimator.set_output(transform=output)
        X, new = X.reset_index(drop=True), new.reset_index(drop=True)
    reference, model = clone(estimator), Accelerated(estimator, device="cpu")
    assert_same(model.fit_transform(X, y), reference.fit_transform(X, y))
    assert_same(model.transform(new), reference.transform(new))
    lifted = model.to_sklearn()
    assert_same(lifted.transform(new), reference.transform(new))
    if hasattr(reference, "get_feature_names_out") and output == "default":
        assert names_or_error(model) == names_or_error(reference)


def names_or_error(model: Any) -> Any:
    try:
        return model.get_feature_names_out().tolist()
    except AttributeError as error:
        return type(error)


def test_partitions_are_gathered_for_what_needs_all_rows() -> None:
    X, new = (rows(seed=seed).reset_index(drop=True)[["a", "b", "i", "t"]] for seed in (0, 1))
    partitions, others = (dd.from_pandas(each, npartitions=3) for each in (X, new))
    estimator = CASES["neighbours"]
    assert "gathered to one process" in str(explain(estimator, "cpu", partitions))
    model = Accelerated(estimator, device="cpu").fit(partitions)
    expected = clone(estimator).fit(X).transform(new)
    assert "knnimputer learns from all rows at once" in model.plan_.placements[0].note
    for fitted in (model, pickle.loads(pickle.dumps(model))):
        np.testing.assert_allclose(fitted.transform(others), expected, rtol=1e-9)


@pytest.mark.parametrize(
    "name", ["neighbours", "text that is passed on", "components behind a twin"]
)
def test_a_saved_model_transforms_the_same(name: str, tmp_path: Any) -> None:
    X, new = rows(), rows(30, seed=1)
    model = Accelerated(CASES[name], device="cpu").fit(X)
    loaded = load(save(model, tmp_path / "model"), device="cpu")
    assert_same(loaded.transform(new), model.transform(new))


@pytest.mark.parametrize(
    "branch",
    [
        FunctionTransformer(csc_matrix),
        make_pipeline(Shown(), OneHotEncoder()),
        make_union(FunctionTransformer(csr_array), OneHotEncoder()),
    ],
    ids=["a function", "objects", "an array"],
)
@pytest.mark.parametrize("threshold", [0, 1])
def test_sparse_rows_of_workers_are_stacked_as_they_are(branch: Any, threshold: float) -> None:
    estimator = columns((branch, ["b", "i"]), (StandardScaler(), ["i"]), sparse_threshold=threshold)
    X, reference = rows(), clone(estimator)
    model = Accelerated(estimator, device="cpu")
    for method in ("fit_transform", "transform"):
        made, expected = getattr(model, method)(X), getattr(reference, method)(X)
        assert type(made) is type(expected)
        np.testing.assert_allclose(*(m.toarray() if issparse(m) else m for m in (made, expected)))
    assert model.plan_.placements[0].implementation != "sklearn.ColumnTransformer"


class Widens(TransformerMixin, BaseEstimator):
    """Makes twice as many columns of rows that it was not fitted on."""

    def fit(self, X: Any, y: Any = None) -> Widens:
        self.fitted_ = True
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        return self.fit(X).transform(X)[:, : np.shape(X)[1]]

    def transform(self, X: Any) -> Any:
        return np.hstack([X, X])


@pytest.mark.parametrize("n_columns", [1, 3])
def test_other_widths_than_at_fit_are_refused_as_in_scikit_learn(n_columns: int) -> None:
    X = np.random.default_rng(0).normal(size=(20, n_columns))
    steps = make_pipeline(Widens(), StandardScaler())
    whole = make_column_transformer((steps, list(range(n_columns))))
    for fitted in (clone(whole).fit(X), Accelerated(whole, device="cpu").fit(X)):
        with pytest.raises(ValueError, match=f"X has {2 * n_columns} features"):
            fitted.transform(X)
