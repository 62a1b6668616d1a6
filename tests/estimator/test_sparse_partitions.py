"""Rows of partitions are sparse on the CPU where scikit-learn's rows of the whole table are."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression, Perceptron, SGDClassifier
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler
from xgboost import XGBClassifier

from pipeline import Accelerated, load, save
from pipeline.backends.xgboost import distributed
from pipeline.data import partitioned
from pipeline.errors import DataError
from tests.clusters import in_process
from tests.estimator.test_sparse_output import (
    ALONE,
    NEW,
    SPECS,
    WIDE,
    X,
    Y,
    assert_same,
)
from tests.names import plain

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
delayed = pytest.importorskip("dask").delayed
# Of five columns, the fifth and the sixth would have one score, up to the order of the sums.
HERE: dict[str, Any] = {**SPECS, "SelectKBest": make_pipeline(WIDE, SelectKBest(k=4))}


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


def by_rows(made: Any) -> Any:
    """Return what scikit-learn makes in the form of partitions: some imputers make columns."""
    return made.tocsr() if sparse.issparse(made) else made


@pytest.mark.quick(3)
@pytest.mark.filterwarnings("ignore:Found unknown")
@pytest.mark.parametrize("name", HERE)
def test_rows_are_those_of_sklearn(name: str, tmp_path: Path) -> None:
    estimator = HERE[name]
    model, reference = Accelerated(clone(estimator), device="cpu"), clone(estimator)
    new = X.iloc[:30] if name == "one dropped" else NEW
    columns = ALONE.get(name, list(X))
    new, train = new[columns], X[columns]
    expected = by_rows(reference.fit_transform(train, Y))
    assert_same(computed(model.fit_transform(parts(train), Y), expected), expected)
    expected = reference.transform(new)
    assert_same(model.to_sklearn().transform(new), expected)
    expected = by_rows(expected)
    save(model, tmp_path / "m.model")
    for each in (model, load(tmp_path / "m.model", device="cpu")):
        assert_same(computed(each.transform(parts(new)), expected), expected)
        assert_same(by_rows(each.transform(new)), expected)


def test_batches_are_judged_together() -> None:
    estimator = make_column_transformer((OneHotEncoder(drop="first"), ["u"]))
    few, many = (pd.DataFrame({"u": list(cells)}) for cells in ("aabc" * 25, "b" * 20))
    model = Accelerated(clone(estimator), device="cpu").partial_fit(few).partial_fit(many)
    expected = clone(estimator).fit(pd.concat([few, many])).transform(many)
    assert_same(model.transform(many), expected)
    assert_same(model.to_sklearn().transform(many), expected)


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


def test_one_process_learns_from_the_same_rows() -> None:
    fits(make_pipeline(WIDE, LogisticRegression(max_iter=500)), "gathered to one process: ")
    fits(make_pipeline(WIDE, BOOSTING), "gathered to one process: ")


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


@pytest.mark.parametrize("last", [SGDClassifier, Perceptron])
def test_epochs_are_those_of_sklearn(last: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partitioned, "room", lambda device: 1000)
    estimator = make_pipeline(WIDE, last(max_iter=3, tol=None, random_state=0))
    model = Accelerated(clone(estimator), device="cpu").fit(dd.from_pandas(X, npartitions=1), Y)
    columns, expected = clone(estimator[0]).fit(X), clone(estimator[1])
    for _ in range(3):
        expected.partial_fit(columns.transform(X), Y, classes=[0, 1])
    assert "one partition after another" in model.plan_.placements[-1].note
    scores = expected.decision_function(columns.transform(NEW))
    np.testing.assert_allclose(model.decision_function(NEW), scores, rtol=1e-9)


@pytest.mark.slow
def test_workers_learn_from_the_same_rows() -> None:
    with in_process(2):
        fits(make_pipeline(WIDE, BOOSTING), "trained by all workers of the cluster")
        fits(BAYES, "gathered to one process")


@pytest.mark.parametrize("method", ["hist", "approx"])
def test_to_xgboost_absent_cells_are_missing(method: str) -> None:
    estimator = clone(BOOSTING).set_params(tree_method=method, device="cpu")
    cuts = [SPARSE[:9], SPARSE[9:]], [Y[:9], Y[9:]]
    made = distributed._make_matrix(estimator, *cuts, [], threads=1)
    assert (made.num_row(), made.num_col()) == SPARSE.shape
    assert made.num_nonmissing() == SPARSE.nnz


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


def test_of_dense_rows_no_sparse_partitions_are_asked() -> None:
    model = Accelerated(StandardScaler(), device="cpu").fit(da.from_array(SPARSE.toarray()))
    with pytest.raises(DataError, match="learnt from dense rows; pass X.toarray"):
        model.transform(chunks(SPARSE))
