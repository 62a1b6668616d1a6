from __future__ import annotations

import json
from copy import copy
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import DBSCAN, KMeans
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_classification
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest, RandomForestClassifier, RandomForestRegressor
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KernelDensity
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from xgboost import XGBClassifier

from pipeline import Accelerated
from pipeline.certificate import Certificate, Tolerance, compare
from pipeline.errors import ConfigError, DataError, LiftDiffers, Reason, Unsupported

ROWS = 1_000
CLASSIFIED = ["predict", "predict_proba"]
DECIDED = [*CLASSIFIED, "decision_function"]
SCORES = ["decision_function", "score_samples"]
X, Y = make_classification(ROWS, 6, n_informative=4, n_classes=3, random_state=0)
TABLE = pd.DataFrame(X, columns=list("abcdef")).assign(town=np.resize(["x", "y", "z"], ROWS))
WORDS = np.array(["no", "so", "yes"])[Y]


def fitted(spec: Any, X: Any = X, y: Any = Y) -> Accelerated:
    return Accelerated(spec, device="cpu").fit(X, y)


def mixed(last: Any) -> Any:
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    table = make_column_transformer((numbers, list("abcdef")), (OneHotEncoder(), ["town"]))
    return make_pipeline(table, last)


@pytest.mark.parametrize(
    ("spec", "X", "y", "methods"),
    [
        (LogisticRegression(), X, WORDS, DECIDED),
        (RandomForestRegressor(5), X, X[:, 0], ["predict"]),
        (StandardScaler(), X, None, ["transform"]),
        (KMeans(3, n_init=1), X, None, ["predict", "transform"]),
        (IsolationForest(n_estimators=10), X, None, ["predict", *SCORES]),
        (LinearRegression(), X, X[:, :2], ["predict"]),
        (RandomForestClassifier(5), X, np.c_[Y, Y == 1], CLASSIFIED),
        (XGBClassifier(n_estimators=3, enable_categorical=True), TABLE, Y, CLASSIFIED),
        (mixed(LogisticRegression()), TABLE, WORDS, DECIDED),
        (mixed(RandomForestClassifier(5)), TABLE, WORDS, CLASSIFIED),
        (make_pipeline(HashingVectorizer(), LogisticRegression()), TABLE["town"], Y, DECIDED),
    ],
)  # fmt: skip
def test_what_is_lifted_on_the_host_agrees(spec: Any, X: Any, y: Any, methods: Any) -> None:
    model = fitted(spec, X, y)
    found = model.certify(X)
    assert found is model.certificate_
    assert found.require().holds
    assert (found.rows, found.device) == (ROWS, "cpu")
    assert [each.method for each in found.agreements] == methods
    assert all(each.differing == 0 for each in found.agreements)


class Wrong(Accelerated):
    """Lifts to a model that is a little off."""

    def to_sklearn(self) -> Any:
        lifted = copy(super().to_sklearn())
        lifted.coef_ = lifted.coef_ * 1.1
        return lifted


def test_a_wrong_lift_is_found_and_names_method_row_and_difference() -> None:
    model = Wrong(LogisticRegression(), device="cpu").fit(X, Y)
    found = model.certify(X)
    assert not found.holds
    probability = next(each for each in found.agreements if each.method == "predict_proba")
    apart = np.abs(model.predict_proba(X) - model.to_sklearn().predict_proba(X))
    assert probability.largest == pytest.approx(apart.max())
    assert probability.row == apart.max(axis=1).argmax()
    assert probability.differing > 0.9
    with pytest.raises(LiftDiffers, match=r"predict.* answers otherwise than the one on 'cpu'"):
        found.require()
    assert "DIFFERS" in str(found)
    assert model.certify(X, rtol=1.0, atol=1.0, differing=0.5).holds


def test_a_certificate_is_plain_data() -> None:
    found = fitted(LogisticRegression()).certify(X[:10])
    text = msgspec.json.encode(found)
    assert json.loads(text)["agreements"][0]["method"] == "predict"
    assert msgspec.json.decode(text, type=Certificate) == found
    assert found.packages["scikit-learn"]


