"""On a GPU fits on the same rows share them there: each is uploaded once, with the same results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler, TargetEncoder

from pipeline import Accelerated, shared
from pipeline.estimator.sharing import REUSED
from tests.contract.cases import NUMBERS, folds, preprocessing, table, target, to_cudf
from tests.contract.recorder import Recorder

pytestmark = pytest.mark.usefixtures("device")

SPACE = {"estimator__logisticregression__C": [0.5, 1.0]}
NAMES = ["colour", "size", "town"]
ENCODED = make_column_transformer(
    (make_pipeline(SimpleImputer(), StandardScaler()), NUMBERS), (TargetEncoder(cv=folds()), NAMES)
)
PROGRAMS = {
    "sparse": make_pipeline(preprocessing(), LogisticRegression()),
    "two steps before": make_pipeline(ENCODED, MinMaxScaler(), LogisticRegression()),
}


def search(name: str, X: Any, y: np.ndarray) -> GridSearchCV:
    model = Accelerated(PROGRAMS[name], device="cuda")
    return GridSearchCV(model, SPACE, cv=folds(), error_score="raise", refit=False).fit(X, y)


@pytest.mark.parametrize("there", [False, True], ids=["host", "device"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_search_uploads_the_rows_of_a_fold_once(name: str, there: bool, device: Recorder) -> None:
    host = table()
    X, y = to_cudf(host) if there else host, target(host)
    device.clear()
    plain = search(name, host, y)
    uploads = device.nbytes("device")
    device.clear()
    found = search(name, shared(X), y)
    scores = [each.cv_results_["mean_test_score"] for each in (found, plain)]
    np.testing.assert_array_equal(*scores)
    if not there:
        rows = host.memory_usage(index=False).sum()
        # Two candidates, of five folds to learn from and five to predict.
        assert uploads > 2 * 5 * rows
        assert device.nbytes("device") < 0.6 * uploads


def test_the_log_says_what_stayed_on_the_device() -> None:
    X = table()
    rows, y = shared(X), target(X)
    for _ in range(2):
        model = Accelerated(PROGRAMS["two steps before"], device="cuda").fit(rows, y)
    told = [(e.call, e.device) for e in model.execution_log_.events]
    assert told[:2] == [(REUSED, "cuda")] * 2
    assert model.execution_log_.entries[0].to_device_bytes == 0
    again = Accelerated(PROGRAMS["two steps before"], device="cuda").fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(rows), again.predict_proba(X))
