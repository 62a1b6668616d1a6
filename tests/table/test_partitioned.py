from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from xgboost import XGBClassifier

from pipeline import Accelerated
from pipeline.table import partitioned

dd = pytest.importorskip("dask.dataframe")


def table() -> pd.DataFrame:
    return pd.DataFrame(np.random.default_rng(0).normal(size=(600, 2)), columns=["a", "b"])


def test_without_a_cluster_rows_that_fit_are_gathered() -> None:
    X = table()
    y = (X["a"] > 0).to_numpy().astype("int64")
    parts = dd.from_pandas(X, npartitions=3)
    estimator = XGBClassifier(n_estimators=3)
    many = Accelerated(estimator, device="cpu").fit(parts, y)
    one = Accelerated(estimator, device="cpu").fit(X, y)
    assert "gathered to one process: 9,600 bytes" in many.plan_.placements[0].note
    np.testing.assert_array_equal(many.predict_proba(parts), one.predict_proba(X))


def test_lengths_are_counted_where_nothing_knows_them() -> None:
    parts = dd.from_pandas(table(), npartitions=3)
    assert partitioned.lengths(parts) == [200, 200, 200]
    assert partitioned.lengths(parts.to_dask_array(lengths=True)) == [200, 200, 200]
    assert partitioned.lengths(parts.to_dask_array()) == [200, 200, 200]
    assert partitioned.lengths(parts[parts["a"] > 9]) == [0, 0, 0]


def test_answers_of_every_form_are_joined() -> None:
    a, b = np.zeros((2, 1)), np.ones((1, 1))
    assert partitioned.concatenate([a, b]).tolist() == [[0], [0], [1]]
    assert partitioned.concatenate([[a, a], [b, b]])[1].tolist() == [[0], [0], [1]]
    frame = partitioned.concatenate([pd.DataFrame(a), pd.DataFrame(b)])
    assert frame[0].tolist() == [0, 0, 1]
