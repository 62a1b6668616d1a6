"""On a GPU fits on the same rows share them there: each is uploaded once, with the same results."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from optuna.distributions import CategoricalDistribution
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler, TargetEncoder

from pipeline import Accelerated, Search
from pipeline.model.sharing import REUSED
from pipeline.table import frames
from tests.contract.cases import NUMBERS, folds, table, target

pytestmark = pytest.mark.usefixtures("device")

NAMES = ["colour", "size", "town"]
ENCODED = make_column_transformer(
    (make_pipeline(SimpleImputer(), StandardScaler()), NUMBERS), (TargetEncoder(cv=folds()), NAMES)
)
PROGRAM = make_pipeline(ENCODED, MinMaxScaler(), LogisticRegression())


MATRIX = table()[["amount", "count"]].fillna(0.0).to_numpy()
TABLES = {
    "frame": (PROGRAM, table()),
    "matrix": (make_pipeline(StandardScaler(), LogisticRegression()), MATRIX),
    "sparse": (make_pipeline(LogisticRegression()), sparse.csr_matrix(MATRIX)),
}


@pytest.mark.quick(1)
@pytest.mark.parametrize("name", TABLES)
def test_a_search_uploads_its_table_once(name: str) -> None:
    program, X = TABLES[name]
    y, model = target(table()), Accelerated(program, device="cuda")
    given = {"trials": 4, "cv": folds(), "prune": False, "refit": False, "random_state": 0}
    space = {"estimator__logisticregression__C": CategoricalDistribution([0.5, 1.0])}
    found = Search(model, space, error_score="raise", **given).fit(X, y)
    events = found.execution_log_.entries
    (uploaded,) = [e.to_device_bytes for e in events if e.call == "copy" and e.to_device_bytes]
    # Of sparse rows, indices are narrowed.
    assert 0.7 * frames.nbytes(X) <= uploaded <= frames.nbytes(X)
    assert events[1].call == REUSED
    expected = [
        cross_val_score(clone(model).set_params(**params), X, y, cv=folds()).mean()
        for params in found.cv_results_["params"]
    ]
    np.testing.assert_array_equal(found.cv_results_["mean_test_score"], expected)
    y = frames.to_device(y if name == "matrix" else pd.Series(y), "cuda")
    again = Search(model, space, error_score="raise", **given).fit(X, y)
    np.testing.assert_array_equal(again.cv_results_["mean_test_score"], expected)