def test_rows_of_a_long_table_are_taken_evenly() -> None:
    found = Wrong(LogisticRegression(), device="cpu").fit(X, Y).certify(X, n_rows=101)
    assert found.rows == 101
    rows = np.linspace(0, ROWS - 1, 101).astype(int)
    assert {each.row for each in found.agreements} <= set(rows.tolist())


def test_a_new_fit_has_no_certificate() -> None:
    model = fitted(LogisticRegression())
    model.certify(X)
    assert not hasattr(model.fit(X, Y), "certificate_")


@pytest.mark.parametrize(
    ("spec", "X"), [(DBSCAN(), X), (LogisticRegression(), X[:0])], ids=["no method", "no rows"]
)
def test_nothing_to_compare_is_refused(spec: Any, X: Any) -> None:
    with pytest.raises((ConfigError, ValueError), match="nothing to compare|0 sample"):
        fitted(spec).certify(X)


@pytest.mark.parametrize("bound", [{"rtol": -1.0}, {"atol": np.nan}, {"differing": 1.0}])
def test_a_tolerance_that_bounds_nothing_is_refused(bound: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=next(iter(bound))):
        fitted(LogisticRegression()).certify(X, **bound)


def test_missing_answers_agree_with_missing_ones_only() -> None:
    both = np.array([1.0, np.nan, 3.0])
    rows = np.arange(3)
    (same,) = compare(["transform"], lambda _: (both, both.copy()), rows, Tolerance())
    assert (same.differing, same.largest, same.holds) == (0.0, 0.0, True)
    one = np.array([1.0, 2.0, 3.0])
    (other,) = compare(["transform"], lambda _: (both, one), rows, Tolerance())
    assert (other.row, other.largest, other.holds) == (1, np.inf, False)


def test_equal_infinities_agree() -> None:
    far = np.vstack([X[:20], np.full((1, 6), 1e6)])
    model = fitted(KernelDensity(kernel="tophat"), X[:20], None)
    (found,) = model.certify(far).require().agreements
    assert np.isneginf(model.score_samples(far)[-1])
    assert (found.method, found.largest, found.differing) == ("score_samples", 0.0, 0.0)


def test_labels_that_are_numbers_have_no_tolerance() -> None:
    y = 100_000.0 + Y
    model = fitted(LogisticRegression(), X, y)
    lifted = copy(model.to_sklearn())
    lifted.classes_ = np.roll(lifted.classes_, 1)
    model.to_sklearn = lambda: lifted  # type: ignore[method-assign]
    labels = model.certify(X).agreements[0]
    assert (labels.method, labels.largest, labels.differing) == ("predict", None, 1.0)


def test_what_the_device_does_not_answer_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    model = fitted(PCA(2), X, None)
    call = model.plan_.call

    def refuse(method: str, X: Any) -> Any:
        if method == "score_samples":
            raise Unsupported(Reason("pca", "cuML's PCA has no score_samples"))
        return call(method, X)

    monkeypatch.setattr(model.plan_, "call", refuse)
    found = model.certify(X).require()
    assert [each.method for each in found.agreements] == ["transform"]
    assert found.left_out == {"score_samples": "pca: cuML's PCA has no score_samples"}
    assert "left out: pca: cuML's PCA has no" in str(found)


def test_partitions_are_refused() -> None:
    dd = pytest.importorskip("dask.dataframe")
    partitions = dd.from_pandas(TABLE[["a"]], npartitions=2)
    with pytest.raises(DataError, match=r"a certificate needs all rows .* pass X.compute\(\)"):
        fitted(StandardScaler(), partitions, None).certify(partitions)


def test_another_shape_is_an_error() -> None:
    with pytest.raises(LiftDiffers, match="shape"):
        compare(["transform"], lambda _: (X[:, :2], X), np.arange(ROWS), Tolerance())
