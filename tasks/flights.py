"""Flights out of New York: which ones arrive more than 15 minutes late.

Three pipelines in plain scikit-learn and XGBoost; each runs unchanged without this
project.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import loguniform, randint, uniform
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler, TargetEncoder
from xgboost import XGBClassifier

from pipeline.task.included import dataset
from pipeline.task.task import Split, Task

flights = dataset("flights")
NUMBERS, FEW, MANY = flights.NUMERIC, flights.LOW_CARDINALITY, flights.HIGH_CARDINALITY


def logistic(seed: int) -> Pipeline:
    """Linear model on scaled numbers, one-hot and target-encoded categories."""
    return make_pipeline(
        make_column_transformer(
            (make_pipeline(SimpleImputer(), StandardScaler()), NUMBERS),
            (OneHotEncoder(handle_unknown="ignore"), FEW),
            (make_pipeline(TargetEncoder(cv=folds(seed)), StandardScaler()), MANY),
        ),
        LogisticRegression(),
    )


def forest(seed: int) -> Pipeline:
    """Random forest on imputed numbers, ordinal and target-encoded categories."""
    return make_pipeline(
        make_column_transformer(
            (SimpleImputer(strategy="median"), NUMBERS),
            (unseen_as(-1), FEW),
            (TargetEncoder(cv=folds(seed)), MANY),
        ),
        RandomForestClassifier(
            n_estimators=20, max_depth=12, min_samples_leaf=20, n_jobs=-1, random_state=seed
        ),
    )


def boosting(seed: int) -> Pipeline:
    """Gradient boosting that splits on categories and missing values itself."""
    kinds = ["q"] * len(NUMBERS) + ["c"] * len(FEW) + ["q"] * len(MANY)
    return make_pipeline(
        make_column_transformer(
            ("passthrough", NUMBERS),
            (unseen_as(np.nan), FEW),
            (TargetEncoder(cv=folds(seed)), MANY),
        ),
        XGBClassifier(
            n_estimators=50, max_depth=6, learning_rate=0.2, feature_types=kinds,
            enable_categorical=True, random_state=seed,
        ),
    )  # fmt: skip


def folds(seed: int) -> StratifiedKFold:
    """Cross-fitting that gives the same folds each time."""
    return StratifiedKFold(5, shuffle=True, random_state=seed)


def unseen_as(code: float) -> OrdinalEncoder:
    """Categories as numbers; unseen and missing ones as `code`."""
    return OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=code, encoded_missing_value=code
    )


SPACES = {
    "logistic": {
        "logisticregression__C": loguniform(1e-3, 1e3),
        "columntransformer__pipeline-2__targetencoder__smooth": ["auto", 1.0, 10.0, 100.0],
    },
    "forest": {
        "randomforestclassifier__max_depth": randint(6, 25),
        "randomforestclassifier__min_samples_leaf": randint(1, 101),
        "randomforestclassifier__max_features": ["sqrt", 0.2, 0.4, 0.6],
    },
    "boosting": {
        "xgbclassifier__n_estimators": randint(25, 301),
        "xgbclassifier__learning_rate": loguniform(0.02, 0.5),
        "xgbclassifier__max_depth": randint(3, 13),
        "xgbclassifier__min_child_weight": loguniform(1, 100),
        "xgbclassifier__subsample": uniform(0.5, 0.5),
        "xgbclassifier__colsample_bytree": uniform(0.5, 0.5),
        "xgbclassifier__reg_lambda": loguniform(0.01, 100),
    },
}
"""What `make tune` draws parameters from; `uniform` takes the minimum and the width."""

TASK = Task(
    name="flights",
    title=flights.TITLE,
    dataset="flights",
    prepare=flights.prepare,
    features=NUMBERS + FEW + MANY,
    target=flights.TARGET,
    pipelines={"logistic": logistic, "forest": forest, "boosting": boosting},
    splits={
        "time": Split([("month", "<=", 9)], [("month", ">", 9)], "train January to September"),
        "random": Split([("fold", "<", 75)], [("fold", ">=", 75)], "train three quarters"),
    },
    metrics=["roc_auc", "average_precision", "neg_log_loss"],
    margins={"roc_auc": 0.002, "average_precision": 0.004, "log_loss": 0.004},
    licence=flights.LICENCE,
    source=flights.SOURCE,
    spaces=SPACES,
)
