"""Of sparse rows XGBoost takes the absent cells for missing ones: the same model, bit by bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)
from xgboost import XGBClassifier, XGBRanker, XGBRegressor, XGBRFRegressor

from pipeline import Accelerated

ROWS = 600
RNG = np.random.default_rng(7)
X = pd.DataFrame(
    {
        "a": RNG.normal(size=ROWS),
        "b": RNG.integers(0, 4, ROWS).astype("float64"),
        "gaps": np.where(RNG.random(ROWS) < 0.2, np.nan, RNG.normal(size=ROWS)),
        "t": RNG.choice([f"v{i}" for i in range(60)], ROWS),
        "u": RNG.choice(list("abcde"), ROWS),
    }
)
MARGIN = RNG.normal(size=ROWS)
Y = (X["a"].fillna(0) + (X["u"] == "a") + MARGIN > 0.5).astype("int64").to_numpy()
NEW = X.sample(150, random_state=1).assign(t=["new", *X["t"][:149]])
HOT = (OneHotEncoder(handle_unknown="ignore"), ["t", "u"])
NUMBERS = ["a", "b", "gaps"]

PREPARED: dict[str, Any] = {
    "one-hot": make_column_transformer(HOT),
    "beside what passes": make_column_transformer(HOT, ("passthrough", NUMBERS)),
    "beside scaled numbers": make_column_transformer(HOT, (StandardScaler(), NUMBERS)),
    "one dropped": make_column_transformer(
        (OneHotEncoder(drop="first", handle_unknown="ignore"), ["t", "u"])
    ),
    "weighted": make_column_transformer(HOT, ("passthrough", ["b"])).set_params(
        transformer_weights={"onehotencoder": 0.3}
    ),
    "scaled once more": make_pipeline(make_column_transformer(HOT), MaxAbsScaler()),
    "a union": make_column_transformer(
        (make_union(OneHotEncoder(handle_unknown="ignore"), "passthrough"), ["b"]), HOT
    ),
    "small numbers": make_column_transformer(HOT, (MinMaxScaler((0, 1e-46)), ["a"])),
    "beside imputed and scaled numbers": make_column_transformer(
        HOT, (make_pipeline(SimpleImputer(), StandardScaler()), NUMBERS)
    ),
    "beside imputed with indicators": make_column_transformer(
        HOT, (SimpleImputer(strategy="median", add_indicator=True), NUMBERS)
    ),
    "beside robust and products": make_column_transformer(
        HOT, (make_pipeline(RobustScaler(), PolynomialFeatures(2)), ["a", "b"])
    ),
    "beside targets": make_column_transformer(
        HOT, (make_pipeline(TargetEncoder(cv=KFold(5)), StandardScaler()), ["t"])
    ),
}
MODELS: dict[str, tuple[Any, dict[str, Any]]] = {
    "binary": (XGBClassifier(n_estimators=8), {}),
    "three classes": (XGBClassifier(n_estimators=4), {"y": Y + (X["u"] == "b")}),
    "regression": (XGBRegressor(n_estimators=8), {"y": X["a"] + MARGIN}),
    "weighted": (XGBRegressor(n_estimators=8), {"sample_weight": np.abs(MARGIN)}),
    "from margins": (XGBRegressor(n_estimators=8), {"base_margin": MARGIN}),
    "forest": (XGBRFRegressor(n_estimators=8, random_state=0), {}),
    "zeros are missing": (XGBClassifier(n_estimators=8, missing=0.0), {}),
    "approximate": (XGBClassifier(n_estimators=8, tree_method="approx"), {}),
    "stopped early": (
        XGBClassifier(n_estimators=30, early_stopping_rounds=3),
        {"eval_set": [(NEW, Y[:150])], "verbose": False},
    ),
    "ranking": (XGBRanker(n_estimators=8), {"qid": np.repeat(np.arange(60), 10)}),
}


def learn(model: Any, y: Any = Y, **params: Any) -> Any:
    return model.fit(X, y, **params)


def plain(steps: Any, y: Any = Y, eval_set: Any = None, **params: Any) -> Any:
    """Return XGBoost, fitted on what scikit-learn makes, and what it answers of new rows."""
    *before, last = steps
    before = make_pipeline(*before)
    rows = before.fit_transform(X, y)
    if eval_set:
        params["eval_set"] = [(before.transform(Z), z) for Z, z in eval_set]
    return last.fit(rows, y, **params), before.transform(NEW)


@pytest.mark.quick(13)
@pytest.mark.filterwarnings("ignore:Found unknown")
@pytest.mark.parametrize("prepared", PREPARED)
@pytest.mark.parametrize("kind", MODELS)
def test_model_is_that_of_plain_xgboost(prepared: str, kind: str) -> None:
    estimator, params = MODELS[kind]
    steps = [clone(PREPARED[prepared]), clone(estimator)]
    model = learn(Accelerated(make_pipeline(*map(clone, steps)), device="cpu"), **params)
    reference, rows = plain(steps, **params)
    name = "predict_proba" if hasattr(estimator, "predict_proba") else "predict"
    np.testing.assert_array_equal(getattr(model, name)(NEW), getattr(reference, name)(rows))
