"""Rows are sparse on the CPU where scikit-learn's are: the same cells, types and structure."""

from __future__ import annotations

import re
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from scipy import sparse
from sklearn import config_context, get_config
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import RandomTreesEmbedding
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.impute import KNNImputer, MissingIndicator, SimpleImputer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
)
from xgboost import XGBClassifier

from pipeline import Accelerated, load, save
from pipeline.compile.program import Program
from pipeline.compile.rules import compile_transformer
from pipeline.compile.spec import RowSpec
from pipeline.table import partitioned
from tests.clusters import in_process
from tests.names import plain
from tests.strategies import tables

ROWS = 400
RNG = np.random.default_rng(0)
X = pd.DataFrame(
    {
        "a": RNG.normal(size=ROWS),
        "b": RNG.integers(0, 3, ROWS).astype("float64"),
        "gaps": np.where(RNG.random(ROWS) < 0.2, np.nan, RNG.normal(size=ROWS)),
        "t": RNG.choice([f"v{i}" for i in range(40)], ROWS),
        "narrow": RNG.normal(size=ROWS).astype("float32"),
        "u": RNG.choice(list("abc"), ROWS),
    }
)
Y = (RNG.random(ROWS) < 0.4).astype("int64")
NEW = X.sample(30, random_state=0).assign(t=["new", *X["t"][:29]])
TREES = RandomTreesEmbedding(3, max_depth=3, random_state=0)
HOT = OneHotEncoder(handle_unknown="ignore")
NUMBERS = (StandardScaler(), ["a", "b"])
WIDE = make_column_transformer(NUMBERS, (HOT, ["t", "u"]))

SPECS: dict[str, Any] = {
    "one-hot": make_column_transformer((HOT, ["t"])),
    "one dropped": make_column_transformer((OneHotEncoder(drop="first"), ["u", "b"])),
    "beside numbers": WIDE,
    "dense as asked for": clone(WIDE).set_params(sparse_threshold=0),
    "sparse as asked for": make_column_transformer(NUMBERS, (HOT, ["u"]), sparse_threshold=1.0),
    "weighted": clone(WIDE).set_params(transformer_weights={"onehotencoder": 0.5}),
    "indicators alone": MissingIndicator(sparse=True),
    "trees": make_column_transformer((TREES, ["a"]), NUMBERS),
    "weighed as they pass": make_column_transformer(
        (HOT, ["t"]), ("passthrough", ["a", "narrow"])
    ).set_params(transformer_weights={"passthrough": 2.5}),
}

ALONE = {
    "indicators alone": ["a", "gaps"],
}
"""Columns of the transformers that read all there are."""

BEHIND: tuple[Any, ...] = (
    MaxAbsScaler(),
    StandardScaler(with_mean=False),
    Normalizer(),
    Binarizer(),
    VarianceThreshold(0.02),
    SelectKBest(k=4),  # the fifth and the sixth column have one score, up to the order of sums
    TruncatedSVD(3, random_state=0),
    RobustScaler(with_centering=False),
    SimpleImputer(),
    SimpleImputer(add_indicator=True),
    MissingIndicator(),
    FunctionTransformer(accept_sparse=True),
    PolynomialFeatures(interaction_only=True),
    TfidfTransformer(),
    make_union("passthrough", TruncatedSVD(2, random_state=0)),
    make_pipeline(MaxAbsScaler(), SimpleImputer(), Normalizer()),
    "passthrough",
)
SPECS |= {f"before {plain(step)}": make_pipeline(WIDE, step) for step in BEHIND}
SPECS["one-hot, scaled"] = make_pipeline(make_column_transformer((HOT, ["t"])), MaxAbsScaler())

OF_ANY: tuple[Any, ...] = (
    OneHotEncoder(handle_unknown="ignore"),
    OneHotEncoder(handle_unknown="ignore", drop="if_binary", dtype="int8"),
    OneHotEncoder(handle_unknown="ignore", drop="first", min_frequency=3),
    OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=2, dtype=bool),
    OneHotEncoder(handle_unknown="ignore", sparse_output=False),
    make_union(HOT, OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=0.3)),
    make_pipeline(HOT, MaxAbsScaler()),
    make_pipeline(HOT, PolynomialFeatures(interaction_only=True, include_bias=False)),
)
OF_FLOATS: tuple[Any, ...] = (
    "passthrough",
    MissingIndicator(features="all", sparse=True),
    SimpleImputer(add_indicator=True, keep_empty_features=True, strategy="most_frequent"),
    make_pipeline(SimpleImputer(keep_empty_features=True), KBinsDiscretizer(2, strategy="uniform")),
    make_union(MissingIndicator(features="all"), SimpleImputer(keep_empty_features=True)),
)

