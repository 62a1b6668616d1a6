"""scikit-learn's own checks of an estimator, over `Accelerated` around many estimators."""

from __future__ import annotations

import numpy as np
import pytest
import xgboost
from packaging.version import Version
from sklearn import linear_model, preprocessing
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline, make_union
from sklearn.utils.estimator_checks import check_estimator
from xgboost import XGBClassifier, XGBRegressor

from pipeline import Accelerated

pytestmark = pytest.mark.filterwarnings("ignore")

SPECS: dict[str, BaseEstimator] = {
    "logistic": linear_model.LogisticRegression(),
    "ridge": linear_model.Ridge(),
    "k-means": KMeans(n_clusters=2, n_init=1, random_state=0),
    "forest": RandomForestClassifier(n_estimators=5, random_state=0),
    "PCA": PCA(),
    "XGBoost": XGBClassifier(n_estimators=5, n_jobs=1),
    "XGBoost regression": XGBRegressor(n_estimators=5, n_jobs=1),
    "standard scaler": preprocessing.StandardScaler(),
    "one-hot": preprocessing.OneHotEncoder(),
    "quantiles": preprocessing.QuantileTransformer(n_quantiles=5, random_state=0),
    "function": preprocessing.FunctionTransformer(np.log1p),
    "target encoder": preprocessing.TargetEncoder(),
    "union": make_union(preprocessing.StandardScaler(), PCA(n_components=1)),
    "impute and scale": make_pipeline(SimpleImputer(), preprocessing.StandardScaler()),
    "scale and classify": make_pipeline(
        preprocessing.StandardScaler(), linear_model.LogisticRegression()
    ),
    "scale and regress": make_pipeline(preprocessing.StandardScaler(), linear_model.Ridge()),
    "scale and cluster": make_pipeline(
        preprocessing.StandardScaler(), KMeans(n_clusters=2, n_init=1, random_state=0)
    ),
    "first column": make_column_transformer((preprocessing.StandardScaler(), [0])),
}

FEW = (
    *("logistic", "ridge", "k-means", "forest", "PCA", "XGBoost", "standard scaler", "one-hot"),
    *("quantiles", "target encoder", "scale and classify", "first column"),
)
"""One of each sort, in every run; the others are slow."""

_EQUIVALENT = "check_sample_weight_equivalence_on"


def _weights(why: str) -> dict[str, str]:
    return {f"{_EQUIVALENT}_{rows}_data": why for rows in ("dense", "sparse")}


_LABELS = "XGBoost takes only labels from 0 to the number of classes, less one"
_ZEROS = {"check_all_zero_sample_weights_error": "XGBoost's message does not name the weights"}
_ONE_COLUMN = {"check_fit2d_1feature": _LABELS}
if Version(xgboost.__version__) >= Version("3.4"):
    _ZEROS, _ONE_COLUMN = {}, {}
_NAN = {"check_estimators_nan_inf": "missing values are what these take; the tag does not say so"}

EXPECTED: dict[str, dict[str, str]] = {
    "k-means": _weights("the first centres are drawn at random"),
    "forest": _weights("rows are drawn at random"),
    "XGBoost": {
        **_ZEROS,
        "check_estimators_dtypes": _LABELS,
        "check_sample_weights_pandas_series": _LABELS,
        "check_sample_weights_not_an_array": _LABELS,
        "check_sample_weights_shape": _LABELS,
        "check_sample_weights_not_overwritten": _LABELS,
        "check_classifier_data_not_an_array": _LABELS,
        "check_classifiers_classes": _LABELS,
        **_ONE_COLUMN,
        "check_classifiers_multilabel_output_format_predict": "XGBoost returns floats",
    },
    "XGBoost regression": {**_ZEROS, "check_regressor_multioutput": "XGBoost returns float32"},
    "impute and scale": _NAN,
    "first column": _NAN,
}
"""Failures of the bare estimator that the wrapper does not hide; by estimator and check."""


def wrapped(name: str) -> Accelerated:
    return Accelerated(SPECS[name], device="cpu", dtype="float64")


# As many tests as checks, with estimators in their names, would take seconds to collect.
@pytest.mark.parametrize(
    "name",
    [*FEW, *(pytest.param(name, marks=pytest.mark.slow) for name in SPECS if name not in FEW)],
)
def test_sklearn_is_content(name: str) -> None:
    expected = EXPECTED.get(name, {})
    results = check_estimator(
        wrapped(name), expected_failed_checks=expected, on_skip=None, on_fail=None
    )
    outcomes = {True: ("xfail", "skipped"), False: ("passed", "skipped")}
    wrong = [r for r in results if r["status"] not in outcomes[r["expected_to_fail"]]]
    assert [(r["check_name"], r["status"], r["exception"]) for r in wrong] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPECTED)
def test_what_is_expected_to_fail_fails_without_us_too(name: str) -> None:
    results = check_estimator(SPECS[name], on_skip=None, on_fail=None)
    failed = {result["check_name"] for result in results if result["status"] == "failed"}
    assert set(EXPECTED[name]) - failed == set()
