"""Columns are permuted on the device, and their importance is what it is on the host."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler

from pipeline import Accelerated
from tests.contract.cases import table, target, to_cudf
from tests.contract.recorder import Recorder

pytestmark = pytest.mark.usefixtures("device")


@pytest.mark.quick(2)
@pytest.mark.parametrize("products", [False, True])
@pytest.mark.parametrize(("there", "max_samples"), [(False, 1.0), (True, 1.0), (True, 0.5)])
def test_importance_is_that_of_sklearn(products: bool, there: bool, max_samples: float) -> None:
    numbers: Any = [SimpleImputer(), StandardScaler(), *([PolynomialFeatures(2)] * products)]
    columns = make_column_transformer(
        (make_pipeline(*numbers), ["amount", "count"]), (OneHotEncoder(), ["colour"])
    )
    X = table()
    y = target(X, 2)
    model = Accelerated(
        make_pipeline(columns, LogisticRegression()), device="cuda", dtype="float64"
    ).fit(X, y)
    given = to_cudf(X) if there else X
    asked: Any = {"scoring": "neg_log_loss", "random_state": 0, "max_samples": max_samples}
    found = model.importance(given, pd.Series(y), repeats=2, **asked)
    expected = permutation_importance(model, X, y, n_repeats=2, **asked)
    np.testing.assert_allclose(found.importances, expected.importances, rtol=1e-9, atol=1e-12)
    assert list(found.feature_names) == list(X)
    idle = ~np.isin(found.feature_names.astype(str), ["amount", "count", "colour"])
    assert np.ptp(found.importances[idle]) == 0
    assert np.ptp(found.importances[~idle], axis=1).min() > 0


def test_the_table_is_copied_to_the_device_once(device: Recorder) -> None:
    X = table()
    columns = make_column_transformer((OneHotEncoder(), ["colour"]))
    y = target(X, 2)
    model = Accelerated(make_pipeline(columns, LogisticRegression()), device="cuda").fit(X, y)
    model.importance(X, y, repeats=3)
    log = model.execution_log_.last
    assert [event.call for event in log.events if event.to_device_bytes > len(X) * 8] == ["copy"]
