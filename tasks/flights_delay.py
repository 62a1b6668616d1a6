"""Flights out of New York: how many minutes late they arrive.

The columns of the task `flights`; a number is predicted in place of a class.
"""

from __future__ import annotations

from scipy.stats import loguniform, randint, uniform
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler, TargetEncoder
from xgboost import XGBRegressor

from pipeline.task.included import dataset
from pipeline.task.task import Split, Task

flights = dataset("flights")
flights_delay = dataset("flights_delay")
NUMBERS, FEW, MANY = flights.NUMERIC, flights.LOW_CARDINALITY, flights.HIGH_CARDINALITY


def linear(seed: int) -> Pipeline:
    """Ridge regression on scaled numbers, one-hot and target-encoded categories."""
    return make_pipeline(
        make_column_transformer(
            (make_pipeline(SimpleImputer(), StandardScaler()), NUMBERS),
            (OneHotEncoder(handle_unknown="ignore"), FEW),
            (make_pipeline(by_mean(seed), StandardScaler()), MANY),
        ),
        Ridge(random_state=seed),
    )


def forest(seed: int) -> Pipeline:
    """Random forest on imputed numbers, ordinal and target-encoded categories."""
    return make_pipeline(
        prepared(seed),
        RandomForestRegressor(
            n_estimators=10, max_depth=10, min_samples_leaf=20, max_features=0.3, n_jobs=-1,
            random_state=seed,
        ),
    )  # fmt: skip


def boosting(seed: int) -> Pipeline:
    """Gradient boosting on the same columns as the forest."""
    return make_pipeline(
        prepared(seed),
        XGBRegressor(
            n_estimators=50, max_depth=6, learning_rate=0.1, min_child_weight=100,
            random_state=seed,
        ),
    )  # fmt: skip


def prepared(seed: int) -> object:
    """Numbers without gaps; categories as codes or as mean delays."""
    codes = OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-1
    )
    return make_column_transformer(
        (SimpleImputer(strategy="median"), NUMBERS), (codes, FEW), (by_mean(seed), MANY)
    )


def by_mean(seed: int) -> TargetEncoder:
    """Categories as the mean of their target, cross-fitted on the same folds each time."""
    return TargetEncoder(target_type="continuous", cv=KFold(5, shuffle=True, random_state=seed))


SPACES = {
    "linear": {"ridge__alpha": loguniform(1e-3, 1e3)},
    "forest": {
        "randomforestregressor__max_depth": randint(5, 21),
        "randomforestregressor__min_samples_leaf": randint(1, 101),
        "randomforestregressor__max_features": uniform(0.1, 0.9),
    },
    "boosting": {
        "xgbregressor__n_estimators": randint(25, 301),
        "xgbregressor__learning_rate": loguniform(0.02, 0.5),
        "xgbregressor__max_depth": randint(3, 13),
        "xgbregressor__min_child_weight": loguniform(1, 1000),
        "xgbregressor__subsample": uniform(0.5, 0.5),
        "xgbregressor__reg_lambda": loguniform(0.01, 100),
    },
}

TASK = Task(
    name="flights_delay",
    title=flights_delay.TITLE,
    kind="regression",
    dataset="flights_delay",
    prepare=flights_delay.prepare,
    features=NUMBERS + FEW + MANY,
    target=flights_delay.TARGET,
    pipelines={"linear": linear, "forest": forest, "boosting": boosting},
    splits={
        "time": Split([("month", "<=", 9)], [("month", ">", 9)], "train January to September"),
        "random": Split([("fold", "<", 75)], [("fold", ">=", 75)], "train three quarters"),
    },
    metrics=["r2", "neg_mean_absolute_error"],
    margins={"r2": 0.005, "mean_absolute_error": 0.09},
    licence=flights_delay.LICENCE,
    source=flights_delay.SOURCE,
    spaces=SPACES,
)
