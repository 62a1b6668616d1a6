"""A small table, targets that depend on it, and programs for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler, TargetEncoder
from xgboost import XGBClassifier

from pipeline import Accelerated

ROWS = 240
_rng = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "n1": _rng.normal(size=ROWS),
        "n2": _rng.integers(0, 9, ROWS),
        "c1": _rng.choice(list("abc"), ROWS),
        "c2": _rng.choice(["x", "y"], ROWS),
    }
)
TABLE.loc[::5, "n1"] = np.nan
NUMBERS = (TABLE["n2"] + 3 * (TABLE["c1"] == "a") + _rng.normal(size=ROWS) > 5).to_numpy("int64")
WORDS = np.where(NUMBERS == 1, "yes", "no")

MODELS = {
    "logistic": LogisticRegression(C=0.5),
    "forest": RandomForestClassifier(7, random_state=0),
    "boosting": XGBClassifier(n_estimators=7, max_depth=3, n_jobs=1),
}


def preprocessing() -> Any:
    """Numbers filled and scaled, one column one-hot, one by its target."""
    return make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), ["n1", "n2"]),
        (OneHotEncoder(handle_unknown="ignore"), ["c1"]),
        (TargetEncoder(cv=KFold(3)), ["c2"]),
    )


def program(model: Any = None) -> Pipeline:
    """Preprocessing and a model, by default a logistic regression."""
    # An ensemble that is not fitted has no truth value.
    return make_pipeline(preprocessing(), LogisticRegression() if model is None else model)


def on_cpu(estimator: Any = None, **params: Any) -> Accelerated:
    """A program on the CPU, not fitted."""
    return Accelerated(program() if estimator is None else estimator, device="cpu", **params)