DENSE_ONLY: tuple[Any, ...] = (
    StandardScaler(),
    RobustScaler(),
    MinMaxScaler(),
    PowerTransformer(),
    KBinsDiscretizer(3, quantile_method="linear"),
    OneHotEncoder(),
    OrdinalEncoder(),
    SimpleImputer(missing_values=0),
    Binarizer(threshold=-1),
    KNNImputer(),
    make_union(MaxAbsScaler(), StandardScaler()),
)


def assert_same(made: Any, expected: Any) -> None:
    assert type(made) is type(expected)
    assert made.dtype == expected.dtype
    if sparse.issparse(expected):
        assert made.shape == expected.shape
        for part in ("indptr", "indices", "row", "col", "has_sorted_indices"):
            ours, theirs = (np.asarray(getattr(each, part, None)) for each in (made, expected))
            assert ours.dtype == theirs.dtype
            np.testing.assert_array_equal(ours, theirs)
        made, expected = made.data, expected.data
    np.testing.assert_allclose(made, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.quick(9)
@pytest.mark.filterwarnings("ignore:Found unknown")
@pytest.mark.parametrize("name", SPECS)
@pytest.mark.parametrize("form", ["table", "partitions"])
def test_rows_are_those_of_sklearn(name: str, form: str, tmp_path: Path) -> None:
    estimator, given = SPECS[name], (lambda X: X) if form == "table" else parts
    model, reference = Accelerated(clone(estimator), device="cpu"), clone(estimator)
    columns = ALONE.get(name, list(X))
    new, train = (X.iloc[:30] if name == "one dropped" else NEW)[columns], X[columns]
    expected = by_rows(reference.fit_transform(train, Y), form)
    assert_same(by_rows(computed(model.fit_transform(given(train), Y), expected), form), expected)
    expected = reference.transform(new)
    assert_same(model.to_sklearn().transform(new), expected)
    save(model, tmp_path / "m.model")
    for each in (model, load(tmp_path / "m.model", device="cpu")):
        assert_same(by_rows(each.transform(new), form), by_rows(expected, form))
        made = each.transform(given(new))
        assert_same(computed(made, by_rows(expected, form)), by_rows(expected, form))


@pytest.mark.skipif("sparse_interface" not in get_config(), reason="scikit-learn 1.9 has it")
@pytest.mark.parametrize("step", [WIDE, HOT, make_pipeline(WIDE, MaxAbsScaler())], ids=plain)
def test_rows_are_an_array_where_sklearn_is_asked_for_it(step: Any) -> None:
    with config_context(sparse_interface="sparray"):
        made = Accelerated(clone(step), device="cpu").fit_transform(X)
        assert_same(made, clone(step).fit_transform(X))
    assert isinstance(made, sparse.csr_array)


@given(table=tables(), data=st.data())
def test_any_table_becomes_the_rows_of_sklearn(table: pd.DataFrame, data: st.DataObject) -> None:
    floats = [name for name in table if table[name].dtype == "float64"]
    branches = [
        (
            str(i),
            data.draw(st.sampled_from(how)),
            data.draw(st.lists(st.sampled_from(names), unique=True)),
        )
        for i, (how, names) in enumerate([(OF_ANY, list(table)), (OF_FLOATS, floats)])
        if names
    ]
    estimator = ColumnTransformer(
        branches,
        sparse_threshold=data.draw(st.sampled_from([0, 0.3, 1])),
        transformer_weights=data.draw(st.sampled_from([None, {"0": 0.5}, {"1": 2}])),
    )
    program = Program(
        estimator, why_dense="", op=compile_transformer(estimator, "estimator", RowSpec())
    )
    first, reference = table[: data.draw(st.integers(1, len(table)))], clone(estimator)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = reference.fit_transform(first)
        except ZeroDivisionError:  # scikit-learn's, where no column comes out
            reject()
        assert_same(program.fit_transform(first), expected)
        assert_same(program.transform(table), reference.transform(table))


@pytest.mark.parametrize("step", DENSE_ONLY, ids=plain)
def test_what_takes_no_sparse_rows_says_so_as_sklearn_does(step: Any) -> None:
    whole = make_pipeline(WIDE, step)
    with pytest.raises((ValueError, TypeError)) as theirs:
        clone(whole).fit_transform(X, Y)
    with pytest.raises(type(theirs.value), match=re.escape(str(theirs.value))):
        Accelerated(whole, device="cpu").fit_transform(X, Y)


def test_text_beside_sparse_rows_is_refused_as_sklearn_does() -> None:
    whole = make_column_transformer((HOT, ["t"]), ("passthrough", ["u"]))
    with pytest.raises(ValueError, match="For a sparse output, all columns should be") as theirs:
        clone(whole).fit(X)
    for learn in (Accelerated.fit, Accelerated.fit_transform):
        with pytest.raises(type(theirs.value), match=re.escape(str(theirs.value))):
            learn(Accelerated(whole, device="cpu"), X)
    digits = X.assign(u=X["b"].map(str).astype(object))
    made = Accelerated(whole, device="cpu").fit_transform(digits)
    assert_same(made, clone(whole).fit_transform(digits))


da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
delayed = pytest.importorskip("dask").delayed
# Of five columns, the fifth and the sixth would have one score, up to the order of the sums.


def parts(table: pd.DataFrame) -> Any:
    """Return a table in partitions of its rows in order, of which one has none."""
    edges = [0, 9, 9, len(table) // 2, len(table)]
    return dd.from_delayed([delayed(table.iloc[a:b]) for a, b in pairwise(edges)], meta=table[:0])


def computed(made: Any, expected: Any) -> Any:
    """Return the rows of partitions, whose form is known before they are made."""
    if not hasattr(made, "compute"):  # one process has learnt from all of them
        return made
    assert type(made._meta) is type(expected)
    assert made.dtype == expected.dtype
    return made.compute()


def by_rows(made: Any, form: str) -> Any:
    """Return what scikit-learn makes in the form of partitions: some imputers make columns."""
    return made.tocsr() if form == "partitions" and sparse.issparse(made) else made


def fits(estimator: Any, said: str) -> None:
    """Compare a model of partitions with scikit-learn's of the table, by their probabilities."""
    model = Accelerated(clone(estimator), device="cpu").fit(parts(X), Y)
    assert said in model.plan_.placements[-1].note
    expected = clone(estimator).fit(X, Y).predict_proba(NEW)
    for made in (
        model.predict_proba(parts(NEW)),
        model.predict_proba(NEW),
        model.to_sklearn().predict_proba(NEW),
    ):
        np.testing.assert_allclose(made, expected, rtol=1e-6)


BOOSTING = XGBClassifier(n_estimators=5, max_bin=512)
BAYES = make_pipeline(SPECS["one-hot"], MultinomialNB())


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("estimator", "said"),
    [(BAYES, "one partition after another: "), (make_pipeline(WIDE, BOOSTING), "external memory")],
    ids=["naive Bayes", "trees"],
)
def test_parts_are_learnt_from_in_turn(
    estimator: Any, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partitioned, "room", lambda device: 1000)
    fits(estimator, said)


@pytest.mark.slow
def test_workers_learn_from_the_same_rows() -> None:
    with in_process(2):
        fits(make_pipeline(WIDE, BOOSTING), "trained by all workers of the cluster")
        fits(BAYES, "gathered to one process")


SPARSE = clone(SPECS["one-hot"]).fit_transform(X)


def chunks(rows: Any) -> Any:
    """Return sparse rows as a Dask array of two blocks of them, as Dask-ML makes them."""
    cuts = rows[:100], rows[100:]
    made = [da.from_delayed(delayed(r), r.shape, dtype=r.dtype, meta=r[:0]) for r in cuts]
    return da.concatenate(made)


@pytest.mark.parametrize(
    "estimator",
    [
        *(MaxAbsScaler(), TruncatedSVD(2, random_state=0), KMeans(2, n_init=1, random_state=0)),
        *(LogisticRegression(), BOOSTING, MultinomialNB()),
        make_pipeline(StandardScaler(with_mean=False), SGDClassifier(random_state=0)),
    ],
    ids=plain,
)
def test_partitions_may_be_sparse_themselves(estimator: Any, tmp_path: Path) -> None:
    model = Accelerated(clone(estimator), device="cpu").fit(chunks(SPARSE), Y)
    reference = clone(estimator).fit(SPARSE, Y)
    method = "predict" if hasattr(estimator, "predict") else "transform"
    expected = getattr(reference, method)(SPARSE)
    save(model, tmp_path / "m.model")
    for each in (model, load(tmp_path / "m.model", device="cpu"), model.to_sklearn()):
        assert_same(getattr(each, method)(SPARSE), expected)
    made = getattr(model, method)(chunks(SPARSE))
    assert_same(made.compute() if hasattr(made, "compute") else made, expected)
