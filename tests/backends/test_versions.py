"""XGBoost 3.2, the last one for Python 3.11, and 3.4 beside each other: stored numbers of 3.2.

Where every value of a column has a bin of its own and nothing is drawn at random, both make the
same trees. Elsewhere 3.4 has other edges of bins, another generator, and other leaves for quantiles
and absolute errors: a model as good, and not the same one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier, XGBRanker, XGBRegressor

from pipeline import Accelerated

# Needs no RAPIDS: `make test-contract` runs it too, where XGBoost is the new one on any machine.
pytestmark = pytest.mark.contract_live

COMMON = {"n_estimators": 20, "max_depth": 4, "n_jobs": 1, "random_state": 0}

GRADED = ("hist ranks", "poisson")


def table(rows: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return numbers, small integers and categories with missing values, and a score."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=rows), "b": rng.integers(0, 9, rows).astype(float)})
    X["c"] = pd.Categorical(rng.choice(list("uvw"), rows))
    X.loc[::7, "a"] = np.nan
    return X, (X["a"].fillna(0) + 0.3 * X["b"] + (X["c"] == "u")).to_numpy()


def learnt(estimator: Any, X: Any, y: Any, **params: Any) -> np.ndarray:
    model = Accelerated(estimator, device="cpu").fit(X, y, **params)
    answer = model.predict_proba if hasattr(estimator, "predict_proba") else model.predict
    return np.asarray(answer(X))


SPECS: dict[str, tuple[Any, Any]] = {
    "hist classes": (
        XGBClassifier(**COMMON),
        [0.005926626, 0.01805191, 0.07410482, 0.9524673, 0.4627951],
    ),
    "hist categories classes": (
        XGBClassifier(**COMMON, enable_categorical=True),
        [0.004022745, 0.07364219, 0.1995338, 0.9929669, 0.07671421],
    ),
    "hist categories one by one": (
        XGBRegressor(**COMMON, enable_categorical=True, max_cat_to_onehot=1),
        [0.03011397, 1.753319, 1.678905, 3.192383, 1.934596],
    ),
    "hist": (XGBRegressor(**COMMON), [0.1246293, 1.124735, 1.437483, 2.828019, 2.177108]),
    "hist ranks": (XGBRanker(**COMMON), [-1.964141, -1.275017, -0.793485, 1.899271, 0.5996831]),
    "lossguide": (
        XGBRegressor(**COMMON, grow_policy="lossguide", max_leaves=8),
        [0.08479559, 1.145852, 1.454429, 2.628029, 2.221661],
    ),
    "monotone": (
        XGBRegressor(**COMMON, monotone_constraints=(1, 0)),
        [0.008829681, 1.28456, 1.30236, 2.730303, 2.346803],
    ),
    "poisson": (
        XGBRegressor(**COMMON, objective="count:poisson"),
        [0.2007854, 0.7570375, 1.059926, 1.87387, 1.556491],
    ),
    "approx": (
        XGBRegressor(**COMMON, tree_method="approx"),
        [0.1246293, 1.124735, 1.437483, 2.828019, 2.177108],
    ),
    "exact": (
        XGBRegressor(**COMMON, tree_method="exact"),
        [0.1246293, 1.124735, 1.437483, 2.828019, 2.177108],
    ),
}


@pytest.mark.parametrize("name", SPECS)
def test_the_numbers_are_those_of_both_versions(name: str) -> None:
    estimator, stored = SPECS[name]
    X, score = table(250)
    X = X if "categories" in name else X[["a", "b"]].to_numpy()
    y = (
        (score > 2)
        if "classes" in name
        else np.digitize(score, [1, 2])
        if name in GRADED
        else score
    )
    params = {"qid": np.arange(250) // 10} if "ranks" in name else {}
    found = learnt(estimator, X, y.astype("float64" if y is score else "int64"), **params)
    np.testing.assert_allclose(found.reshape(250, -1)[:5, -1], stored, rtol=1e-6)


def test_with_more_values_than_bins_the_model_is_as_good() -> None:
    X, score = table(20_000)
    noise = np.random.default_rng(1).normal(size=len(score))
    y = (score + noise > 2).astype("int64")
    estimator = make_pipeline(StandardScaler(), XGBClassifier(**COMMON))
    found = learnt(estimator, X[["a", "b"]], y)[:, 1]
    assert roc_auc_score(y, found) == pytest.approx(0.85157, abs=0.001)
